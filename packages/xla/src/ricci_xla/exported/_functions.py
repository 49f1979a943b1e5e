"""The functions of an exported module, as part of another module's text."""

import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ricci_ir import AbstractValue, abstract_token
from ricci_stablehlo import Lowering, Module, Value, tensor_type
from ricci_xla.compile._executable import buffer_rank
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.files import FileError
from ricci_xla.meshes._sharding_types import NamedSharding
from ricci_xla.meshes._shardy import shardy_text

from ._portable import bindings, from_portable
from ._symbols import STRING, renamed

__all__ = [
    "call_exported_main",
]


# Integers of these widths are all that XLA has; others make it end the process.
_INTEGER = re.compile(r"(?<![\w.$%@-])u?i(\d+)\b")
_WIDTHS = frozenset({"1", "2", "4", "8", "16", "32", "64"})
_STRING = re.compile(STRING)


def check_program(found: Any, in_types: Sequence[str], out_types: Sequence[str]) -> None:
    """Check that a module can be compiled, and that its ``@main`` has the types that it should.

    Args:
      found: MLIR's module.
      in_types, out_types: the types of arguments and results of ``@main``.

    Raises:
      FileError: if not.
    """
    for operation in found.body.operations:
        if str(operation.attributes["sym_name"]) == '"main"':
            kind = str(operation.attributes["function_type"])
            outs = out_types[0] if len(out_types) == 1 else f"({', '.join(out_types)})"
            expected = f"({', '.join(in_types)}) -> {outs}"
            if kind != expected:
                raise FileError(f"the program takes and returns {kind}; expected {expected}")
            break
    else:
        raise FileError("the program has no function @main")
    text = found.operation.get_asm(use_local_scope=True, large_elements_limit=16)
    text = _STRING.sub("", text)
    wrong = {width for width in _INTEGER.findall(text) if width not in _WIDTHS}
    if wrong:
        raise FileError(f"the program has integers of {', '.join(sorted(wrong))} bits")


def add_functions(
    module: Module, found: Any, in_types: Sequence[str], out_types: Sequence[str]
) -> str:
    """Add the functions of MLIR's module to a module.

    Args:
      module: the module.
      found: MLIR's module, which is changed.
      in_types, out_types: the types of the arguments and results of its ``@main``.

    Returns:
      The symbol of the function that was ``@main``. The attributes of its arguments and results are
      left out.

    Raises:
      FileError: if its function ``main`` has other types.
    """
    ir, context = bindings()
    names: dict[str, str] = {}
    functions: list[Any] = []
    check_program(found, in_types, out_types)
    with context:
        for operation in found.body.operations:
            symbol = ir.StringAttr(operation.attributes["sym_name"]).value
            if operation.operation.name == "sdy.mesh":
                names[symbol] = _mesh(module, str(operation.attributes["mesh"]))
                continue
            names[symbol] = module.unique_name(symbol)
            for attribute in ("arg_attrs", "res_attrs"):
                if attribute in operation.attributes:
                    del operation.attributes[attribute]
            operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
            functions.append(operation)
        for function in functions:
            text = function.get_asm(use_local_scope=True, assume_verified=True)
            text = renamed(text, lambda symbol: names.get(symbol, symbol))
            module.functions.append("  " + text.replace("\n", "\n  "))
    return names["main"]


def _mesh(module: Module, text: str) -> str:
    """The symbol of a mesh, which is given as ``#sdy.mesh<["a"=4, "b"=2], device_ids=[3]>``."""
    axes, _, devices = text.partition("<[")[2].partition("]")
    if "device_ids=[" in devices and not axes:
        return module.single_device_mesh(int(devices.partition("=[")[2].partition("]")[0]))
    pairs = [axis.rpartition("=") for axis in axes.split(", ")] if axes else []
    return module.mesh([(name.strip('"'), int(size)) for name, _, size in pairs])


def call_exported_main(
    ctx: Lowering,
    artifact: bytes,
    tokens: Sequence[Value],
    operands: Sequence[Value],
    in_avals: Sequence[AbstractValue],
    out_avals: Sequence[AbstractValue],
    results: Sequence[AbstractValue],
    in_shardings: Sequence[NamedSharding | None],
    out_shardings: Sequence[NamedSharding | None],
    platform_index: int | None,
) -> list[Value]:
    """Call the ``@main`` of a portable artifact, whose functions are added to the module.

    If it was exported for symbolic sizes, what is added is the program for the sizes of the call.

    Args:
      ctx: the body in which to call it.
      artifact: the artifact.
      tokens: the tokens that it takes ahead of its arguments, and returns ahead of its results.
      operands: its arguments.
      in_avals, out_avals: the types of its arguments and results.
      results: the types of the results of this call.
      in_shardings, out_shardings: how arguments and results are divided, where that is given.
      platform_index: its first argument, if it takes one.

    Returns:
      The tokens and the results.

    Raises:
      FileError: if the artifact is none, or takes or returns something else.
      ValueError: if the sizes of the call are not such as it was exported for.
    """
    kinds = lambda avals: [tensor_type(aval) for aval in avals]
    token_types = [tensor_type(x.aval) for x in tokens]
    expected = _Types([*token_types, *kinds(in_avals)], [*token_types, *kinds(out_avals)])
    here = _Types([*token_types, *(tensor_type(x.aval) for x in operands)], kinds(results))
    here = here._replace(results=[*token_types, *here.results])
    found = from_portable(artifact)
    if expected != here and not any("?" in kind for kind in (*here.arguments, *here.results)):
        found = _refined(found, ctx.module, expected, here, platform_index)
        expected, platform_index = here, None
    divided_operands = (divided(ctx, x, s) for x, s in zip(operands, in_shardings, strict=True))
    names = _call(
        ctx,
        found,
        [str(x) for x in (*tokens, *divided_operands)],
        expected,
        here,
        platform_index,
    )
    values = [
        Value(name, aval)
        for name, aval in zip(names, [*[abstract_token] * len(tokens), *results], strict=True)
    ]
    arrays = values[len(tokens) :]
    return [
        *values[: len(tokens)],
        *(divided(ctx, x, s) for x, s in zip(arrays, out_shardings, strict=True)),
    ]


class _Types(NamedTuple):
    """The types of a function's arguments and results."""

    arguments: list[str]
    results: list[str]


def _call(
    ctx: Lowering,
    found: object,
    operands: Sequence[str],
    expected: _Types,
    here: _Types,
    platform_index: int | None,
) -> list[str]:
    """Add the functions of MLIR's module, and call its ``@main``.

    Args:
      ctx: the body in which to call it.
      found: MLIR's module.
      operands: the names of the operands.
      expected: the types that ``@main`` takes and returns, without a platform index.
      here: the types of the operands, and those that the results are to have.
      platform_index: the first argument, if there is one.

    Returns:
      The names of the results.
    """
    taken = ["tensor<i32>"] * (platform_index is not None)
    symbol = add_functions(ctx.module, found, [*taken, *expected.arguments], expected.results)
    given = zip(operands, here.arguments, expected.arguments, strict=True)
    names = [_converted(ctx, *x) for x in given]
    if platform_index is not None:
        index = ctx.new_name()
        ctx.write(f"{index} = stablehlo.constant dense<{platform_index}> : tensor<i32>")
        names.insert(0, index)
    result, count = ctx.new_name(), len(expected.results)
    head = "" if not count else f"{result} = " if count == 1 else f"{result}:{count} = "
    signature = f"({', '.join([*taken, *expected.arguments])}) -> ({', '.join(expected.results)})"
    ctx.write(f"{head}func.call @{symbol}({', '.join(names)}) : {signature}")
    made = [result] if count == 1 else [f"{result}#{i}" for i in range(count)]
    wanted = zip(made, expected.results, here.results, strict=True)
    return [_converted(ctx, *x) for x in wanted]


def _converted(ctx: Lowering, value: str, kind: str, wanted: str) -> str:
    """A value as one of another type, which knows more or less of the sizes."""
    if kind == wanted:
        return value
    name = ctx.new_name()
    ctx.write(f"{name} = stablehlo.convert {value} : ({kind}) -> {wanted}")
    return name


def _refined(
    found: object, module: Module, expected: _Types, here: _Types, platform_index: int | None
) -> Any:
    """MLIR's module for known sizes, of one for symbolic sizes."""
    ir, context = bindings()
    outer = Module("main", module.platform, {}, None, module.num_partitions)
    outer.names["main"] = 0
    body = Lowering(outer, [0], "    ")
    operands = [f"%arg{i}" for i in range(len(here.arguments))]
    names = _call(body, found, operands, expected, here, platform_index)
    arguments = list(zip(operands, here.arguments, strict=True))
    text = main_module(outer, body, arguments, names, here.results)
    with context:
        written = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(written)
        try:
            refined = runtime.mlir.refine_polymorphic_shapes(
                written.getvalue(),
                enable_shape_assertions=True,
                validate_static_shapes=True,
                enable_shardy=True,
            )
        except RuntimeError as error:
            reason = str(error).partition("error: ")[2].partition("\n")[0] or str(error)
            raise ValueError(f"the exported program does not fit these sizes: {reason}") from error
        return ir.Module.parse(refined)


def main_module(
    module: Module,
    body: Lowering,
    arguments: Sequence[tuple[str, str]],
    results: Sequence[str],
    result_types: Sequence[str],
    result_attributes: Sequence[str] = (),
) -> str:
    """Return the text of a module, with a body as its function ``@main``.

    Args:
      module: the module.
      body: the body, whose last lines return nothing yet.
      arguments: the name of each argument, and its type with attributes.
      results, result_types: the names and types of the results.
      result_attributes: the text of each result's attributes, if any has some.
    """
    params = ", ".join(f"{name}: {kind}" for name, kind in arguments)
    types = ", ".join(result_types)
    returned = f" {', '.join(results)} : {types}" if results else ""
    head = (
        f"module @jit_main attributes {{mhlo.num_partitions = {module.num_partitions} : i32, "
        "mhlo.num_replicas = 1 : i32} {"
    )
    outs = map("".join, zip(result_types, result_attributes or [""] * len(results), strict=True))
    signature = f"  func.func public @main({params}) -> ({', '.join(outs)}) {{"
    main = [signature, *body.lines, f"    return{returned}", "  }"]
    return "\n".join([head, *module.declarations(), *main, *module.functions, "}", ""])


def divided(ctx: Lowering, x: Value, sharding: NamedSharding | None) -> Value:
    """A value, divided as a sharding says, in a program over several devices."""
    if sharding is None or ctx.module.num_partitions == 1 or not sharding.mesh.axis_names:
        return x
    symbol = ctx.module.mesh(tuple(sharding.mesh.shape.items()))
    text = shardy_text(sharding, buffer_rank(x.aval))
    name = ctx.new_name()
    kind = tensor_type(x.aval)
    ctx.write(f"{name} = sdy.sharding_constraint {x} <@{symbol}, {text}> : {kind}")
    return Value(name, x.aval)
