"""A pytest plugin: XLA's results and LAPACK's operands are off by a unit in the last place.

Processors differ in the last place of what they compute: they fuse products with sums or not, add
in another order, have other kernels. One machine shows some of these differences, and this shows
more: ``pytest -p last_place`` fails where a test or an example rests on the last place of a number,
or on a factor of a matrix that is not determined.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci  # noqa: F401  # defines all primitives
from ricci_ir import ShapedArray, primitives
from ricci_stablehlo import Lowering, Value, lower_rules

Rule = Callable[..., Any]

# The choices that IEEE 754 leaves: other functions, products that may be fused with a sum, and sums
# in any order. The others (sqrt, a single sum or quotient) are rounded correctly everywhere.
APPROXIMATE = """
    acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt conv_general_dilated cos cosh
    cumlogsumexp cumprod cumsum digamma dot_general erf erf_inv erfc exp exp2 expm1 fft igamma
    igamma_grad_a igammac lgamma log log1p log2 logistic mul polygamma pow ragged_dot_general
    random_gamma_grad reduce_prod reduce_sum reduce_window_sum regularized_incomplete_beta rsqrt
    scaled_dot sin sinh tan tanh zeta
""".split()
FACTORS = """
    cholesky cholesky_update eig eigh geqp3 geqrf hessenberg lu qr schur svd symmetric_product
    triangular_solve tridiagonal tridiagonal_solve
""".split()
LOOPS = ("scan", "while")
EXACT = 256  # multiples of 1 / EXACT count as results that are exact on every machine
WIDE = (np.float32, np.float64)
_loops: list[Rule] = []  # those whose bodies are being written


def moved(ctx: Lowering, x: Value, operands: Sequence[Value]) -> Value:
    """The value times the number after 1, but where it is exact.

    Multiples of 1 / EXACT count as such, and what equals an operand, as a product by 1 does.
    """
    if x.dtype not in WIDE or _loops:
        return x
    flags = ShapedArray(x.shape, np.dtype(bool))
    equal = lambda x, y: ctx.emit("stablehlo.compare EQ,", [x, y], flags)
    scaled = ctx.emit("stablehlo.multiply", [x, ctx.constant(EXACT, x.aval)], x.aval)
    exact = equal(scaled, ctx.emit("stablehlo.floor", [scaled], x.aval))
    for operand in operands:
        if operand.shape == x.shape and operand.dtype == x.dtype:
            exact = ctx.emit("stablehlo.or", [exact, equal(x, operand)], flags)
    after = ctx.constant(1 + np.finfo(x.dtype).eps, x.aval)
    away = ctx.emit("stablehlo.multiply", [x, after], x.aval)
    return ctx.emit("stablehlo.select", [exact, x, away], x.aval)


def scattered(ctx: Lowering, x: Value) -> Value:
    """The value with about half of its elements, at random, times the number after 1."""
    if x.dtype not in WIDE:
        return x
    chosen = np.random.default_rng(0).integers(0, 2, x.shape)
    factors = ctx.constant(1 + np.finfo(x.dtype).eps * chosen, x.aval)
    return ctx.emit("stablehlo.multiply", [x, factors], x.aval)


def with_moved_results(rule: Rule) -> Rule:
    """The lowering rule of a primitive whose results are approximate."""

    def lower(ctx: Lowering, *operands: Value, **params: Any) -> Any:
        result = rule(ctx, *operands, **params)
        if isinstance(result, Value):
            return moved(ctx, result, operands)
        return [moved(ctx, x, operands) for x in result]

    return lower


def with_scattered_operands(rule: Rule) -> Rule:
    """The lowering rule of a primitive that takes matrices apart."""

    def lower(ctx: Lowering, *operands: Value, **params: Any) -> Any:
        return rule(ctx, *(scattered(ctx, x) for x in operands), **params)

    return lower


def as_it_is_inside(rule: Rule) -> Rule:
    """The lowering rule of a loop, whose body is left alone: there, changes would pile up."""

    def lower(ctx: Lowering, *operands: Value, **params: Any) -> Any:
        _loops.append(rule)
        try:
            return rule(ctx, *operands, **params)
        finally:
            _loops.pop()

    return lower


CHANGES = (
    (APPROXIMATE, with_moved_results),
    (FACTORS, with_scattered_operands),
    (LOOPS, as_it_is_inside),
)


def pytest_sessionstart() -> None:
    """Replace the lowering rules for the session."""
    for names, change in CHANGES:
        for name in names:
            primitive = primitives[name]
            lower_rules[primitive] = change(lower_rules[primitive])
