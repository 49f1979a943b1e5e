"""The functions of an exported module, as part of another module's text."""

import re
from collections.abc import Sequence
from typing import Any

from ricci_ir import AbstractValue, abstract_token
from ricci_stablehlo import Lowering, Module, Value, tensor_type
from ricci_xla.executables._compile import buffer_rank
from ricci_xla.files import FileError
from ricci_xla.meshes._sharding_types import NamedSharding
from ricci_xla.meshes._shardy import shardy_text

from ._portable import bindings, from_portable
from ._symbols import renamed

__all__ = [
    "call_exported_main",
]


# Integers of these widths are all that XLA has; others make it end the process.
_INTEGER = re.compile(r"(?<![\w.$%@-])u?i(\d+)\b")
_WIDTHS = frozenset({"1", "2", "4", "8", "16", "32", "64"})
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


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
    text = _STRING.sub("", found.operation.get_asm(use_local_scope=True))
    wrong = {width for width in _INTEGER.findall(text) if width not in _WIDTHS}
    if wrong:
        raise FileError(f"the program has integers of {', '.join(sorted(wrong))} bits")


def add_functions(
    module: Module, artifact: bytes, in_types: Sequence[str], out_types: Sequence[str]
) -> str:
    """Add the functions of a portable artifact to a module.

    Args:
      module: the module.
      artifact: the artifact.
      in_types, out_types: the types of the arguments and results of its ``@main``.

    Returns:
      The symbol of the function that was ``@main``. The attributes of its arguments and results are
      left out.

    Raises:
      FileError: if the artifact is none, or its function ``main`` has other types.
    """
    ir, context = bindings()
    names: dict[str, str] = {}
    functions: list[Any] = []
    found = from_portable(artifact)
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
    out_avals: Sequence[AbstractValue],
    in_shardings: Sequence[NamedSharding | None],
    out_shardings: Sequence[NamedSharding | None],
    platform_index: int | None,
) -> list[Value]:
    """Call the ``@main`` of a portable artifact, whose functions are added to the module.

    Args:
      ctx: the body in which to call it.
      artifact: the artifact.
      tokens: the tokens that it takes ahead of its arguments, and returns ahead of its results.
      operands: its arguments.
      out_avals: the types of its results.
      in_shardings, out_shardings: how arguments and results are divided, where that is given.
      platform_index: its first argument, if it takes one.

    Returns:
      The tokens and the results.

    Raises:
      FileError: if the artifact is none, or takes or returns something else.
    """
    values = [
        *tokens,
        *(divided(ctx, x, s) for x, s in zip(operands, in_shardings, strict=True)),
    ]
    names, types = [str(x) for x in values], [tensor_type(x.aval) for x in values]
    if platform_index is not None:
        name = ctx.new_name()
        ctx.write(f"{name} = stablehlo.constant dense<{platform_index}> : tensor<i32>")
        names.insert(0, name)
        types.insert(0, "tensor<i32>")
    outs = [*[abstract_token] * len(tokens), *out_avals]
    out_types = list(map(tensor_type, outs))
    symbol = add_functions(ctx.module, artifact, types, out_types)
    result = ctx.new_name()
    head = "" if not outs else f"{result} = " if len(outs) == 1 else f"{result}:{len(outs)} = "
    signature = f"({', '.join(types)}) -> ({', '.join(out_types)})"
    ctx.write(f"{head}func.call @{symbol}({', '.join(names)}) : {signature}")
    found = [
        Value(result if len(outs) == 1 else f"{result}#{i}", aval) for i, aval in enumerate(outs)
    ]
    arrays = found[len(tokens) :]
    return [
        *found[: len(tokens)],
        *(divided(ctx, x, s) for x, s in zip(arrays, out_shardings, strict=True)),
    ]


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
