"""Operations of kernels that are programs of others, and that a compiler of kernels may know."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis, batch_rules
from ricci_stablehlo import Lowering, Value

__all__: list[str] = []


def staged_operation(name: str) -> ir.Primitive:
    """Define an operation whose parameter ``jaxpr`` is its program; others are for compilers.

    Args:
      name: its name.
    """

    def call(rules: ir.RuleTable, *args: object, jaxpr: ir.Jaxpr) -> Any:
        return rules[ir.staged_call.call](*args, jaxpr=jaxpr, name=name)

    def jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ir.Jaxpr, **_: object
    ) -> Any:
        return call(ad.jvp_rules, primals, tangents, jaxpr=jaxpr)

    def transpose(cts: Any, *args: object, jaxpr: ir.Jaxpr, **_: object) -> Any:
        return call(ad.transpose_rules, cts, *args, jaxpr=jaxpr)

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ir.Jaxpr, **_: object
    ) -> Any:
        return call(batch_rules, axis, args, dims, jaxpr=jaxpr)

    def lower(ctx: Lowering, *operands: Value, jaxpr: ir.Jaxpr, **_: object) -> list[Value]:
        return ctx.call(jaxpr, name, operands)

    # Transformations are those of a call of the program, and lose the name; a compiler of kernels,
    # or a reader of the jaxpr, sees the operation with its parameters. Without a rule for it the
    # program is inlined.
    return ir.define(
        name,
        abstract_eval=lambda *_, jaxpr, **params: jaxpr.out_avals,
        multiple_results=True,
        sharding=ir.by_program,
        memo=False,
        jvp=jvp,
        transpose=transpose,
        batch=batch,
        lower=lower,
        program=lambda *, jaxpr, **_: (jaxpr, name),
        shown=lambda *, jaxpr, **params: params,
    )


def apply_staged(
    primitive: ir.Primitive,
    function: Callable[..., ir.Array],
    *operands: ir.ArrayLike,
    **params: object,
) -> ir.Array:
    """Apply an operation whose program is a function of its operands."""
    avals = [ir.get_aval(x) for x in operands]
    jaxpr = ir.trace_to_jaxpr(lambda *xs: [function(*xs)], avals)
    (result,) = primitive.bind(*operands, jaxpr=jaxpr, **params)
    return result
