"""Checks of key arguments: typed arrays of keys, or their words."""

from typing import TypeGuard

import ricci_ir as ir

from ._key_array import KeyArray
from ._key_type import Generator, KeyType, find_generator
from ._primitives import check_words, wrap


def is_key(x: object) -> TypeGuard[KeyArray]:
    """Whether ``x`` is an array of keys, or a tracer of one, rather than an array of words."""
    return isinstance(getattr(x, "dtype", None), KeyType)


def check_keys(keys: ir.ArrayLike, name: str) -> ir.Shape:
    """Check an array of keys or of their words, and return the shape of the keys.

    Raises:
      TypeError: if ``keys`` is neither.
      ValueError: if words are given and the option ``jax_legacy_prng_key`` forbids them.
    """
    if is_key(keys):
        return keys.shape
    if not all(hasattr(keys, attribute) for attribute in ("shape", "dtype", "ndim")):
        raise TypeError(
            f"{name}: expected a PRNG key, got {keys!r} of type {type(keys).__name__}. Create a "
            "key from a seed with random.key(seed)."
        )
    words: ir.Array = keys  # pyright: ignore[reportAssignmentType]  # it has the attributes
    impl = find_generator(None)
    check_words(words.shape, words.dtype, impl)
    if ir.legacy_prng_key.value != "allow":
        _refuse_words(name)
    return tuple(words.shape[: words.ndim - len(impl.key_shape)])


def _refuse_words(name: str) -> None:
    """Warn or raise, by ``jax_legacy_prng_key``, that words were passed as a key."""
    message = (
        f"{name}: a uint32 array was passed as a random key. Create keys with random.key(seed), or "
        'set jax_legacy_prng_key="allow" if a raw array is intended.'
    )
    if ir.legacy_prng_key.value == "error":
        raise ValueError(message)
    ir.warn_user(message)


def check_key(key: ir.ArrayLike, name: str) -> ir.Array:
    """Check that ``key`` is a single key; return it, as a typed key under tracing.

    Raises:
      TypeError: if it is not a key.
      ValueError: if it is an array of several.
    """
    shape = check_keys(key, name)
    if shape:
        raise ValueError(
            f"{name}: key is an array of keys, of shape {shape}, where one key is needed. Select "
            "one, or use vmap to sample with each."
        )
    checked: ir.Array = key  # pyright: ignore[reportAssignmentType]  # keys have shapes and dtypes
    return typed_keys(checked) if ir.is_recording() else checked


def typed_keys(keys: ir.Array) -> ir.Array:
    """Convert to typed keys; words become keys of the default generator."""
    return keys if is_key(keys) else wrap(keys, find_generator(None))


def generator_of(keys: ir.ArrayLike) -> Generator:
    """The generator of keys; words are those of the default one."""
    return keys.dtype._impl if is_key(keys) else find_generator(None)
