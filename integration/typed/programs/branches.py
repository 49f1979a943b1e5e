"""Branches that are chosen when the program runs."""

from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array, lax


def halved(x: Array) -> Array:
    return x / 2


def tripled(x: Array) -> Array:
    return 3 * x + 1


def negated(x: Array) -> Array:
    return -x


@ricci.jit
def collatz(x: Array) -> Array:
    return lax.cond(x % 2 == 0, halved, tripled, x)


@ricci.jit
def chosen(which: Array, x: Array) -> Array:
    return lax.switch(which, [halved, tripled, negated], x)


def doubled_or_negated(x: Array) -> Array:
    either: Array = lax.cond(x > 0, lambda y: 2 * y, lambda y: -y, x)
    return lax.switch((x > 3).astype(int), [lambda y: 2 * y, lambda y: -y], either)


def selected(x: Array) -> Array:
    return lax.select(x > 0, x, np.zeros_like(x))


def main() -> None:
    assert_type(collatz(np.asarray(6.0)), Array)
    assert float(collatz(np.asarray(6.0))) == 3.0
    assert float(chosen(np.asarray(2), np.asarray(6.0))) == -6.0
    assert float(doubled_or_negated(np.asarray(-2.0))) == 4.0
    assert selected(np.asarray([-1.0, 2.0])).tolist() == [0.0, 2.0]
