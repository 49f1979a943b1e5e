"""Insertion of an exported module's functions into another module's text."""

import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ricci_stablehlo as hlo
from ricci_ir import AbstractValue, abstract_token
from ricci_xla.compile._executable import buffer_rank
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.files import FileError
from ricci_xla.meshes._encodings import shardy_text
from ricci_xla.meshes._sharding_types import NamedSharding

from ._module_text import STRING, bindings, from_portable, renamed

__all__ = ["call_exported_main"]


# The widths of XLA's integers; others abort the process.
_INTEGER = re.compile(r"(?<![\w.$%@-])u?i(\d+)\b")
_WIDTHS = frozenset({"1", "2", "4", "8", "16", "32", "64"})
_STRING = re.compile(STRING)


def check_module(exported: Any, in_types: Sequence[str], out_types: Sequence[str]) -> None:
    """Check that a module can be compiled, and that its ``@main`` has the expected types.

    Args:
      exported: MLIR's module.
      in_types, out_types: the types of arguments and results of ``@main``.

    Raises:
      FileError: if not.
    """
    for operation in exported.body.operations:
        if str(operation.attributes["sym_name"]) == '"main"':
            kind = str(operation.attributes["function_type"])
            outs = out_types[0] if len(out_types) == 1 else f"({', '.join(out_types)})"
            expected = f"({', '.join(in_types)}) -> {outs}"
            if kind != expected:
                raise FileError(f"the program takes and returns {kind}; expected {expected}")
            break
    else:
        raise FileError("the program has no function @main")
    # Large constants are left out of the text, as only types are looked at; strings may look like
    # types.
    text = exported.operation.get_asm(use_local_scope=True, large_elements_limit=16)
    text = _STRING.sub("", text)
    wrong = {width for width in _INTEGER.findall(text) if width not in _WIDTHS}
    if wrong:
        raise FileError(f"the program has integers of {', '.join(sorted(wrong))} bits")


def add_functions(
    module: hlo.Module, exported: Any, in_types: Sequence[str], out_types: Sequence[str]
) -> str:
    """Add the functions of MLIR's module to a module.

    Args:
      module: the module.
      exported: MLIR's module, which is modified.
      in_types, out_types: the types of the arguments and results of its ``@main``.

    Returns:
      The new symbol of ``@main``. The attributes of its arguments and results are dropped.

    Raises:
      FileError: if its function ``main`` has other types.
    """
    ir, context = bindings()
    names: dict[str, str] = {}
    functions: list[Any] = []
    check_module(exported, in_types, out_types)
    with context:
        for operation in exported.body.operations:
            symbol = ir.StringAttr(operation.attributes["sym_name"]).value
            if operation.operation.name == "sdy.mesh":
                names[symbol] = _mesh(module, str(operation.attributes["mesh"]))
                continue
            names[symbol] = module.unique_name(symbol)
            # Attributes such as shardings are for a module's entry. In another module this function
            # is called, and the call constrains its operands and results.
            for attribute in ("arg_attrs", "res_attrs"):
                if attribute in operation.attributes:
                    del operation.attributes[attribute]
            operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
            functions.append(operation)
        # After all names are known: functions call each other in any order.
        for function in functions:
            text = function.get_asm(use_local_scope=True, assume_verified=True)
            text = renamed(text, lambda symbol: names.get(symbol, symbol))
            module.functions.append("  " + text.replace("\n", "\n  "))
    return names["main"]


def _mesh(module: hlo.Module, text: str) -> str:
    """The symbol of a mesh by its text, such as ``#sdy.mesh<["a"=4, "b"=2], device_ids=[3]>``."""
    axes, _, devices = text.partition("<[")[2].partition("]")
    if "device_ids=[" in devices and not axes:
        return module.single_device_mesh(int(devices.partition("=[")[2].partition("]")[0]))
    pairs = [axis.rpartition("=") for axis in axes.split(", ")] if axes else []
    return module.mesh([(name.strip('"'), int(size)) for name, _, size in pairs])


def call_exported_main(
    ctx: hlo.Lowering,
    artifact: bytes,
    tokens: Sequence[hlo.Value],
    operands: Sequence[hlo.Value],
    in_avals: Sequence[AbstractValue],
    out_avals: Sequence[AbstractValue],
    results: Sequence[AbstractValue],
    in_shardings: Sequence[NamedSharding | None],
    out_shardings: Sequence[NamedSharding | None],
    platform_index: int | None,
) -> list[hlo.Value]:
    """Call the ``@main`` of a portable artifact, whose functions are added to the module.

    If it was exported for symbolic sizes, it is specialized to the sizes of the call first.

    Args:
      ctx: the body in which to call it.
      artifact: the artifact.
      tokens: the tokens that it takes ahead of its arguments, and returns ahead of its results.
      operands: its arguments.
      in_avals, out_avals: the types of its arguments and results.
      results: the types of the results of this call.
      in_shardings, out_shardings: the shardings of arguments and results, or ``None``.
      platform_index: its first argument, if it takes one.

    Returns:
      The tokens and the results.

    Raises:
      FileError: if the artifact is invalid, or has other types.
      ValueError: if the sizes of the call do not fit those that it was exported for.
    """
    token_types = [abstract_token] * len(tokens)
    expected = _Types([*token_types, *in_avals], [*token_types, *out_avals])
    actual = _Types([*token_types, *(x.aval for x in operands)], [*token_types, *results])
    exported = from_portable(artifact)
    # With static sizes in this call, shapes are refined now, which gives better code than dynamic
    # ones; the platform's index is then a constant of the refined module.
    if expected.texts() != actual.texts() and not any("?" in text for text in actual.texts()):
        exported = _refined(exported, ctx.module, expected, actual, platform_index)
        expected, platform_index = actual, None
    sharded_operands = (constrained(ctx, x, s) for x, s in zip(operands, in_shardings, strict=True))
    values = _call(
        ctx, exported, [*tokens, *sharded_operands], expected, actual.results, platform_index
    )
    shardings = [*[None] * len(tokens), *out_shardings]
    return [constrained(ctx, x, s) for x, s in zip(values, shardings, strict=True)]


class _Types(NamedTuple):
    """The types of a function's arguments and results."""

    arguments: list[AbstractValue]
    results: list[AbstractValue]

    def texts(self) -> list[str]:
        """Return the StableHLO types of the arguments and then of the results."""
        return [hlo.tensor_type(aval) for avals in self for aval in avals]


def _call(
    ctx: hlo.Lowering,
    exported: object,
    operands: Sequence[hlo.Value],
    expected: _Types,
    results: Sequence[AbstractValue],
    platform_index: int | None,
) -> list[hlo.Value]:
    """Add the functions of MLIR's module, and call its ``@main``.

    Args:
      ctx: the body in which to call it.
      exported: MLIR's module.
      operands: the operands.
      expected: the types of ``@main``, without a platform index.
      results: the types of the results of the call.
      platform_index: the first argument, if there is one.

    Returns:
      The results.
    """
    index = [] if platform_index is None else [np.int32(platform_index)]
    kinds = lambda avals: [hlo.tensor_type(aval) for aval in avals]
    in_types = [*["tensor<i32>"] * len(index), *kinds(expected.arguments)]
    symbol = add_functions(ctx.module, exported, in_types, kinds(expected.results))
    converted = [_converted(ctx, *x) for x in zip(operands, expected.arguments, strict=True)]
    arguments = [*(ctx.constant(x) for x in index), *converted]
    values = ctx.call_function(symbol, arguments, expected.results)
    return [_converted(ctx, *x) for x in zip(values, results, strict=True)]


def _converted(ctx: hlo.Lowering, x: hlo.Value, out: AbstractValue) -> hlo.Value:
    """Convert a value to a type with more or fewer static sizes."""
    if hlo.tensor_type(x.aval) == hlo.tensor_type(out):
        return hlo.Value(x.name, out)
    return ctx.emit("stablehlo.convert", [x], out, full=True)


def _refined(
    exported: object,
    module: hlo.Module,
    expected: _Types,
    actual: _Types,
    platform_index: int | None,
) -> Any:
    """Specialize MLIR's module for symbolic sizes to static sizes, by XLA's shape refinement."""
    ir, context = bindings()
    outer = hlo.Module("jit_main", module.platform, {}, None, module.num_partitions)
    outer.names["main"] = 0
    body = hlo.Lowering(outer, [0])
    operands = [hlo.Value(f"%arg{i}", aval) for i, aval in enumerate(actual.arguments)]
    results = _call(body, exported, operands, expected, actual.results, platform_index)
    outer.main = hlo.Function(
        "main", hlo.Region(operands, body.operations, results, "return"), "public"
    )
    text = outer.text()
    with context:
        bytecode = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(bytecode)
        try:
            refined = runtime.mlir.refine_polymorphic_shapes(
                bytecode.getvalue(),
                enable_shape_assertions=True,
                validate_static_shapes=True,
                enable_shardy=True,
            )
        except RuntimeError as error:
            reason = str(error).partition("error: ")[2].partition("\n")[0] or str(error)
            raise ValueError(f"the exported program does not fit these sizes: {reason}") from error
        return ir.Module.parse(refined)


def constrained(ctx: hlo.Lowering, x: hlo.Value, sharding: NamedSharding | None) -> hlo.Value:
    """Constrain a value to a sharding, in a module over several devices."""
    if sharding is None or ctx.module.num_partitions == 1 or not sharding.mesh.axis_names:
        return x
    symbol = ctx.module.mesh(tuple(sharding.mesh.shape.items()))
    text = shardy_text(sharding, buffer_rank(x.aval))
    return ctx.constrained(x, f"<@{symbol}, {text}>")
