"""A fixed point, whose derivative is that of the equation it solves and not of its iterations."""

from collections.abc import Callable
from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, lax

type Update = Callable[[Array, Array], Array]


def iterate(update: Update, a: Array, start: Array) -> Array:
    def going(state: tuple[Array, Array]) -> Array:
        old, new = state
        return abs(new - old).max() > 1e-6

    def again(state: tuple[Array, Array]) -> tuple[Array, Array]:
        _, new = state
        return new, update(a, new)

    return lax.while_loop(going, again, (start, update(a, start)))[1]


@partial(ricci.custom_vjp, nondiff_argnums=(0,))
def fixed_point(update: Update, a: Array, start: Array) -> Array:
    return iterate(update, a, start)


def forward(update: Update, a: Array, start: Array) -> tuple[Array, tuple[Array, Array]]:
    found = fixed_point(update, a, start)
    return found, (a, found)


def backward(update: Update, kept: tuple[Array, Array], ct: Array) -> tuple[Array, Array]:
    a, found = kept
    _, pull = ricci.vjp(partial(update, a), found)

    def adjoint(_: Array, u: Array) -> Array:
        return ct + pull(u)[0]

    def of_parameter(a: Array) -> Array:
        return update(a, found)

    _, pull_a = ricci.vjp(of_parameter, a)
    return pull_a(iterate(adjoint, a, ct))[0], jnp.zeros_like(found)


fixed_point.defvjp(forward, backward)


def newton(a: Array, x: Array) -> Array:
    return 0.5 * (x + a / x)


def main() -> None:
    def root(a: Array) -> Array:
        return fixed_point(newton, a, jnp.asarray(1.0))

    two = jnp.asarray(2.0)
    assert_type(root(two), Array)
    assert abs(float(root(two)) - 1.41421) < 1e-4
    assert abs(float(ricci.grad(root)(two)) - 0.35355) < 1e-4
