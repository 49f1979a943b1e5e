"""User-defined generators, seeds with a given generator, and the Threefry cipher of an array."""

from collections.abc import Callable
from functools import partial

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, Shape, is_recording
from ricci_lax.authoring import threefry2x32
from ricci_random.keys._derivation import seed_integers, words_of_seed
from ricci_random.keys._key_type import Generator, GeneratorSpec
from ricci_random.keys._primitives import random_seed_p, wrap


def _for_each(fun: Callable[..., Array], dims: tuple[int, ...], *args: Array) -> Array:
    """Apply a function to arguments of ``dims`` dimensions, mapped over leading dimensions."""
    lead = max(np.ndim(x) - n for x, n in zip(args, dims, strict=True))
    for _ in range(lead):
        axes = tuple(0 if np.ndim(x) > n else None for x, n in zip(args, dims, strict=True))
        fun = vmap(fun, in_axes=axes)
    return fun(*args)


def define_prng_impl(
    *,
    key_shape: Shape,
    seed: Callable[[Array], Array],
    split: Callable[[Array, Shape], Array],
    random_bits: Callable[[Array, int, Shape], Array],
    fold_in: Callable[[Array, Array], Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> GeneratorSpec:
    """Define a random number generator by functions of one key's words.

    Args:
      key_shape: the shape of a key's words, an array of uint32.
      seed: ``seed(integer) -> words``.
      split: ``split(words, shape) -> words`` of new keys, of shape ``(*shape, *key_shape)``.
      random_bits: ``random_bits(words, bit_width, shape)``: unsigned integers of that width.
      fold_in: ``fold_in(words, integer) -> words``.
      name: its name in messages.
      tag: its name in printed jaxprs.

    Returns:
      A hashable object that ``key`` and ``wrap_key_data`` take as ``impl``. Creating keys with it
      raises ``TypeError`` if a function returns words of another shape or dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.extend import random
      >>> counter = random.define_prng_impl(
      ...     key_shape=(1,),
      ...     seed=lambda n: n.astype("uint32")[None],
      ...     split=lambda key, shape: key + jnp.zeros((*shape, 1), "uint32"),
      ...     random_bits=lambda key, width, shape: jnp.broadcast_to(key, shape),
      ...     fold_in=lambda key, n: key + n,
      ...     tag="count",
      ... )
      >>> from ricci.random import key
      >>> key(5, impl=counter).dtype
      key<count>
    """
    rank = len(key_shape)

    def words(what: str, array: Array, shape: Shape = ()) -> Array:
        expected = (*shape, *key_shape)
        if np.shape(array) != expected or array.dtype != np.uint32:
            raise TypeError(
                f"the generator {name!r}: {what} must return words of shape {expected} and dtype "
                f"uint32, but returned shape {np.shape(array)} and dtype {array.dtype}."
            )
        return array

    def seeded(number):
        return words("seed", seed(number))

    def folded(key, number):
        return words("fold_in", fold_in(key, number))

    def split_all(keys, shape):
        return _for_each(lambda key: words("split", split(key, shape), shape), (rank,), keys)

    def bits_of_all(keys, bit_width, shape):
        return _for_each(lambda key: random_bits(key, bit_width, shape), (rank,), keys)

    impl = Generator(
        name=name,
        tag=tag,
        key_shape=tuple(key_shape),
        seed=partial(_for_each, seeded, (0,)),
        split=split_all,
        fold_in=partial(_for_each, folded, (rank, 0)),
        bits=bits_of_all,
    )
    return GeneratorSpec(impl)


def random_seed(seeds: ArrayLike, impl: Generator) -> Array:
    """Create keys from seeds.

    Args:
      seeds: integers, an array or a scalar.
      impl: the generator, such as ``threefry_prng_impl``.

    Returns:
      An array of keys of the shape of ``seeds``.

    Raises:
      TypeError: if the seeds are not integers.

    Example:
      >>> import numpy as np
      >>> from ricci.extend import random
      >>> random.random_seed(np.arange(2), random.threefry_prng_impl)
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


def seed_with_impl(impl: Generator, seed: ArrayLike) -> Array:
    """Create a key from a seed: ``random_seed`` with its arguments in the other order.

    Args:
      impl, seed: as for ``random_seed``.

    Returns:
      A key of the generator.

    Example:
      >>> from ricci.extend import random
      >>> random.seed_with_impl(random.rbg_prng_impl, 3)
      Array((), dtype=key<rbg>) overlaying:
      [0 3 0 3]
    """
    return random_seed(seed, impl)


def threefry_2x32(keypair: Array | tuple[ArrayLike, ArrayLike], count: ArrayLike) -> Array:
    """Encrypt an array of counters with Threefry-2x32.

    The cipher takes counters in pairs: one of the first half of the array, one of the second.

    Args:
      keypair: the key's two words, as an array or a pair of scalars, uint32.
      count: the counters, a uint32 array. If their number is odd, a zero is added.

    Returns:
      A uint32 array of the shape of ``count``.

    Raises:
      TypeError: if an argument is not uint32.
      ValueError: if the key has another number of words.

    Example:
      >>> import numpy as np
      >>> from ricci.extend import random
      >>> random.threefry_2x32(np.uint32([1, 2]), np.arange(4, dtype=np.uint32)).shape
      (4,)

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    k0, k1 = keypair
    operands: list[Array] = [jnp.asarray(x) for x in (k0, k1, count)]
    k0, k1, counters = operands
    if any(x.dtype != np.uint32 for x in operands):
        raise TypeError(
            "threefry_2x32: the key and the counters are uint32, but found "
            f"{', '.join(str(x.dtype) for x in operands)}."
        )
    flat = lax.reshape(counters, (counters.size,))
    if counters.size % 2:
        flat = lax.concatenate([flat, lax.full((1,), 0, np.uint32)], 0)
    half = flat.size // 2
    words = threefry2x32(
        k0, k1, lax.slice(flat, (0,), (half,)), lax.slice(flat, (half,), flat.shape)
    )
    return lax.reshape(lax.slice(lax.concatenate(words, 0), (0,), (counters.size,)), counters.shape)
