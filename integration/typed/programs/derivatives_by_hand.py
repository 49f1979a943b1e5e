"""jvp, vjp and linearize, with and without auxiliary results."""

from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array


def f(x: Array, y: Array) -> Array:
    return np.sin(x) * y


def g(x: Array) -> tuple[Array, dict[str, int]]:
    return x**2, {"calls": 1}


def main() -> None:
    x = np.asarray(1.0)
    value, tangent = ricci.jvp(f, (x, x), (x, 0.0 * x))
    assert_type(value, Array)
    assert_type(tangent, Array)

    value, push = ricci.linearize(f, x, x)
    assert_type(push(x, x), Array)

    value, pull = ricci.vjp(f, x, x)
    assert_type(value, Array)
    by_x, by_y = pull(np.ones_like(value))
    assert by_x.shape == by_y.shape == ()

    value, pull, aux = ricci.vjp(g, x, has_aux=True)
    assert_type(aux, dict[str, int])
    assert float(pull(1.0)[0]) == 2.0

    both = ricci.grad(f, argnums=(0, 1))(x, x)
    assert_type(len(both), int)
    gradient, aux = ricci.grad(g, has_aux=True)(x)
    assert_type(aux, dict[str, int])
    assert float(gradient) == 2.0
