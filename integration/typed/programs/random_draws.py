"""Random keys: split, folded, mapped over, and distributions drawn from them."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, random


def dropout(key: Array, x: Array, rate: float) -> Array:
    kept = random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0.0)


def bootstrap(key: Array, x: Array, count: int) -> Array:
    def mean(key: Array) -> Array:
        return random.choice(key, x, (x.size,)).mean()

    return ricci.vmap(mean)(random.split(key, count))


@ricci.jit
def batch(key: Array, epoch: int, x: Array) -> tuple[Array, Array]:
    key = random.fold_in(key, epoch)
    order = random.permutation(key, x.shape[0])
    return key, x[order]


def main() -> None:
    key = random.key(42)
    first, *others = random.split(key, 3)
    assert_type(first, Array)
    x = random.normal(first, (10,))
    assert dropout(others[0], x, 0.5).shape == x.shape
    assert bootstrap(others[1], x, 7).shape == (7,)
    key, shuffled = batch(key, 3, x)
    assert sorted(shuffled.tolist()) == sorted(x.tolist())
    assert random.key_data(key).dtype == jnp.uint32
    assert random.categorical(key, jnp.zeros((4, 3)), axis=-1).shape == (4,)
    assert random.randint(key, (5,), minval=0, maxval=3).dtype == jnp.int32
    old = random.PRNGKey(0)
    assert random.uniform(old, minval=1.0, maxval=2.0) >= 1.0
