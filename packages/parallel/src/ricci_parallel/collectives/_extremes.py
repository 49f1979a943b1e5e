"""Maxima and minima over named axes."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import Zero, not_linear
from ricci_lax.authoring import anything

from ._all_reduce import all_reduce_rule, axes_of, reduce_batch, reduced_type
from ._casts import total
from ._law_examples import reduction_examples
from ._named_axes import outside
from ._varying import extremum

__all__ = ["pmax_p", "pmin_p"]


def _extremum_jvp(primitive: ir.Primitive) -> Callable[..., tuple[Any, Any]]:
    """Return the jvp rule: the mean tangent of the members that have the extreme value."""

    def jvp(
        primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        result = primitive.bind(x, **params)
        if type(tangent) is Zero:
            return result, Zero.from_primal(result)
        aval: Any = ir.get_aval(tangent)
        chosen = lax.convert_element_type(lax.eq(x, result), aval.dtype)
        count = total(chosen, **params)
        return result, lax.div(total(lax.mul(tangent, chosen), **params), count)

    return jvp


def _extremum(name: str, op: str, reduce: Callable[..., ir.Array]) -> ir.Primitive:
    return ir.define(
        name,
        abstract_eval=reduced_type(name, anything),
        jvp=ir.derived(_extremum_jvp),
        transpose=not_linear,
        batch=reduce_batch(lambda x, d, size: x if d is None else reduce(x, (d,))),
        axis_names=axes_of,
        host=outside,
        lower=all_reduce_rule(op),
        sharding=extremum,
        examples=reduction_examples,
    )


pmax_p: ir.Primitive = _extremum("pmax", "stablehlo.maximum", lax.reduce_max)
pmin_p: ir.Primitive = _extremum("pmin", "stablehlo.minimum", lax.reduce_min)
