"""Generators that users define by functions of one key, and the Threefry cipher of an array."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import is_recording
from ricci_lax.authoring import threefry2x32

from ._generator import threefry as threefry_prng_impl
from ._key_type import Generator, GeneratorSpec
from ._keys import seed_integers, words_of_seed
from ._primitives import random_seed_p, wrap
from ._rbg import rbg as rbg_prng_impl
from ._rbg import unsafe_rbg as unsafe_rbg_prng_impl

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]


def _for_each(fun: Callable[..., Any], dims: tuple[int, ...], *args: Any) -> Any:
    """``fun`` of the arguments; of those with dimensions beyond ``dims``, for each entry."""
    lead = max(np.ndim(x) - n for x, n in zip(args, dims, strict=True))
    for _ in range(lead):
        axes = tuple(0 if np.ndim(x) > n else None for x, n in zip(args, dims, strict=True))
        fun = vmap(fun, in_axes=axes)
    return fun(*args)


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[[Any], Any],
    split: Callable[[Any, tuple[int, ...]], Any],
    random_bits: Callable[[Any, int, tuple[int, ...]], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> Hashable:
    """Define a generator by what it does with one key.

    Args:
      key_shape: the shape of a key's words, an array of uint32.
      seed: ``seed(integer) -> words``.
      split: ``split(words, shape) -> words`` of new keys, of shape ``(*shape, *key_shape)``.
      random_bits: ``random_bits(words, bit_width, shape)``: unsigned integers of that width.
      fold_in: ``fold_in(words, integer) -> words``.
      name: what messages call it.
      tag: how printed programs call it.

    Returns:
      What ``key`` and ``wrap_key_data`` take as ``impl``.

    Example:
      >>> counter = define_prng_impl(
      ...     key_shape=(1,),
      ...     seed=lambda n: n.astype("uint32")[None],
      ...     split=lambda key, shape: key + jnp.zeros((*shape, 1), "uint32"),
      ...     random_bits=lambda key, width, shape: jnp.broadcast_to(key, shape),
      ...     fold_in=lambda key, n: key + n,
      ...     tag="count",
      ... )
      >>> key(5, impl=counter).dtype
      key<count>
    """
    rank = len(key_shape)

    def split_all(keys, shape):
        return _for_each(lambda key: split(key, shape), (rank,), keys)

    def bits_of_all(keys, bit_width, shape):
        return _for_each(lambda key: random_bits(key, bit_width, shape), (rank,), keys)

    impl = Generator(
        name=name,
        tag=tag,
        key_shape=tuple(key_shape),
        seed=partial(_for_each, seed, (0,)),
        split=split_all,
        fold_in=partial(_for_each, fold_in, (rank, 0)),
        bits=bits_of_all,
    )
    return GeneratorSpec(impl)


def random_seed(seeds: Any, impl: Generator) -> Any:
    """The keys of seeds.

    Args:
      seeds: integers, an array or a scalar.
      impl: the generator, such as ``threefry_prng_impl``.

    Returns:
      An array of keys of the shape of ``seeds``.

    Raises:
      TypeError: if the seeds are no integers.

    Example:
      >>> random_seed(np.arange(2), threefry_prng_impl)
      Array((2,), dtype=key<fry>) overlaying:
      [[0 0]
       [0 1]]
    """
    if not np.ndim(seeds):
        seeds = seed_integers(seeds, "random_seed")
    else:
        seeds = jnp.asarray(seeds)
    if is_recording():
        return random_seed_p.bind(seeds, impl=impl)
    return wrap(words_of_seed(seeds, impl), impl)


def seed_with_impl(impl: Generator, seed: Any) -> Any:
    """The key of a seed: ``random_seed`` with its arguments in the other order.

    Example:
      >>> seed_with_impl(rbg_prng_impl, 3)
      Array((), dtype=key<rbg>) overlaying:
      [0 3 0 3]
    """
    return random_seed(seed, impl)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Encrypt an array of counters with Threefry-2x32, those of one half with those of the other.

    Args:
      keypair: the key's two words, as an array or a pair of scalars, uint32.
      count: the counters, a uint32 array. If their number is odd, a zero is added.

    Returns:
      A uint32 array of the shape of ``count``.

    Raises:
      TypeError: if an argument is not uint32.
      ValueError: if the key has another number of words.

    Example:
      >>> threefry_2x32(np.uint32([1, 2]), np.arange(4, dtype=np.uint32)).shape
      (4,)

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    k0, k1 = keypair
    k0, k1, count = jnp.asarray(k0), jnp.asarray(k1), jnp.asarray(count)
    if any(x.dtype != np.uint32 for x in (k0, k1, count)):
        raise TypeError(
            "threefry_2x32: the key and the counters are uint32, but found "
            f"{', '.join(str(x.dtype) for x in (k0, k1, count))}."
        )
    flat = lax.reshape(count, (count.size,))
    if count.size % 2:
        flat = lax.concatenate([flat, lax.full((1,), 0, np.uint32)], 0)
    half = flat.size // 2
    words = threefry2x32(
        k0, k1, lax.slice(flat, (0,), (half,)), lax.slice(flat, (half,), flat.shape)
    )
    return lax.reshape(lax.slice(lax.concatenate(words, 0), (0,), (count.size,)), count.shape)
