"""Sequences of varying lengths through a few compiled programs."""

from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array


@partial(ricci.bucketed, sizes=[4, 8])
def spread(x: Array) -> Array:
    return jnp.sqrt(jnp.mean((x - x.mean()) ** 2))


def main() -> None:
    for length in (1, 3, 4, 7):
        x = jnp.arange(float(length))
        assert_type(spread(x), Array)
        assert abs(float(spread(x)) - float(jnp.std(x))) < 1e-5
