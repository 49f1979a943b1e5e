"""Series and continued fractions of incomplete functions.

They run in a loop until the last element has converged. Continued fractions are evaluated by the
modified Lentz method (W. Press et al., Numerical Recipes, sections 5.2, 6.2, 6.4).
"""

from collections.abc import Callable
from functools import reduce

import numpy as np

from ricci_autodiff import jvp
from ricci_ir import Array, ArrayLike, finfo
from ricci_lax.elementwise._arithmetic import abs, div, mul, reciprocal
from ricci_lax.elementwise._comparison import bitwise_and, bitwise_or, eq, gt, le, lt, select
from ricci_lax.elementwise._factories import filled_like, in_full_shape, scalar_like
from ricci_lax.elementwise._linear import add, sub
from ricci_lax.reductions._axis_reductions import reduce_or
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Lowering, Value, traced

_limit = 2000  # steps at most


State = tuple[Array, ...]


def all_of(*conditions: ArrayLike) -> ArrayLike:
    return reduce(bitwise_and, conditions)


def any_of(*conditions: ArrayLike) -> ArrayLike:
    return reduce(bitwise_or, conditions)


def constant(x: ArrayLike, value: float) -> ArrayLike:
    return scalar_like(x, value)


def _eps(x: ArrayLike) -> ArrayLike:
    """The machine epsilon of the dtype of ``x``."""
    return constant(x, float(finfo(array_aval(x).dtype).eps))


class Iteration:
    """The limit of an iteration.

    Args:
      start: ``start(*parameters)`` returns the first state, a tuple of arrays.
      step: ``step(n, state, *parameters)`` returns the next one; its last array is the
        approximation. ``n`` counts from 1.
    """

    def __init__(self, start: Callable[..., State], step: Callable[..., State]) -> None:
        self.start = start
        self.step = step

    def with_derivative(self) -> "Iteration":
        """The same iteration, whose state also has the derivatives by the first parameter."""

        def start(a, *rest):
            one = filled_like(a, 1)
            state, slope = jvp(lambda a: self.start(a, *rest), (a,), (one,))
            return (*slope, *state)

        def step(n, pair, a, *rest):
            slope, state = pair[: len(pair) // 2], pair[len(pair) // 2 :]
            one = filled_like(a, 1)
            state, slope = jvp(
                lambda state, a: self.step(n, state, a, *rest), (state, a), (slope, one)
            )
            return (*slope, *state)

        return Iteration(start, step)

    def lower(self, ctx: Lowering, parameters: list[Value], parts: int = 1) -> list[Value]:
        """Write the loop, which ends when the approximation has converged.

        Args:
          parts: 2 if the first half of the state is derivatives.

        Returns:
          The approximation; or its derivative, and it.
        """
        count = len(parameters)

        def start(*parameters):
            number = filled_like(constant(parameters[0], 1), 1)
            everywhere = eq(filled_like(parameters[0], 1), number)
            return [number, everywhere, *parameters, *self.start(*parameters)]

        def body(n, active, *values):
            parameters, old = values[:count], values[count:]
            new = self.step(n, old, *parameters)
            moving = [
                gt(abs(sub(new[i], old[i])), mul(_eps(n), abs(new[i])))
                for i in _last_of_parts(len(new), parts)
            ]
            # Further steps would add rounding errors to the elements that have settled.
            new = [select(active, *pair) for pair in zip(new, old, strict=True)]
            return [add(n, constant(n, 1)), bitwise_and(active, any_of(*moving)), *parameters, *new]

        def condition(n, active, *values):
            some = reduce_or(active, tuple(range(len(shape_of(active)))))
            return bitwise_and(some, le(n, constant(n, _limit)))

        values = traced(start)(ctx, *parameters)
        avals = [v.aval for v in values]
        regions = [
            ctx.region(avals, lambda inner, *xs: [traced(condition)(inner, *xs)]),
            ctx.region(avals, lambda inner, *xs: traced(body)(inner, *xs)),
        ]
        state = ctx.generic("stablehlo.while", values, avals, regions=regions)[2 + count :]
        return [state[i] for i in _last_of_parts(len(state), parts)]


def _last_of_parts(length: int, parts: int) -> list[int]:
    return [length * (part + 1) // parts - 1 for part in range(parts)]


def guarded(x: Array) -> Array:
    """``x``, away from zero."""
    tiny = constant(x, 1e-30)
    return select(lt(abs(x), tiny), filled_like(x, 1e-30), x)


def lentz_step(state: State, numerator: ArrayLike, denominator: ArrayLike) -> State:
    """One more level of a continued fraction, from ``(c, d, value)``."""
    # The modified method of Lentz: c and d are ratios of successive numerators and denominators of
    # the fraction's convergents, which would overflow themselves. Away from zero they can be
    # divided by.
    c, d, value = state
    d = reciprocal(guarded(add(mul(numerator, d), denominator)))
    c = guarded(add(denominator, div(numerator, c)))
    return c, d, mul(value, mul(c, d))


def in_single(lower: Callable[[Lowering, list[Value]], Value]) -> Callable[..., Value]:
    """A lowering that computes in at least single precision, on operands of full shape."""

    def rule(ctx: Lowering, *operands: Value) -> Value:
        out = ctx.out
        full = in_full_shape(ctx, operands)
        if out.dtype.itemsize >= 4:
            return lower(ctx, full)
        single = np.dtype("float32")
        wide = [ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=single)) for x in full]
        return ctx.emit("stablehlo.convert", [lower(ctx, wide)], out)

    return rule


def times_log(power: Array, logarithm: Array) -> Array:
    """The logarithm of a power from that of its base; 0 for the power 0, also of 0."""
    product = mul(power, logarithm)
    lowest = constant(logarithm, float("-inf"))
    unity = bitwise_and(eq(power, constant(power, 0)), eq(logarithm, lowest))
    return select(unity, filled_like(product, 0), product)
