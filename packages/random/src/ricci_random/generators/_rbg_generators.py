"""The generators ``rbg`` and ``unsafe_rbg``, whose bits XLA's ``rng_bit_generator`` draws.

A key has four words. The bits depend on the device and on XLA's version, and under ``vmap`` the
bits of a whole batch are drawn from its first key. ``rbg`` derives new keys with Threefry, each
half of a key separately. ``unsafe_rbg`` takes random bits for new keys, which is faster, and of
unknown statistical quality.
"""

from math import prod

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, Shape
from ricci_random.keys._key_type import Generator, register_generator

from ._threefry_generator import threefry

_WORDS = 4
# Neighbouring rows of random words are similar, so new keys of ``unsafe_rbg`` are every tenth row.
_ROW_STRIDE = 10


def _halves(keys: Array) -> Array:
    """Each key as two keys of Threefry."""
    return lax.reshape(keys, (*keys.shape[:-1], 2, 2))


def _seed(seeds: Array) -> Array:
    """Threefry's key of that seed, twice."""
    half = threefry.seed(seeds)
    return lax.concatenate([half, half], half.ndim - 1)


def _split(keys: Array, shape: Shape) -> Array:
    halves = threefry.split(_halves(keys), shape)
    lead = keys.ndim - 1
    halves = jnp.moveaxis(halves, lead, -2)
    return lax.reshape(halves, (*keys.shape[:-1], *shape, _WORDS))


def _repeat_single_key(keys: Array, data: Array) -> Array:
    """Repeat a single key for each integer; return several keys unchanged."""
    if keys.ndim > 1 or not data.shape:
        return keys
    return lax.broadcast_in_dim(keys, (*data.shape, _WORDS), (data.ndim,))


def _fold_in(keys: Array, data: Array) -> Array:
    keys = _repeat_single_key(keys, data)
    halves = keys.shape[:-1] + (2,)
    data = lax.broadcast_in_dim(data, halves, tuple(range(data.ndim)))
    return lax.reshape(threefry.fold_in(_halves(keys), data), keys.shape)


def _bits(keys: Array, bit_width: int, shape: Shape) -> Array:
    """Bits for all keys, drawn from the first one."""
    lead = keys.shape[:-1]
    dtype = np.dtype(f"uint{bit_width}")
    if not prod(lead):
        return lax.full((*lead, *shape), 0, dtype)
    first = lax.slice(keys, (0,) * keys.ndim, (*(1 for _ in lead), _WORDS))
    first = lax.squeeze(first, tuple(range(len(lead))))
    return lax.rng_bit_generator(first, (*lead, *shape), dtype)[1]


def _unsafe_split(keys: Array, shape: Shape) -> Array:
    count, lead = prod(shape), keys.ndim - 1
    rows = _bits(keys, 32, (_ROW_STRIDE * count, _WORDS))
    rows = lax.slice_in_dim(rows, 0, _ROW_STRIDE * count, _ROW_STRIDE, lead)
    return lax.reshape(rows, (*keys.shape[:-1], *shape, _WORDS))


def _unsafe_fold_in(keys: Array, data: Array) -> Array:
    keys = _repeat_single_key(keys, data)
    rows = _bits(_seed(data), 32, (_ROW_STRIDE, _WORDS))
    last = lax.index_in_dim(rows, _ROW_STRIDE - 1, data.ndim, keepdims=False)
    if last.ndim < keys.ndim:
        last = lax.broadcast_in_dim(last, keys.shape, (keys.ndim - 1,))
    return lax.bitwise_xor(keys, last)


rbg: Generator = register_generator(
    Generator("rbg", "rbg", (_WORDS,), _seed, _split, _fold_in, _bits)
)
unsafe_rbg: Generator = register_generator(
    Generator("unsafe_rbg", "urbg", (_WORDS,), _seed, _unsafe_split, _unsafe_fold_in, _bits)
)
