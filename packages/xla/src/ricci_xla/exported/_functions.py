"""The functions of an exported module, as part of another module's text."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import AbstractValue, abstract_token
from ricci_stablehlo import Lowering, Module, Value, tensor_type
from ricci_xla.executables._compile import buffer_rank
from ricci_xla.meshes._sharding_types import NamedSharding
from ricci_xla.meshes._shardy import shardy_text

from ._portable import bindings, from_portable
from ._symbols import renamed

__all__ = [
    "add_functions",
    "call_exported_main",
]


def add_functions(module: Module, artifact: bytes) -> str:
    """Add the functions of a portable artifact to a module.

    Returns:
      The symbol of the function that was ``@main``. Its platform index, tokens and arguments are
      what they were; the attributes of its arguments and results are left out.

    Raises:
      ValueError: if the artifact is none, or has no function ``main``.
    """
    ir, context = bindings()
    names: dict[str, str] = {}
    functions: list[Any] = []
    found = from_portable(artifact)
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
        if "main" not in names:
            raise ValueError("the exported module has no function @main")
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
    symbol: str,
    tokens: Sequence[Value],
    operands: Sequence[Value],
    out_avals: Sequence[AbstractValue],
    in_shardings: Sequence[NamedSharding | None],
    out_shardings: Sequence[NamedSharding | None],
    platform_index: int | None,
) -> list[Value]:
    """Call a function that was added by ``add_functions``.

    Args:
      ctx: the body in which to call it.
      symbol: the function.
      tokens: the tokens that it takes ahead of its arguments, and returns ahead of its results.
      operands: its arguments.
      out_avals: the types of its results.
      in_shardings, out_shardings: how arguments and results are divided, where that is given.
      platform_index: its first argument, if it takes one.

    Returns:
      The tokens and the results.
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
    result = ctx.new_name()
    head = "" if not outs else f"{result} = " if len(outs) == 1 else f"{result}:{len(outs)} = "
    results = ", ".join(map(tensor_type, outs))
    ctx.write(
        f"{head}func.call @{symbol}({', '.join(names)}) : ({', '.join(types)}) -> ({results})"
    )
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
