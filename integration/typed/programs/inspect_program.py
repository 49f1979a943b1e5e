"""The jaxpr of a function."""

from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array
from ricci.extend.core import Jaxpr


def f(x: Array, n: int) -> Array:
    return x**n


def operations(jaxpr: Jaxpr) -> list[str]:
    return [equation.primitive.name for equation in jaxpr.eqns]


def main() -> None:
    jaxpr = ricci.make_jaxpr(f, static_argnums=1)(np.ones(3), 2)
    assert operations(jaxpr)
    jaxpr, shape = ricci.make_jaxpr(f, static_argnums=1, return_shape=True)(np.ones(3), 2)
    assert shape.shape == (3,)
    assert_type(str(jaxpr), str)
