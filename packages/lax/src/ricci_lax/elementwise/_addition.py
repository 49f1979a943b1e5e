"""Sums, differences and negatives."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ricci_autodiff import Zero, is_undefined_primal, linear, linear_given
from ricci_ir import Array, ArrayLike, Primitive, linear_in_all
from ricci_lax.elementwise._factories import BinaryFunction, UnaryFunction
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.rules._law_examples import ANY, samples
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure._operand_types import anything, numeric, shape_of

from ._factories import binary_function, nary, repeat_to, sum_to, unary_function

__all__ = ["add", "add_any_p", "add_p", "neg", "neg_p", "sub", "sub_p"]

neg_p: Primitive = nary(
    "neg",
    "stablehlo.negate",
    numeric,
    jvp=linear,
    transpose=lambda ct, x: [neg_p.bind(ct)],
    exact=exact.elementwise(np.negative),
    checkify=makes_no_nan,
    examples=samples(ANY),
)
neg: UnaryFunction = unary_function(neg_p, "Elementwise ``-x``.", "float(lax.neg(2.0)) -> -2.0")


def _sum_rules(primitive: Callable[[], Primitive], negate_rhs: bool) -> dict[str, Any]:
    """The derivatives of a sum or difference, which repeat a tangent of a smaller operand."""

    def tangent(result: Any, primals: Any, tangents: Any) -> Any:
        s, t = tangents
        if type(s) is not Zero and type(t) is not Zero:
            return primitive().bind(s, t)
        tangent_term: Any = s if type(t) is Zero else neg(t) if negate_rhs else t
        return repeat_to(tangent_term, shape_of(result))

    return linear_given(tangent)


def _sum_transpose(ct, x, y, *, negate_rhs=False):
    lhs = sum_to(ct, x.aval.shape) if is_undefined_primal(x) else None
    if not is_undefined_primal(y):
        return lhs, None
    return lhs, sum_to(neg(ct) if negate_rhs else ct, y.aval.shape)


add_p: Primitive = nary(
    "add",
    "stablehlo.add",
    numeric,
    **_sum_rules(lambda: add_p, negate_rhs=False),
    sums=linear_in_all,
    transpose=_sum_transpose,
    exact=exact.elementwise(np.add),
    examples=samples(ANY, ANY, specials=True),
)
# The sum of two tangents, of one type; booleans are there for tangents of no information.
add_any_p: Primitive = nary(
    "add_any",
    "stablehlo.add",
    anything,
    jvp=linear,
    transpose=lambda ct, x, y: [ct if is_undefined_primal(z) else None for z in (x, y)],
)
sub_p: Primitive = nary(
    "sub",
    "stablehlo.subtract",
    numeric,
    **_sum_rules(lambda: sub_p, negate_rhs=True),
    sums=linear_in_all,
    transpose=partial(_sum_transpose, negate_rhs=True),
    exact=exact.elementwise(np.subtract),
    examples=samples(ANY, ANY, specials=True),
)
add: BinaryFunction = binary_function(
    add_p,
    "Elementwise ``x + y``.",
    "lax.add(jnp.array([[1], [2]]), jnp.array([[10, 20]])).tolist() -> [[11, 21], [12, 22]]",
)
sub: BinaryFunction = binary_function(
    sub_p, "Elementwise ``x - y``.", "lax.sub(jnp.array([5, 7]), 2).tolist() -> [3, 5]"
)


def add_any(x: ArrayLike, y: ArrayLike) -> Array:
    """The sum of two tangents of one type."""
    return add_any_p.bind(x, y)
