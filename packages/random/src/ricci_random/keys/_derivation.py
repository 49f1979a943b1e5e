"""Creation of keys from seeds, derivation of keys from keys, and the words of keys."""

from collections.abc import Sequence
from functools import partial
from typing import SupportsIndex

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

from . import _primitives as primitives
from ._key_arguments import check_key, check_keys, generator_of, is_key, staged, typed_keys
from ._key_type import (
    Generator,
    GeneratorLike,
    GeneratorSpec,
    KeyType,
    find_generator,
    key_type,
    name_or_spec,
)

__all__ = ["PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split"]
__all__ += ["wrap_key_data"]


@staged
def _split(key: ir.Array, *, shape: tuple[int, ...]) -> ir.Array:
    return primitives.random_unwrap_p.bind(primitives.random_split_p.bind(key, shape=shape))


@partial(staged, consumes=False)
def _fold_in(key: ir.Array, data: ir.ArrayLike) -> ir.Array:
    return primitives.random_unwrap_p.bind(primitives.random_fold_in_p.bind(key, data))


def seed_integers(seed: ir.ArrayLike | None, name: str) -> ir.ArrayLike:
    """Convert a seed to an integer scalar of an array dtype.

    Raises:
      TypeError: if it is not an integer scalar, or is a key.
      ValueError: if it is ``None``.
      OverflowError: if a Python integer needs more than 64 bits.
    """
    if is_key(seed):
        raise TypeError(
            f"{name}: the seed is already a key. random.split and random.fold_in derive keys "
            "from it."
        )
    if isinstance(seed, int) or (isinstance(seed, np.generic) and seed.dtype.kind in "iub"):
        # Every integer of 64 bits is accepted. Without 64-bit dtypes the lower half is the seed.
        unsigned = getattr(seed, "dtype", None) == np.uint64
        wide = np.array(seed).view(np.int64) if unsigned else np.array(int(seed), np.int64)
        seed = wide if ir.enable_x64.value else (wide & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
        if ir.random_seed_offset.value:
            seed = (seed + ir.random_seed_offset.value).astype(seed.dtype)
        return np.asarray(seed)[()]
    if seed is None:
        raise ValueError(f"{name} needs a seed: None is not an integer.")
    dtype = ir.coerce_to_array_dtype(seed)
    if np.shape(seed):
        raise TypeError(
            f"{name}: the seed is an array of shape {np.shape(seed)}, not one integer. "
            "For several, use vmap, or split a key."
        )
    if dtype == np.bool_:
        return lax.convert_element_type(seed, np.int32)
    if not ir.issubdtype(dtype, np.integer):
        raise TypeError(f"{name}: the seed {seed!r} has dtype {dtype}; seeds are integers.")
    if ir.random_seed_offset.value:
        return lax.add(seed, ir.exact_scalar(ir.random_seed_offset.value, dtype))
    return seed


def words_of_seed(seed: ir.ArrayLike, impl: Generator) -> ir.Array:
    """The words of keys from seeds that are known, on the device also under vmap and grad."""
    with ir.eval_context():
        # The most common call, with a Python integer, is computed without compilation.
        if isinstance(seed, np.generic) and impl.name == "threefry2x32":
            number = int(seed) & (2**64 - 1 if seed.dtype.itemsize == 8 else 2**32 - 1)
            return ir.as_array(np.array([number >> 32, number & 0xFFFFFFFF], np.uint32))
        return impl.seed(ir.as_array(seed))


def _new_key(
    seed: ir.ArrayLike, impl_spec: GeneratorLike | None, name: str, typed: bool
) -> ir.Array:
    impl = find_generator(impl_spec)
    seed = seed_integers(seed, name)
    if ir.is_recording() or hasattr(type(seed), "aval"):
        keys = primitives.random_seed_p.bind(seed, impl=impl)
        return keys if typed else primitives.random_unwrap_p.bind(keys)
    words = words_of_seed(seed, impl)
    return primitives.wrap(words, impl) if typed else words


def key(
    seed: ir.ArrayLike, *, impl: GeneratorLike | None = None, dtype: KeyType | None = None
) -> ir.Array:
    """Create a random key from a seed.

    Args:
      seed: an integer scalar. A Python integer may have 64 bits, of which the lower 32 are used if
        64-bit dtypes are off.
      impl: the name of the generator, by default the option ``jax_default_prng_impl``.
      dtype: the dtype of keys, another way to name the generator.

    Returns:
      A scalar array of a key dtype. Samplers take it; ``split`` and ``fold_in`` derive new keys.

    Raises:
      TypeError: if the seed is not an integer scalar.
      ValueError: if the generator's name is unknown, or both ``impl`` and ``dtype`` are given.
      OverflowError: if a Python integer needs more than 64 bits.

    A key is a value: a sampler called twice with one key returns the same numbers twice. Each use
    needs a different key, by ``split`` or ``fold_in``.

    Example:
      >>> from ricci import random
      >>> root = random.key(0)
      >>> root
      Array((), dtype=key<fry>) overlaying:
      [0 0]
      >>> first, second = random.split(root)
      >>> bool(random.uniform(first) == random.uniform(second))
      False
      >>> bool(random.uniform(first) == random.uniform(first))
      True

    See also:
      ``split``, ``fold_in``: new keys from a key; ``PRNGKey``: a key as plain words.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    if dtype is not None:
        if impl is not None:
            raise ValueError("key: give either impl or dtype, not both.")
        impl = dtype
    return _new_key(seed, impl, "key", True)


def PRNGKey(seed: ir.ArrayLike, *, impl: GeneratorLike | None = None) -> ir.Array:
    """Create a random key from a seed, as a plain array of the key's words.

    Args:
      seed, impl: as for ``key``.

    Returns:
      A uint32 array, of shape (2,) for the default generator; every function that takes keys
      takes it as well. With the option ``jax_enable_custom_prng`` it is what ``key`` returns.

    Raises:
      TypeError, ValueError, OverflowError: as ``key`` does.

    Example:
      >>> from ricci import random
      >>> random.PRNGKey(1337)
      Array([   0, 1337], dtype=uint32)

    See also:
      ``key``, which new code uses: arithmetic on its result is an error.
    """
    return _new_key(seed, impl, "PRNGKey", ir.enable_custom_prng.value)


def split(key: ir.ArrayLike, num: SupportsIndex | Sequence[SupportsIndex] = 2) -> ir.Array:
    """Derive new keys from a key, which should not be used again itself.

    Args:
      key: one key.
      num: the number of new keys, or the shape of their array.

    Returns:
      An array of keys of shape ``(num,)`` or ``num``; typed keys or words, as ``key`` was.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if it is an array of keys.

    ``key, subkey = split(key)`` in a loop, and each ``subkey`` is used once. With the default
    generator the new keys are numbered: ``split(key, 3)`` begins with ``split(key, 2)``, and key
    ``i`` of them is ``fold_in(key, i)``. So don't do both with one key.

    Example:
      >>> from ricci import random
      >>> key, subkey = random.split(random.key(0))
      >>> key
      Array((), dtype=key<fry>) overlaying:
      [1797259609 2579123966]
      >>> random.split(subkey, (2, 3)).shape
      (2, 3)
      >>> import ricci
      >>> rows = ricci.vmap(lambda k: random.normal(k, (4,)))(random.split(key, 3))
      >>> rows.shape
      (3, 4)

    See also:
      ``fold_in``: one key from a key and a number.
    """
    typed = is_key(key)
    checked = check_key(key, "split")
    shape = ir.to_sizes(num) if isinstance(num, Sequence) else (ir.as_size(num),)
    if any(n < 0 for n in shape):
        raise ValueError(f"split: the number of keys must not be negative, got {num}.")
    if not ir.is_recording():
        words = _split(checked, shape=shape)
        return primitives.wrap(words, generator_of(checked)) if typed else words
    keys = primitives.random_split_p.bind(checked, shape=shape)
    return keys if typed else primitives.random_unwrap_p.bind(keys)


def fold_in(key: ir.ArrayLike, data: ir.ArrayLike) -> ir.Array:
    """Derive a new key from a key and an integer, such as the number of a training step.

    Args:
      key: one key.
      data: an integer scalar, taken as uint32.

    Returns:
      A typed key or its words, as ``key`` was.

    Raises:
      TypeError: if ``key`` is not a key, or ``data`` is not a scalar.
      ValueError: if ``key`` is an array of keys.
      OverflowError: if ``data`` is a Python integer that uint32 does not hold.

    The key of step ``i`` follows from one root key and ``i``, where with ``split`` a loop carries a
    key. So a run that starts again at that step draws the same numbers. Neither split the root key
    as well nor pass it to a sampler.

    Example:
      >>> import ricci
      >>> from ricci import random
      >>> root = random.key(0)
      >>> random.fold_in(root, 1)
      Array((), dtype=key<fry>) overlaying:
      [ 928981903 3453687069]
      >>> ricci.vmap(lambda step: random.fold_in(root, step))(ricci.numpy.arange(3)).shape
      (3,)

    See also:
      ``split``: several keys at once.
    """
    typed = is_key(key)
    checked = check_key(key, "fold_in")
    if np.shape(data):
        raise TypeError(
            f"fold_in: data is an array of shape {np.shape(data)}, where one integer is folded "
            "into one key. For several, use vmap."
        )
    uint32 = np.dtype("uint32")
    if hasattr(type(data), "aval"):
        data = lax.convert_element_type(data, uint32)
    elif isinstance(data, np.generic | np.ndarray):
        data = np.asarray(data).astype(uint32)[()]
    elif isinstance(data, float):
        data = np.uint32(int(data))
    else:
        data = np.uint32(data)  # pyright: ignore[reportArgumentType]  # NumPy raises for complex numbers
    if not ir.is_recording():
        words = _fold_in(checked, data)
        return primitives.wrap(words, generator_of(checked)) if typed else words
    keys = primitives.random_fold_in_p.bind(checked, data)
    return keys if typed else primitives.random_unwrap_p.bind(keys)


def clone(key: ir.Array) -> ir.Array:
    """Clone a key, to use it twice intentionally.

    With ``jax_debug_key_reuse``, the clone counts as unused.

    Args:
      key: a key.

    Returns:
      A key of the same words, typed or plain as ``key`` is.

    Example:
      >>> from ricci import random
      >>> random.clone(random.key(3))
      Array((), dtype=key<fry>) overlaying:
      [0 3]
    """
    if ir.is_recording():
        return primitives.random_clone_p.bind(key)
    return (
        primitives.wrap(primitives.unwrap(key), key.dtype._impl)
        if is_key(key)
        else ir.as_array(key)
    )


def key_data(keys: ir.ArrayLike) -> ir.Array:
    """Return the words of keys.

    Args:
      keys: an array of keys.

    Returns:
      A uint32 array, whose last dimensions are those of one key.

    Raises:
      TypeError: if ``keys`` are not keys.

    Example:
      >>> from ricci import random
      >>> random.key_data(random.key(7))
      Array([0, 7], dtype=uint32)

    See also:
      ``wrap_key_data``, the inverse.
    """
    check_keys(keys, "key_data")
    if not is_key(keys) and not ir.is_recording():
        return ir.as_array(keys)
    words_or_keys: ir.Array = keys  # pyright: ignore[reportAssignmentType]  # by check_keys
    return primitives.unwrap(typed_keys(words_or_keys))


def wrap_key_data(
    key_bits_array: ir.ArrayLike, *, impl: GeneratorLike | None = None, dtype: KeyType | None = None
) -> ir.Array:
    """Create keys from their words, as ``key_data`` returns them.

    Args:
      key_bits_array: a uint32 array whose last dimensions are those of a key.
      impl, dtype: the generator of the keys, as for ``key``.

    Returns:
      An array of keys, of the shape of ``key_bits_array`` without its last dimensions.

    Raises:
      ValueError: if both ``impl`` and ``dtype`` are given.
      TypeError: if the array has another dtype or shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import random
      >>> random.wrap_key_data(jnp.array([0, 7], "uint32"))
      Array((), dtype=key<fry>) overlaying:
      [0 7]

    See also:
      ``key_data``, the inverse.
    """
    if impl is not None and dtype is not None:
        raise ValueError("wrap_key_data takes impl or dtype, not both: each names the generator.")
    generator = find_generator(dtype if dtype is not None else impl)
    words = ir.as_array(key_bits_array)
    primitives.check_words(np.shape(words), primitives.type_of(words).dtype, generator)
    return primitives.wrap(words, generator)


def key_impl(keys: ir.ArrayLike) -> str | GeneratorSpec:
    """The name of the generator of keys, or a spec for a user-defined one.

    Args:
      keys: an array of keys.

    Returns:
      A string, or a ``GeneratorSpec`` for a user-defined generator: a valid ``impl`` of ``key``.

    Raises:
      TypeError: if ``keys`` are not keys.

    Example:
      >>> from ricci import random
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    check_keys(keys, "key_impl")
    return name_or_spec(generator_of(keys))


def key_dtype(impl_spec: GeneratorLike | None = None) -> KeyType:
    """The dtype of a generator's keys.

    Args:
      impl_spec: the generator, as ``impl`` of ``key``.

    Returns:
      The dtype of such keys, as ``key(0, impl=impl_spec).dtype`` is.

    Example:
      >>> from ricci import random
      >>> random.key_dtype()
      key<fry>
    """
    if ir.is_extended(impl_spec):
        return impl_spec  # pyright: ignore[reportReturnType]  # not checked to be a key dtype
    return key_type(find_generator(impl_spec))
