"""A function that returns its own backward rule."""

from collections.abc import Callable
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array


@ricci.custom_gradient
def absolute(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    def rule(ct: Array) -> Array:
        return ct * np.sign(x)

    return abs(x), rule


def main() -> None:
    x = np.asarray(-3.0)
    assert_type(absolute(x), Array)
    assert float(ricci.grad(absolute)(x)) == -1.0
