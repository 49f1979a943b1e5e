"""The generators ``philox2x32``, ``philox4x32`` and ``threefry4x32``: ciphers of counters.

A cipher encrypts a counter of two or four words with a key of one, two or four (Salmon, Moraes,
Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). An element of an array is
its position, encrypted. So is a new key, with the position in other words of the counter where
there are four. The result's words are combined to bits as in JAX, so that both draw the same.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, Shape, TupleRecord, enable_x64
from ricci_random.keys._key_type import Generator, register_generator

from ._threefry_generator import halves, join, leading, positions, word

type Words = Sequence[Array]

_UINT32 = np.dtype("uint32")

_PHILOX_2 = 0xD256D193
_PHILOX_4 = (0xD2511F53, 0xCD9E8D57)
# Steps of Philox's key in each round: the fractions of the golden ratio and of √3 times 2³².
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PARITY = 0x1BD11BDA
# The number of bits by which each round rotates the second word of each of two pairs.
_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def _number(x: Array, value: int) -> Array:
    return lax.full_like(x, value & 0xFFFFFFFF)


def _product(x: Array, factor: int) -> tuple[Array, Array]:
    """The upper and lower halves of the bits of a product.

    They are computed in 64 bits, whether 64-bit types are on or off, since XLA does not shard
    ``chlo.mulhi``.
    """
    with enable_x64(True):
        wide = lax.convert_element_type(x, np.uint64)
        wide = lax.mul(wide, lax.full_like(wide, factor))
        high = lax.shift_right_logical(wide, lax.full_like(wide, 32))
        return lax.convert_element_type(high, _UINT32), lax.convert_element_type(wide, _UINT32)


def _xor(x: Array, *others: Array) -> Array:
    return reduce(lax.bitwise_xor, others, x)


def _philox2(key: Words, counter: Words) -> list[Array]:
    (k,), (x0, x1) = key, counter
    for i in range(10):
        high, low = _product(x0, _PHILOX_2)
        x0, x1 = _xor(high, lax.add(k, _number(k, i * _WEYL[0])), x1), low
    return [x0, x1]


def _philox4(key: Words, counter: Words) -> list[Array]:
    (k0, k1), (x0, x1, x2, x3) = key, counter
    for i in range(10):
        high0, low0 = _product(x0, _PHILOX_4[0])
        high1, low1 = _product(x2, _PHILOX_4[1])
        now = [lax.add(k, _number(k, i * step)) for k, step in zip((k0, k1), _WEYL, strict=True)]
        x0, x1, x2, x3 = _xor(high1, x1, now[0]), low1, _xor(high0, x3, now[1]), low0
    return [x0, x1, x2, x3]


def _threefry4(key: Words, counter: Words) -> list[Array]:
    keys = [*key, _xor(_number(key[0], _PARITY), *key)]
    x = [lax.add(a, b) for a, b in zip(counter, key, strict=True)]
    for i in range(20):
        pairs = ((0, 1), (2, 3)) if i % 2 == 0 else ((0, 3), (2, 1))
        for (a, b), bits in zip(pairs, _ROTATIONS[i % 8], strict=True):
            x[a] = lax.add(x[a], x[b])
            x[b] = lax.bitwise_xor(_rotate(x[b], bits), x[a])
        # After every fourth round the key words are added, rotated by one place more each time, and
        # the number of the addition to the last word.
        if i % 4 == 3:
            n = i // 4 + 1
            x = [lax.add(word, keys[(n + j) % 5]) for j, word in enumerate(x)]
            x[3] = lax.add(x[3], _number(x[3], n))
    return x


def _rotate(x: Array, bits: int) -> Array:
    left, right = (_number(x, n) for n in (bits, 32 - bits))
    return lax.bitwise_or(lax.shift_left(x, left), lax.shift_right_logical(x, right))


def _materialize[Tree](words: Tree) -> Tree:
    """Compute all words before any is used.

    Otherwise XLA fuses a cipher with each use of the words and computes it again: a
    rejection sampler took minutes to compile.
    """
    return lax.optimization_barrier(words)


class Cipher(TupleRecord):
    """A cipher, and how a generator uses its words.

    Attributes:
      encrypt: ``encrypt(key, counter)``: the words of the result, as many as of the counter.
      key_words: the number of words of a key.
      counter_words: the number of words of a counter.
      folds: whether the words of 64 random bits are sums of two of the result.
      seeds_key: whether a seed is encrypted as the key, and not as the counter.
    """

    encrypt: Callable[[Words, Words], list[Array]]
    key_words: int
    counter_words: int
    folds: bool = False
    seeds_key: bool = False

    def generator(self, name: str, tag: str) -> Generator:
        """The generator of this cipher."""
        return Generator(
            name, tag, (self.key_words,), self.seed, self.split, self.fold_in, self.bits
        )

    def seed(self, seeds: Array) -> Array:
        """The words of keys from integers."""
        seed_words = halves(seeds)
        zero = lax.full_like(seed_words[0], 0)
        words = [*seed_words, zero, zero]
        key, counter = ([zero] * 4, words) if not self.seeds_key else (words, [zero] * 4)
        return self._key(self.encrypt(key[: self.key_words], counter[: self.counter_words]))

    def split(self, keys: Array, shape: Shape) -> Array:
        """The words of ``shape`` new keys for each key."""
        return self._key(self._encrypted(keys, positions(shape), derive=True))

    def fold_in(self, keys: Array, data: Array) -> Array:
        """The words of new keys, from an integer for each key, or one of either for all."""
        words = jnp.broadcast_arrays(*(word(keys, i) for i in range(self.key_words)), *halves(data))
        key, counter = words[: self.key_words], words[self.key_words :]
        return self._key(self.encrypt(key, self._counter(counter, derive=True)))

    def bits(self, keys: Array, bit_width: int, shape: Shape) -> Array:
        """Unsigned integers of a shape for each key."""
        words = self._encrypted(keys, positions(shape), derive=False)
        if bit_width < 64:
            return lax.convert_element_type(
                _materialize(_xor(*words)), np.dtype(f"uint{bit_width}")
            )
        if self.folds:
            words = [_xor(a, b) for a, b in zip(words[:2], words[2:], strict=True)]
        return join(*_materialize(words[:2]))

    def _encrypted(self, keys: Array, counter: tuple[Array, Array], derive: bool) -> list[Array]:
        """Positions, encrypted with each key."""
        lead, ndim = keys.ndim - 1, counter[0].ndim
        new = tuple(range(lead, lead + ndim))
        key = [lax.expand_dims(word(keys, i), new) for i in range(self.key_words)]
        words = jnp.broadcast_arrays(*key, *(leading(x, keys) for x in counter))
        counter_words = self._counter(words[self.key_words :], derive)
        return self.encrypt(words[: self.key_words], counter_words)

    def _counter(self, halves: Words, derive: bool) -> Words:
        """The counter of a position, which differs for new keys and for random bits."""
        if self.counter_words == 2:
            return halves
        zero = lax.full_like(halves[0], 0)
        return [zero, zero, *halves] if derive else [*halves, zero, zero]

    def _key(self, words: Words) -> Array:
        last = words[0].ndim
        return lax.concatenate([lax.expand_dims(x, (last,)) for x in words[: self.key_words]], last)


register_generator(Cipher(_philox2, 1, 2).generator("philox2x32", "phx2"))
register_generator(Cipher(_philox4, 2, 4).generator("philox4x32", "phx4"))
register_generator(
    Cipher(_threefry4, 4, 4, folds=True, seeds_key=True).generator("threefry4x32", "fry4")
)
