"""References: arrays that compiled functions write."""

from dataclasses import dataclass
from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, Ref


@dataclass
class Statistics:
    count: Ref
    total: Ref

    @classmethod
    def make(cls, size: int) -> "Statistics":
        return cls(ricci.new_ref(jnp.asarray(0)), ricci.new_ref(jnp.zeros(size)))


@ricci.jit
def note(count: Ref, total: Ref, x: Array) -> Array:
    count[...] += 1
    total[...] += x
    return total[...] / count[...]


def main() -> None:
    seen = Statistics.make(3)
    mean = jnp.zeros(3)
    for i in range(4):
        mean = note(seen.count, seen.total, jnp.full(3, float(i)))
    assert_type(mean, Array)
    assert mean.tolist() == [1.5, 1.5, 1.5]
    assert int(seen.count[...]) == 4
    seen.total[0] = 7.0
    frozen = ricci.freeze(seen.total)
    assert_type(frozen, Array)
    assert frozen[0] == 7.0
