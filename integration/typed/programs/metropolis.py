"""A sampler written with scan and keys."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import ricci
import ricci.numpy as np
from ricci import Array, lax, random
from ricci.scipy import stats


class Chain(NamedTuple):
    position: Array
    log_density: Array


def step(log_density: Callable[[Array], Array], chain: Chain, key: Array) -> tuple[Chain, Array]:
    propose, accept = random.split(key)
    position: Array = chain.position + random.normal(propose, chain.position.shape)
    density = log_density(position)
    accepted = np.log(random.uniform(accept)) < density - chain.log_density
    new = Chain(
        np.where(accepted, position, chain.position), np.where(accepted, density, chain.log_density)
    )
    return new, new.position


def sample(log_density: Callable[[Array], Array], start: Array, key: Array, count: int) -> Array:
    keys: Array = random.split(key, count)
    chain = Chain(start, log_density(start))
    _, positions = lax.scan(partial(step, log_density), chain, keys)
    return positions


def main() -> None:
    target: Callable[[Array], Array] = lambda x: stats.norm.logpdf(x).sum()
    run = ricci.jit(sample, static_argnums=(0, 3))
    positions = run(target, np.zeros(2), random.key(3), 50)
    assert positions.shape == (50, 2)
