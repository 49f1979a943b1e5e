"""Rules of XLA's random number generators.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from math import prod
from typing import Any

import numpy as np

from ricci_lax import RandomAlgorithm
from ricci_lax.authoring import threefry2x32_numpy

from ._widening import Rule

_WORD = 0xFFFFFFFF
# Philox-4x32: the multipliers of table 2, and the constants added to the key in each round.
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10


def _rng_bit_generator(
    key: np.ndarray,
    *,
    shape: tuple[int, ...],
    dtype: np.dtype,
    algorithm: RandomAlgorithm,
    **params: Any,
) -> tuple[np.ndarray, np.ndarray]:
    words = key.astype("<u4", copy=True) if key.dtype == np.uint32 else key.view("<u4")
    state = [int(word) for word in words]
    draw = _three_fry if algorithm == RandomAlgorithm.RNG_THREE_FRY else _philox
    bits, blocks = draw(state, shape, dtype.itemsize == 8)
    counter = (state[2] + (state[3] << 32) + blocks) % 2**64
    new = np.asarray([*state[:2], counter & _WORD, counter >> 32], np.uint32)
    return new.view(key.dtype), bits.astype(dtype)


def _three_fry(state: list[int], shape: tuple[int, ...], wide: bool) -> tuple[np.ndarray, int]:
    """Draw bits with Threefry, which turns each 64-bit counter into two words."""
    if wide:
        low, high = _three_fry_words(state, prod(shape))
        both = low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))
        return both.reshape(shape), both.size
    # The two words lie side by side along one dimension: the first of even size, else the longest.
    sizes = shape or (1,)
    even = [d for d, n in enumerate(sizes) if n % 2 == 0]
    split = even[0] if even else sizes.index(max(sizes))
    before, after = sizes[:split], sizes[split + 1 :]
    half = -(-sizes[split] // 2)
    halves = [
        words.reshape(*before, half, 1, *after)
        for words in _three_fry_words(state, prod(before) * half * prod(after))
    ]
    together = np.concatenate(halves, split + 1).reshape(*before, 2 * half, *after)
    bits = np.take(together, np.arange(sizes[split]), split)
    return bits.reshape(shape), halves[0].size


def _three_fry_words(state: list[int], blocks: int) -> tuple[np.ndarray, np.ndarray]:
    first = np.uint64(state[2]) + (np.uint64(state[3]) << np.uint64(32))
    counters = first + np.arange(blocks, dtype=np.uint64)
    low, high = counters & np.uint64(_WORD), counters >> np.uint64(32)
    words = low.astype(np.uint32), high.astype(np.uint32)
    return threefry2x32_numpy(state[0], state[1], *words)


def _philox(state: list[int], shape: tuple[int, ...], wide: bool) -> tuple[np.ndarray, int]:
    """Draw bits with Philox, which turns each 128-bit counter into four words."""
    blocks = -(-prod(shape) // (2 if wide else 4))
    # XLA uses the key's words as the upper half of the counter as well.
    first = state[2] + (state[3] << 32) + (state[0] << 64) + (state[1] << 96)
    words = [_philox_words(state[:2], (first + i) % 2**128) for i in range(blocks)]
    bits = np.asarray(words, "<u4").reshape(-1)
    if wide:
        bits = bits.view("<u8")
    return bits[: prod(shape)].reshape(shape), blocks


def _philox_words(key: list[int], counter: int) -> list[int]:
    c0, c1, c2, c3 = (counter >> shift & _WORD for shift in (0, 32, 64, 96))
    k0, k1 = key
    for _ in range(_PHILOX_ROUNDS):
        p0, p1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & _WORD, p0 >> 32 ^ c3 ^ k1, p0 & _WORD
        k0, k1 = k0 + _WEYL[0] & _WORD, k1 + _WEYL[1] & _WORD
    return [c0, c1, c2, c3]


_generator = np.random.default_rng()


def _rng_uniform(
    a: np.ndarray, b: np.ndarray, *, shape: tuple[int, ...], **params: Any
) -> np.ndarray:
    if a.dtype.kind in "iu":
        # In an empty interval all numbers are the lower bound.
        return _generator.integers(a, b - 1 if a < b else a, shape, a.dtype, endpoint=True)
    low, high = a.astype(np.float64), b.astype(np.float64)
    drawn = (low + (high - low) * _generator.random(shape)).astype(a.dtype)
    # Rounding may give the upper bound, which is excluded.
    return np.where((drawn >= b) & (a < b), a, drawn)


random_bit_rules: dict[str, Rule] = {
    "rng_bit_generator": _rng_bit_generator,
    "rng_uniform": _rng_uniform,
}
