"""Keys are split and passed on; samples have the shapes that were asked for."""

from functools import partial

import ricci
import ricci.numpy as np
from ricci import Array, random


def walk(key: Array, steps: int, dimension: int) -> Array:
    jumps: Array = random.normal(key, (steps, dimension))
    return np.cumsum(jumps, axis=0)


def dice(key: Array, count: int) -> dict[str, Array]:
    first, second = random.split(key)
    return {
        "throws": random.randint(first, (count,), 1, 7),
        "order": random.permutation(second, np.arange(count)),
        "folded": random.uniform(random.fold_in(key, 3), (count,)),
    }


def main() -> None:
    key = random.key(42)
    assert ricci.jit(walk, static_argnums=(1, 2))(key, 5, 2).shape == (5, 2)
    keys: Array = random.split(key, 8)
    walks = ricci.vmap(partial(walk, steps=5, dimension=2))(keys)
    assert walks.shape == (8, 5, 2)
    assert all(1 <= int(n) <= 6 for n in dice(key, 20)["throws"])
