"""A custom forward-mode rule for a function that is written for accuracy."""

from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array


@ricci.custom_jvp
def softplus(x: Array) -> Array:
    return np.log1p(np.exp(-abs(x))) + np.maximum(x, 0)


@softplus.defjvp
def softplus_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    return softplus(x), t / (1 + np.exp(-x))


@ricci.custom_jvp
def product(x: Array, y: Array) -> Array:
    return x * y


def by_x(t: Array, out: Array, x: Array, y: Array) -> Array:
    return t * y


def by_y(t: Array, out: Array, x: Array, y: Array) -> Array:
    return t * x


product.defjvps(by_x, by_y)


def main() -> None:
    x = np.asarray([-1.0, 0.0, 1.0])
    assert_type(softplus(x), Array)
    assert_type(softplus_jvp((x,), (x,)), tuple[Array, Array])
    assert ricci.vmap(ricci.grad(softplus))(x).shape == (3,)
    assert_type(product(x, y=x), Array)
    assert float(ricci.grad(product, argnums=1)(np.asarray(3.0), np.asarray(4.0))) == 3.0
