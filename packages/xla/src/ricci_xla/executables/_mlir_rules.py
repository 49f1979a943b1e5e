"""Lowering rules that build MLIR objects, as libraries written for JAX have them.

A rule builds a function in a module of its own, with the primitive's operands as arguments and its
results as results. The text of that function is then added to the module that is being written.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ricci_ir import Jaxpr, Primitive
from ricci_stablehlo import Lowering, Value, mlir_rules, tensor_type
from ricci_xla.devices._jaxlib import load_mlir


class RuleContext:
    """The argument ``ctx`` of a rule.

    Attributes:
      avals_in, avals_out: the types of operands and results.
      primitive: the primitive.
      platforms: the platforms that the module is written for.
      module_context: has ``platforms``, MLIR's ``context`` and ``module``, and ``add_keepalive``,
        which does nothing, since the program keeps what its callbacks need.
    """

    def __init__(self, primitive: Primitive, lowering: Lowering, avals_in: list[Any], module: Any):
        self.primitive = primitive
        self.avals_in = avals_in
        self.avals_out = list(lowering.outs)
        self.platforms = (lowering.platform,)
        self.module_context = SimpleNamespace(
            platforms=self.platforms,
            context=module.context,
            module=module,
            add_keepalive=lambda kept: None,
        )
        self._lowering = lowering

    def inline(self, jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
        """Write a call of the function that a jaxpr is lowered to; returns the call's results."""
        ir, _ = load_mlir()
        symbol = self._lowering.module.function_for(jaxpr, self.primitive.name)
        types = [ir.Type.parse(tensor_type(aval)) for aval in jaxpr.out_avals]
        attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
        call = ir.Operation.create("func.call", types, list(operands), attributes)
        return list(call.results)


def run_mlir_rule(
    rule: Callable[..., Any],
    primitive: Primitive,
    lowering: Lowering,
    operands: Sequence[Value],
    params: dict[str, Any],
) -> list[Value]:
    """Run a rule, and write a call of the function that it built.

    Raises:
      TypeError: if the rule does not return a value for each result of the primitive.
    """
    ir, context = load_mlir()
    outs = list(lowering.outs)
    symbol = lowering.module.unique_name(primitive.name)
    with context, ir.Location.unknown():
        module = ir.Module.create()
        inputs = [ir.Type.parse(tensor_type(x.aval)) for x in operands]
        results = [ir.Type.parse(tensor_type(aval)) for aval in outs]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(symbol),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, results)),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*inputs)
        with ir.InsertionPoint(block):
            ctx = RuleContext(primitive, lowering, [x.aval for x in operands], module)
            built = rule(ctx, *block.arguments, **params)
            built = [built] if isinstance(built, ir.Value) else list(built)
            if len(built) != len(outs):
                raise TypeError(
                    f"the lowering rule of {primitive.name!r} returned {len(built)} values; the "
                    f"primitive has {len(outs)} results"
                )
            ir.Operation.create("func.return", operands=built)
        texts = [
            operation.operation.get_asm(assume_verified=True)
            for operation in module.body.operations
        ]
    lowering.module.functions += ["  " + text.replace("\n", "\n  ") for text in texts]
    return _call(lowering, symbol, operands, outs)


def _call(
    lowering: Lowering, symbol: str, operands: Sequence[Value], outs: list[Any]
) -> list[Value]:
    result = lowering.new_name()
    head = f"{result} = " if len(outs) == 1 else f"{result}:{len(outs)} = " if outs else ""
    types = ", ".join(tensor_type(x.aval) for x in operands)
    results = ", ".join(map(tensor_type, outs))
    results = results if len(outs) == 1 else f"({results})"
    names = ", ".join(x.name for x in operands)
    lowering.write(f"{head}call @{symbol}({names}) : ({types}) -> {results}")
    if len(outs) == 1:
        return [Value(result, outs[0])]
    return [Value(f"{result}#{i}", out) for i, out in enumerate(outs)]


mlir_rules.register(run_mlir_rule)
