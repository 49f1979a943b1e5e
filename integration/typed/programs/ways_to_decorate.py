"""The forms in which jit is a decorator."""

from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array, jit


@jit
def plain(x: Array) -> Array:
    return x + 1


@jit(static_argnames="axis")
def with_keywords(x: Array, axis: int = 0) -> Array:
    return x.sum(axis)


@partial(jit, static_argnums=1, donate_argnums=())
def with_partial(x: Array, axis: int) -> Array:
    return x.max(axis)


class Counter:
    def __init__(self, step: int) -> None:
        self.step = step

    @partial(jit, static_argnums=0)
    def advance(self, x: Array) -> Array:
        return x + self.step


def doubled(x: Array) -> Array:
    return x * 2


named = ricci.named_call(plain, name="plus_one")
inner = jit(jit(doubled), inline=True)


@ricci.named_scope("outer")
def scoped(x: Array) -> Array:
    with ricci.named_scope("inner"):
        return x * 3


def main() -> None:
    x = np.ones((2, 3))
    assert_type(plain(x), Array)
    assert_type(with_keywords(x, axis=1), Array)
    result: Array = with_partial(x, 0)
    assert result.shape == (3,)
    assert Counter(2).advance(x).shape == (2, 3)
    assert_type(named(x), Array)
    assert_type(scoped(x), Array)
    assert inner(x).shape == (2, 3)
