"""Padding rules of operations along a dimension: reductions, cumulative operations, sorting.

Padding along the dimension is replaced by the operation's identity, or by the last value in order.
Padding along other dimensions stays unchanged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Primitive, is_symbolic_dim, issubdtype
from ricci_lax.authoring import highest, lowest

from ._interpreter import PaddingRule, Site

__all__ = ["reduction_rules"]


def _last_when_sorted(dtype: np.dtype) -> ArrayLike:
    """The greatest value of a dtype in sorting order."""
    if issubdtype(dtype, np.complexfloating):
        return complex(np.nan, np.nan)
    return highest(dtype) if dtype.kind == "b" or issubdtype(dtype, np.integer) else np.nan


def _zero(dtype: np.dtype) -> int:
    return 0


def _one(dtype: np.dtype) -> int:
    return 1


def _all_bits(dtype: np.dtype) -> ArrayLike:
    return True if dtype.kind == "b" else np.invert(np.zeros((), dtype))


def _reduction(identity: Callable[[np.dtype], Any]) -> PaddingRule:
    def rule(site: Site, x: Array) -> Any:
        # Padding becomes the operation's identity, which changes no result.
        aval = site.ins[0]
        return site.bind(site.masked(x, aval, identity(aval.dtype), site.params["axes"]))

    return rule


def _cumulative(identity: Callable[[np.dtype], Any]) -> PaddingRule:
    def rule(site: Site, x: Array) -> Any:
        aval = site.ins[0]
        if site.params["reverse"]:  # forwards, padding comes last and reaches no element before it
            x = site.masked(x, aval, identity(aval.dtype), (site.params["axis"],))
        return site.bind(x)

    return rule


def _reduce(site: Site, *operands: object) -> Any:
    # An initial value must be an identity, as the compiler may use it any number of times.
    count = len(operands) // 2
    axes = site.params["dimensions"]
    arrays = [
        site.masked(x, site.ins[i], operands[count + i], axes)
        for i, x in enumerate(operands[:count])
    ]
    return site.bind(*arrays, *operands[count:])


def _sort(site: Site, *operands: object) -> Any:
    axis, keys = site.params["dimension"], site.params["num_keys"]
    if not is_symbolic_dim(site.ins[0].shape[axis]):
        return site.bind(*operands)
    # Padding is equal to the greatest keys or above, and comes after its equals: sorting is stable.
    masked = [
        site.masked(x, aval, _last_when_sorted(aval.dtype), (axis,)) if i < keys else x
        for i, (x, aval) in enumerate(zip(operands, site.ins, strict=True))
    ]
    return site.bind(*masked, is_stable=True)


def _top_k(site: Site, x: Array) -> Any:
    aval, axis, k = site.ins[0], site.params["axis"], site.params["k"]
    n = aval.shape[axis]
    if is_symbolic_dim(n):
        if not site.extents.never_negative(n - k):
            site.refuse(
                f"the {k} greatest of {n} elements include padding if {n} is less than {k}",
                f'add constraints=["{n} >= {k}"], and pass at least as many',
            )
        # At least k elements are not padding, and padding comes after them and their equals.
        x = site.masked(x, aval, lowest(aval.dtype), (axis,))
    return site.bind(x)


reduction_rules: dict[Primitive, PaddingRule] = {
    lax.reduce_sum_p: _reduction(_zero),
    lax.reduce_prod_p: _reduction(_one),
    lax.reduce_max_p: _reduction(lowest),
    lax.reduce_min_p: _reduction(highest),
    lax.reduce_and_p: _reduction(_all_bits),
    lax.reduce_or_p: _reduction(_zero),
    lax.reduce_xor_p: _reduction(_zero),
    lax.argmax_p: _reduction(lowest),
    lax.argmin_p: _reduction(highest),
    lax.reduce_p: _reduce,
    lax.cumsum_p: _cumulative(_zero),
    lax.cumprod_p: _cumulative(_one),
    lax.cummax_p: _cumulative(lowest),
    lax.cummin_p: _cumulative(highest),
    lax.cumlogsumexp_p: _cumulative(lowest),
    lax.sort_p: _sort,
    lax.top_k_p: _top_k,
}
