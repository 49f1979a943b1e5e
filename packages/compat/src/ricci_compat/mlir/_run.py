"""Execution of lowering rules that build MLIR objects, inside of Ricci's lowering to text.

A rule builds a function in a temporary module, with the primitive's operands as arguments and its
results as results. The text of that function is then added to the module that is being written.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ricci_ir import Effect, NameStack, Primitive, current_mesh
from ricci_stablehlo import Lowering, Value, tensor_type
from ricci_xla.authoring import load_mlir

from . import _contexts as contexts
from ._modules import create_function, rename_symbols, symbol_of

if TYPE_CHECKING:
    from jaxlib.mlir import ir

__all__ = ["run_mlir_rule"]


def run_mlir_rule(
    rule: Callable[..., Any],
    primitive: Primitive,
    lowering: Lowering,
    operands: Sequence[Value],
    params: dict[str, Any],
    effects: Sequence[Effect] = (),
) -> list[Value]:
    """Run a rule, and write a call of the function that it built.

    Args:
      rule: ``rule(ctx, *values, **params)`` returns MLIR values.
      primitive: the primitive.
      lowering: the body in which the call is written.
      operands: the operands, after a token for each ordered effect.
      params: the parameters.
      effects: the ordered effects.

    Returns:
      The results, after a token for each ordered effect.

    Raises:
      ValueError: if the rule does not return a value of the right type for each result, or builds
        invalid operations.
    """
    ir, context = load_mlir()
    outs = list(lowering.outs)
    symbol = lowering.module.unique_name(primitive.name)
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = create_function(symbol, [x.aval for x in operands], outs)
        types = [ir.Type.parse(tensor_type(x.aval)) for x in operands]
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            ctx = _rule_context(primitive, lowering, operands, module, block.arguments, effects)
            built = rule(ctx, *list(block.arguments)[len(effects) :], **params)
            results = [*_tokens_after(primitive, ctx), *_values(built)]
            _check(primitive, results, [ir.Type.parse(tensor_type(aval)) for aval in outs])
            ir.Operation.create("func.return", operands=results)
        _verify(primitive, module)
        # Functions that the rule made have names that are unique in the temporary module only. All
        # but the primitive's own, whose name was reserved above, are renamed for the module that
        # they go to.
        written = [f for f in module.body.operations if symbol_of(f) not in _declared(ctx)]
        names = {symbol_of(f): symbol_of(f) for f in written} | {symbol: symbol}
        free = {n: n if n == symbol else lowering.module.unique_name(n) for n in names if n}
        rename_symbols(module, free)
        lowering.module.functions += [
            "  " + f.operation.get_asm(assume_verified=True).replace("\n", "\n  ") for f in written
        ]
    return lowering.call_function(symbol, operands, outs)


def _rule_context(
    primitive: Primitive,
    lowering: Lowering,
    operands: Sequence[Value],
    module: "ir.Module",
    arguments: "Sequence[ir.Value[Any]]",
    effects: Sequence[Effect],
) -> contexts.LoweringRuleContext:
    text = lowering.module
    module_context = contexts.ModuleContext(
        platforms=(lowering.platform,),
        axis_context=_axis_context(lowering),
        host_callbacks=text.host_callbacks,
        module=module,
        shape_poly_state=contexts.ShapePolyLoweringState(tuple(map(str, lowering.sizes)), None),
        write_function=text.function_for,
    )
    names = NameStack(part for part in lowering.scope.split("/") if part)
    return contexts.LoweringRuleContext(
        module_context,
        names,
        None,
        primitive,
        [x.aval for x in operands[len(effects) :]],
        list(lowering.outs)[len(effects) :],
        # The first arguments are tokens; zip stops after the last effect.
        contexts.TokenSet(dict(zip(effects, arguments, strict=False))),
        platforms=(lowering.platform,),
    )


def _axis_context(lowering: Lowering) -> contexts.AxisContext:
    module, mesh = lowering.module, current_mesh.value
    if module.manual and mesh is not None:
        return contexts.SPMDAxisContext(mesh, frozenset(mesh.manual_axes))
    return contexts.ShardingContext(module.num_partitions, tuple(module.devices) or None, mesh)


def _declared(ctx: contexts.LoweringRuleContext) -> set[str]:
    return ctx.module_context.declared


def _tokens_after(primitive: Primitive, ctx: contexts.LoweringRuleContext) -> "list[ir.Value[Any]]":
    """The tokens after the operation, in the order of those before it."""
    before, after = ctx.tokens_in, ctx.tokens_out
    if not len(before):
        return []
    if after is None:
        names = ", ".join(sorted(map(str, before.effects())))
        raise ValueError(
            f"the lowering rule of {primitive.name!r} must set the tokens of its ordered effects "
            f"{{{names}}}. Call ctx.set_tokens_out with a TokenSet of them."
        )
    return [after.get(effect) for effect, _ in before.items()]


def _values(built: Any) -> "Iterator[ir.Value[Any]]":
    """Flatten the result of a rule, values, operations or sequences of them, to MLIR values."""
    ir, _ = load_mlir()
    if isinstance(built, ir.Value):
        yield built
    elif isinstance(built, ir.Operation | ir.OpView):
        yield from built.operation.results
    elif isinstance(built, Iterable):
        for part in built:
            yield from _values(part)
    else:
        raise TypeError(f"a lowering rule returned {built!r}, which is not an MLIR value")


def _check(
    primitive: Primitive, results: "Sequence[ir.Value[Any]]", types: "Sequence[ir.Type]"
) -> None:
    if len(results) != len(types):
        raise ValueError(
            f"the lowering rule of {primitive.name!r} returned {len(results)} values; the "
            f"primitive has {len(types)} results"
        )
    for i, (result, expected) in enumerate(zip(results, types, strict=True)):
        if result.type != expected:
            raise ValueError(
                f"the lowering rule of {primitive.name!r} returned a value of type {result.type} "
                f"as result {i}, whose type is {expected} by the primitive's abstract evaluation"
            )


def _verify(primitive: Primitive, module: "ir.Module") -> None:
    ir, _ = load_mlir()
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        lines = str(error).splitlines()[:6]
        raise ValueError(
            f"the lowering rule of {primitive.name!r} built invalid operations:\n"
            + "\n".join(lines)
        ) from None
