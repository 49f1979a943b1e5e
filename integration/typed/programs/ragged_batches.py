"""Sequences of varying lengths through a few compiled programs."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array


def deviation(x: Array) -> Array:
    return jnp.sqrt(jnp.mean((x - x.mean()) ** 2))


# Not as a decorator by `partial`, through which mypy does not follow overloads.
spread = ricci.bucketed(deviation, sizes=[4, 8])


def main() -> None:
    for length in (1, 3, 4, 7):
        x = jnp.arange(float(length))
        assert_type(spread(x), Array)
        assert abs(float(spread(x)) - float(jnp.std(x))) < 1e-5
