"""The generators of the compiler: keys of four words, bits as ``rng_bit_generator`` draws them.

What they draw depends on the device and the compiler, and under ``vmap`` all bits are drawn from
the first key. ``rbg`` makes keys of keys with Threefry, each half of a key by itself;
``unsafe_rbg`` draws those as well, which is fast and of unknown quality.
"""

from math import prod
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp

from ._generator import threefry
from ._key_type import Generator, register_generator

_WORDS = 4
_THINNED = 10  # new keys are one in so many of the rows drawn: neighbours are alike


def _halves(keys: Any) -> Any:
    return lax.reshape(keys, (*keys.shape[:-1], 2, 2))


def _seed(seeds: Any) -> Any:
    half = threefry.seed(seeds)
    return lax.concatenate([half, half], half.ndim - 1)


def _split(keys: Any, shape: tuple[int, ...]) -> Any:
    halves = threefry.split(_halves(keys), shape)
    lead = keys.ndim - 1
    halves = jnp.moveaxis(halves, lead, -2)
    return lax.reshape(halves, (*keys.shape[:-1], *shape, _WORDS))


def _repeated(keys: Any, data: Any) -> Any:
    """One key as many times as there are integers."""
    if keys.ndim > 1 or not data.shape:
        return keys
    return lax.broadcast_in_dim(keys, (*data.shape, _WORDS), (data.ndim,))


def _fold_in(keys: Any, data: Any) -> Any:
    keys = _repeated(keys, data)
    halves = keys.shape[:-1] + (2,)
    data = lax.broadcast_in_dim(data, halves, tuple(range(data.ndim)))
    return lax.reshape(threefry.fold_in(_halves(keys), data), keys.shape)


def _bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Bits for all keys, drawn from the first one."""
    lead = keys.shape[:-1]
    dtype = np.dtype(f"uint{bit_width}")
    if not prod(lead):
        return lax.full((*lead, *shape), 0, dtype)
    first = lax.slice(keys, (0,) * keys.ndim, (*(1 for _ in lead), _WORDS))
    first = lax.squeeze(first, tuple(range(len(lead))))
    return lax.rng_bit_generator(first, (*lead, *shape), dtype)[1]


def _unsafe_split(keys: Any, shape: tuple[int, ...]) -> Any:
    count, lead = prod(shape), keys.ndim - 1
    rows = _bits(keys, 32, (_THINNED * count, _WORDS))
    rows = lax.slice_in_dim(rows, 0, _THINNED * count, _THINNED, lead)
    return lax.reshape(rows, (*keys.shape[:-1], *shape, _WORDS))


def _unsafe_fold_in(keys: Any, data: Any) -> Any:
    keys = _repeated(keys, data)
    rows = _bits(_seed(data), 32, (_THINNED, _WORDS))
    last = lax.index_in_dim(rows, _THINNED - 1, data.ndim, keepdims=False)
    if last.ndim < keys.ndim:
        last = lax.broadcast_in_dim(last, keys.shape, (keys.ndim - 1,))
    return lax.bitwise_xor(keys, last)


rbg = register_generator(Generator("rbg", "rbg", (_WORDS,), _seed, _split, _fold_in, _bits))
unsafe_rbg = register_generator(
    Generator("unsafe_rbg", "urbg", (_WORDS,), _seed, _unsafe_split, _unsafe_fold_in, _bits)
)
