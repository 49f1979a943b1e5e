"""Maxima and minima over named axes."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import Zero, not_linear
from ricci_ir import Array, ArrayLike, Primitive, define, derived, get_aval
from ricci_lax import convert_element_type, div, eq, mul, reduce_max, reduce_min
from ricci_lax.authoring import anything

from ._all_reduce import all_reduce_rule, axes_of, reduce_batch, reduced_type
from ._casts import total
from ._law_examples import reduction_examples
from ._named_axes import outside
from ._varying import extremum


def _extremum_jvp(primitive: Primitive) -> Callable[..., tuple[Any, Any]]:
    """Return the jvp rule: the mean tangent of the members that have the extreme value."""

    def jvp(
        primals: Sequence[ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        result = primitive.bind(x, **params)
        if type(tangent) is Zero:
            return result, Zero.from_primal(result)
        aval: Any = get_aval(tangent)
        chosen = convert_element_type(eq(x, result), aval.dtype)
        count = total(chosen, **params)
        return result, div(total(mul(tangent, chosen), **params), count)

    return jvp


def _extremum(name: str, op: str, reduce: Callable[..., Array]) -> Primitive:
    return define(
        name,
        abstract_eval=reduced_type(name, anything),
        jvp=derived(_extremum_jvp),
        transpose=not_linear,
        batch=reduce_batch(lambda x, d, size: x if d is None else reduce(x, (d,))),
        axis_names=axes_of,
        host=outside,
        lower=all_reduce_rule(op),
        sharding=extremum,
        examples=reduction_examples,
    )


pmax_p: Primitive = _extremum("pmax", "stablehlo.maximum", reduce_max)
pmin_p: Primitive = _extremum("pmin", "stablehlo.minimum", reduce_min)
