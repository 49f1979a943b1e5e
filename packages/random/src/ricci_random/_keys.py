"""Making keys, and making keys from keys."""

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import (
    as_array,
    coerce_to_array_dtype,
    config,
    enable_x64,
    get_aval,
    is_extended,
    issubdtype,
    legacy_prng_key,
    warn_user,
)

from ._key_type import Generator, KeyType, find_generator, key_type, name_or_spec
from ._primitives import (
    check_words,
    is_recording,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    unwrap,
    wrap,
)
from ._staging import staged


def is_key(x: Any) -> bool:
    """Whether ``x`` is an array of keys, rather than of the integers behind them."""
    return isinstance(getattr(x, "dtype", None), KeyType)


def check_keys(keys: Any, name: str) -> tuple[int, ...]:
    """The shape of an array of keys, given as such or as the integers behind them.

    Raises:
      TypeError: if ``keys`` is neither.
      ValueError: if integers are given and the option ``jax_legacy_prng_key`` forbids them.
    """
    if is_key(keys):
        return keys.shape
    if not all(hasattr(keys, attribute) for attribute in ("shape", "dtype", "ndim")):
        raise TypeError(
            f"{name}: expected a PRNG key, got {keys!r} of type {type(keys).__name__}. A key is "
            "what random.key(seed) returns; a seed must be made a key first."
        )
    impl = find_generator(None)
    check_words(keys.shape, keys.dtype, impl)
    if legacy_prng_key.value != "allow":
        _refuse_words(name)
    return tuple(keys.shape[: keys.ndim - len(impl.key_shape)])


def _refuse_words(name: str) -> None:
    """Warn of a raw array used as a key, or raise an error, as ``jax_legacy_prng_key`` says."""
    message = (
        f"{name}: a uint32 array was passed as a random key. Make keys with random.key(seed), or "
        'set jax_legacy_prng_key="allow" if a raw array is meant.'
    )
    if legacy_prng_key.value == "error":
        raise ValueError(message)
    warn_user(message)


def check_key(key: Any, name: str) -> Any:
    """``key`` if it is one key; in a program that is being recorded always as such.

    Raises:
      TypeError: if it is no key.
      ValueError: if it is an array of several.
    """
    shape = check_keys(key, name)
    if shape:
        raise ValueError(
            f"{name}: key is an array of keys, of shape {shape}, where one key is needed. Pick "
            "one, or use vmap to sample with each."
        )
    return _as_keys(key) if is_recording() else key


def generator_of(keys: Any) -> Generator:
    """The generator that keys are for, given as such or as the integers behind them."""
    return keys.dtype._impl if is_key(keys) else find_generator(None)


@staged
def _split(key, *, shape):
    return random_unwrap_p.bind(random_split_p.bind(key, shape=shape))


@partial(staged, uses_up=False)
def _fold_in(key, data):
    return random_unwrap_p.bind(random_fold_in_p.bind(key, data))


def seed_integers(seed: Any, name: str) -> Any:
    """A seed given by a user as an integer scalar of a dtype that arrays have."""
    if is_key(seed):
        raise TypeError(
            f"{name}: the seed is already a key. random.split and random.fold_in make further keys "
            "of it."
        )
    if isinstance(seed, int) or (isinstance(seed, np.generic) and seed.dtype.kind in "iub"):
        # All integers of 64 bits are accepted; without 64-bit types the lower half counts.
        unsigned = getattr(seed, "dtype", None) == np.uint64
        wide = np.array(seed).view(np.int64) if unsigned else np.array(int(seed), np.int64)
        seed = wide if enable_x64.value else (wide & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
        if config.jax_random_seed_offset:
            seed = (seed + config.jax_random_seed_offset).astype(seed.dtype)
        return np.asarray(seed)[()]
    if seed is None:
        raise ValueError(f"{name} needs a seed: None is not an integer.")
    dtype = coerce_to_array_dtype(seed)
    if np.shape(seed):
        raise TypeError(
            f"{name}: the seed is an array of shape {np.shape(seed)}; one integer makes one key. "
            "For several, use vmap, or split a key."
        )
    if dtype == np.bool_:
        return lax.convert_element_type(seed, np.int32)
    if not issubdtype(dtype, np.integer):
        raise TypeError(f"{name}: the seed {seed!r} has dtype {dtype}; seeds are integers.")
    if config.jax_random_seed_offset:
        seed = lax.add(seed, np.array(config.jax_random_seed_offset, dtype)[()])
    return seed


def words_of_seed(seed: Any, impl: Generator) -> Any:
    """The words of keys from seeds, outside of any recorded program."""
    if isinstance(seed, np.generic) and impl.name == "threefry2x32":
        number = int(seed) & (2**64 - 1 if seed.dtype.itemsize == 8 else 2**32 - 1)
        return as_array(np.array([number >> 32, number & 0xFFFFFFFF], np.uint32))
    return impl.seed(as_array(seed))


def _new_key(seed: Any, impl_spec: Any, name: str, typed: bool) -> Any:
    impl = find_generator(impl_spec)
    seed = seed_integers(seed, name)
    if is_recording():
        keys = random_seed_p.bind(seed, impl=impl)
        return keys if typed else random_unwrap_p.bind(keys)
    words = words_of_seed(seed, impl)
    return wrap(words, impl) if typed else words


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A random key from a seed.

    Args:
      seed: an integer scalar. Of Python integers, 64 bits may be given; without 64-bit dtypes
        the lower 32 bits count.
      impl: the name of the generator, by default the option ``jax_default_prng_impl``.
      dtype: the keys' dtype, another way to name the generator.

    Returns:
      A scalar array whose dtype is that of keys. Samplers take it, ``split`` and ``fold_in`` make
      further keys of it.

    Raises:
      TypeError: if the seed is no integer scalar.
      ValueError: if there is no generator of that name, or both ``impl`` and ``dtype`` are given.
      OverflowError: if a Python integer needs more than 64 bits.

    Example:
      >>> key(0)
      Array((), dtype=key<fry>) overlaying:
      [0 0]

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    if dtype is not None:
        if impl is not None:
            raise ValueError("key: give either impl or dtype, not both.")
        impl = dtype
    return _new_key(seed, impl, "key", True)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A random key from a seed, as the plain array of the integers behind it.

    Args:
      seed, impl: as for ``key``.

    Returns:
      A uint32 array, of shape (2,) for the default generator. Every function that takes keys
      takes it as well. With the option ``jax_enable_custom_prng``, what ``key`` returns.

    Raises:
      TypeError, ValueError, OverflowError: as ``key`` does.

    Example:
      >>> PRNGKey(1337)
      Array([   0, 1337], dtype=uint32)
    """
    return _new_key(seed, impl, "PRNGKey", config.jax_enable_custom_prng)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Make new keys of a key, which should then not be used again itself.

    Args:
      key: one key.
      num: how many, or the shape of the array of new keys.

    Returns:
      An array of keys of shape ``(num,)`` or ``num``; in the form that ``key`` had.

    Raises:
      TypeError: if ``key`` is no key.
      ValueError: if it is an array of keys.

    Example:
      >>> split(PRNGKey(0))
      Array([[1797259609, 2579123966],
             [ 928981903, 3453687069]], dtype=uint32)
    """
    typed = is_key(key)
    key = check_key(key, "split")
    shape = (index(num),) if not isinstance(num, Sequence) else tuple(map(index, num))
    if any(n < 0 for n in shape):
        raise ValueError(f"split: the number of keys must not be negative, got {num}.")
    if not is_recording():
        words = _split(key, shape=shape)
        return wrap(words, key.dtype._impl) if typed else words
    keys = random_split_p.bind(key, shape=shape)
    return keys if typed else random_unwrap_p.bind(keys)


def fold_in(key: Any, data: Any) -> Any:
    """Make a new key of a key and an integer, such as a step's number.

    Args:
      key: one key.
      data: an integer scalar, taken as uint32.

    Returns:
      A key in the form that ``key`` had.

    Raises:
      TypeError: if ``key`` is no key, or ``data`` no scalar.
      ValueError: if ``key`` is an array of keys.
      OverflowError: if ``data`` is a Python integer that uint32 does not hold.

    Example:
      >>> fold_in(PRNGKey(0), 1)
      Array([ 928981903, 3453687069], dtype=uint32)
    """
    typed = is_key(key)
    key = check_key(key, "fold_in")
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
        data = np.uint32(data)
    if not is_recording():
        words = _fold_in(key, data)
        return wrap(words, key.dtype._impl) if typed else words
    keys = random_fold_in_p.bind(key, data)
    return keys if typed else random_unwrap_p.bind(keys)


def _as_keys(key: Any) -> Any:
    return key if is_key(key) else wrap(key, find_generator(None))


def clone(key: Any) -> Any:
    """The same key again, for a program that means to use it twice.

    Example:
      >>> clone(PRNGKey(3))
      Array([0, 3], dtype=uint32)
    """
    if is_recording():
        return random_clone_p.bind(key)
    return wrap(unwrap(key), key.dtype._impl) if is_key(key) else as_array(key)


def key_data(keys: Any) -> Any:
    """The integers behind keys: a uint32 array.

    Raises:
      TypeError: if ``keys`` are no keys.

    Example:
      >>> key_data(key(7))
      Array([0, 7], dtype=uint32)
    """
    check_keys(keys, "key_data")
    if not is_key(keys) and not is_recording():
        return as_array(keys)
    return unwrap(_as_keys(keys))


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Keys made of the integers behind them.

    Args:
      key_bits_array: a uint32 array whose last dimensions are those of a key.
      impl, dtype: which generator they are for, as for ``key``.

    Raises:
      TypeError: if the array's dtype or shape is another.

    Example:
      >>> wrap_key_data(PRNGKey(7))
      Array((), dtype=key<fry>) overlaying:
      [0 7]
    """
    generator = find_generator(dtype if dtype is not None else impl)
    words = as_array(key_bits_array)
    check_words(np.shape(words), get_aval(words).dtype, generator)  # pyright: ignore
    return wrap(words, generator)


def key_impl(keys: Any) -> Any:
    """The name of the generator that keys are for, or the spec of one that has no known name.

    Example:
      >>> key_impl(key(0))
      'threefry2x32'
    """
    check_keys(keys, "key_impl")
    return name_or_spec(generator_of(keys))


def key_dtype(impl_spec: Any = None) -> KeyType:
    """The dtype of the keys of a generator, by default of the default one.

    Example:
      >>> key_dtype()
      key<fry>
    """
    if is_extended(impl_spec):
        return impl_spec
    return key_type(find_generator(impl_spec))
