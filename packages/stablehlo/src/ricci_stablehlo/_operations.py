"""Operations, regions and functions as records, which are printed when the module is complete.

A record has the parts of an operation that may still change as fields: its attributes for the
compiler, its regions and its location.
"""

from collections.abc import Sequence

from ricci_ir import AbstractValue

from ._attributes import attribute_name
from ._types import string, tensor_type
from ._values import Value

__all__ = ["Function", "Metadata", "Region", "annotate_value", "merged_metadata", "signature"]

# XLA's ``frontend_attributes``: names and texts that users set on operations, for the compiler.
type Metadata = tuple[tuple[str, str], ...]

# They get no attributes: a constant may be shared by operations, the others do not compute.
_WITHOUT_METADATA = ("stablehlo.constant", "stablehlo.optimization_barrier", "sdy.")


class Details:
    """The parts that only some operations have.

    Attributes:
      regions: the regions.
      annotations: the text of discardable attributes, such as ``sdy.sharding``.
      metadata: the frontend attributes, which precede these.
    """

    __slots__ = ("annotations", "metadata", "regions")

    def __init__(
        self, regions: "Sequence[Region]" = (), annotations: str = "", metadata: Metadata = ()
    ):
        self.regions: Sequence[Region] = regions
        self.annotations: str = annotations
        self.metadata: Metadata = metadata


# An operation: the name of its result, with their number if it is not one, or empty; its own name,
# quoted in the generic form; the operands and attributes in its notation; the types; the location.
# A tuple, since an object would take a fifth of the time to lower an operation.
type Operation = tuple[str, str, str, str, str, Details | None]


class Region:
    """A region of one block.

    Attributes:
      arguments: the arguments of the block.
      operations: its operations, without the terminator.
      results: the operands of the terminator.
      terminator: the terminator's name.
    """

    __slots__ = ("arguments", "operations", "results", "terminator")

    def __init__(
        self,
        arguments: Sequence[Value],
        operations: Sequence[Operation],
        results: Sequence[Value],
        terminator: str,
    ):
        self.arguments: Sequence[Value] = arguments
        self.operations: Sequence[Operation] = operations
        self.results: Sequence[Value] = results
        self.terminator: str = terminator


class Function:
    """A function.

    Attributes:
      symbol: its symbol.
      body: its arguments, operations and results.
      visibility: ``public`` or ``private``.
      arg_attributes, result_attributes: the texts of attributes of each argument and result.
      arg_locations: the texts of the locations of the arguments; or empty.
    """

    __slots__ = (
        *("arg_attributes", "arg_locations", "body", "result_attributes", "symbol", "visibility"),
    )

    def __init__(self, symbol: str, body: Region, visibility: str = "private"):
        self.symbol: str = symbol
        self.body: Region = body
        self.visibility: str = visibility
        self.arg_attributes: Sequence[Sequence[str]] = [()] * len(body.arguments)
        self.result_attributes: Sequence[Sequence[str]] = [()] * len(body.results)
        self.arg_locations: list[str] = [""] * len(body.arguments)


def annotate(operations: list[Operation], start: int, metadata: Metadata) -> None:
    """Add frontend attributes to the operations from a position on; those present are unchanged.

    Constants get none, nor do broadcasts that only prepare an operand.
    """
    # Lowering rules append, so that the operations from ``start`` on are those of one equation.
    positions = [
        i
        for i in range(start, len(operations))
        if not operations[i][1].strip('"').startswith(_WITHOUT_METADATA)
    ]
    for i in positions:
        result, name, body, types, location, details = operations[i]
        # Broadcasts before the last operation only prepare its operands.
        if i == positions[-1] or name != "stablehlo.broadcast_in_dim":
            details = details or Details()
            names = dict(details.metadata)
            details.metadata += tuple([pair for pair in metadata if pair[0] not in names])
            operations[i] = (result, name, body, types, location, details)


def annotate_value(operations: list[Operation], x: Value, metadata: Metadata) -> None:
    """Add frontend attributes to the operation that defines a value, if it is one of these."""
    # ``%3#1`` is the second result of the operation that defines ``%3:2``.
    name = x.name.partition("#")[0]
    for i, operation in enumerate(operations):
        if operation[0].partition(":")[0] == name:
            defining = [operation]
            annotate(defining, 0, metadata)
            operations[i : i + 1] = defining
            return


def merged_metadata(metadata: Metadata, more: Sequence[tuple[str, str]]) -> Metadata:
    """Merge attributes; the later ones override those of the same name."""
    return tuple(sorted({**dict(metadata), **dict(more)}.items()))


def print_function(function: Function, locations: bool, lines: list[str]) -> None:
    """Append the lines of a function, with or without the locations of operations."""
    body = function.body
    args = [
        f"{x.name}: {tensor_type(x.aval)}{_dictionary(attributes) if attributes else ''}"
        for x, attributes in zip(body.arguments, function.arg_attributes, strict=True)
    ]
    if locations:
        args = map(str.__add__, args, function.arg_locations)
    types = [
        f"{tensor_type(x.aval)}{_dictionary(attributes) if attributes else ''}"
        for x, attributes in zip(body.results, function.result_attributes, strict=True)
    ]
    outs = ", ".join(types)
    # MLIR takes a single type without parentheses only if it has no attributes.
    if len(types) != 1 or function.result_attributes[0]:
        outs = f"({outs})"
    name = f"{function.visibility} @{function.symbol}"
    lines.append(f"  func.func {name}({', '.join(args)}) -> {outs} {{")
    _print_block(body, "    ", locations, lines)
    lines.append("  }")


def _print_block(region: Region, indent: str, locations: bool, lines: list[str]) -> None:
    """Append the lines of a region's operations and of its terminator."""
    for result, name, body, types, location, details in region.operations:
        if not locations:
            location = ""
        # The common case first: no regions and no attributes for the compiler.
        if details is None:
            lines.append(f"{indent}{result} = {name}{body} : {types}{location}")
            continue
        text = f"{result} = {name}{body}" if result else f"{name}{body}"
        # Regions stand in one pair of parentheses: ``({ … }, { … })``.
        for i, inner in enumerate(details.regions):
            lines.append(f"{indent}{text} ({{" if i == 0 else f"{indent}}}, {{")
            if inner.arguments:
                args = ", ".join([f"{x.name}: {tensor_type(x.aval)}" for x in inner.arguments])
                lines.append(f"{indent}^bb0({args}):")
            _print_block(inner, f"{indent}  ", locations, lines)
        text = "})" if details.regions else text
        attributes = _dictionary([*_metadata_texts(details.metadata), details.annotations])
        lines.append(f"{indent}{text}{attributes} : {types}{location}")
    end = f"{indent}{region.terminator}"
    if region.results:
        types = ", ".join([tensor_type(x.aval) for x in region.results])
        end = f"{end} {', '.join([x.name for x in region.results])} : {types}"
    lines.append(end)


def _metadata_texts(metadata: Metadata) -> list[str]:
    """Return the text of the attribute with these texts; none for empty ones."""
    items = [f"{attribute_name(name)} = {string(text)}" for name, text in metadata]
    return [f"mhlo.frontend_attributes = {{{', '.join(items)}}}"] if items else []


def _dictionary(attributes: Sequence[str]) -> str:
    text = ", ".join(filter(None, attributes))
    return f" {{{text}}}" if text else ""


def signature(operands: Sequence[Value], outs: Sequence[AbstractValue]) -> str:
    """Return the types of operands and results, such as ``(tensor<f32>) -> tensor<f32>``."""
    types = ", ".join([tensor_type(x.aval) for x in operands])
    results = ", ".join(map(tensor_type, outs))
    return f"({types}) -> {results if len(outs) == 1 else f'({results})'}"
