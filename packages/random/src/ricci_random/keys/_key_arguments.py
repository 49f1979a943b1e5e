"""Key arguments of samplers: their checks, and samplers as staged calls.

A key is a typed array of keys, or the array of its words. A sampler is traced once for its types
and compiled as one unit. Under tracing, it is a call whose operand is the key. Outside, it is a
call on the key's words, so that backends need not support keys.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeGuard

import ricci_ir as ir

from ._key_array import KeyArray
from ._key_reuse import consume
from ._key_type import Generator, KeyType, find_generator
from ._primitives import check_words, random_wrap_p, type_of, unwrap, wrap


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


def staged[**P](
    fun: Callable[P, ir.Array],
    name: str = "",
    inline: bool = False,
    consumes: bool = True,
    lower: Callable[..., object] | None = None,
) -> Callable[P, ir.Array]:
    """Make a function of a key a single staged call.

    Args:
      fun: ``fun(key, *operands, **params)`` with arrays or scalars as operands, and hashable
        parameters; returns an array.
      name: the name of the call, by default that of ``fun``.
      inline: whether the operations are inlined into a jaxpr that is being traced; otherwise
        they are a call there.
      consumes: whether ``jax_debug_key_reuse`` counts the key as used after the call.
      lower: the lowering of a call, see ``ir.Composite``.
    """
    name = name or fun.__name__
    on_keys = ir.Composite(fun, name, lower=lower)

    by_generator: ir.Cache[Generator, ir.Composite] = ir.Cache("samplers", 16)

    def on_words(impl: Generator) -> ir.Composite:
        @wraps(fun)
        def step(words: object, *xs: object, **params: object) -> Any:
            key = random_wrap_p.bind(words, impl=impl)
            # A call on the key is lowered by `lower`.
            return (fun if lower is None else on_keys)(key, *xs, **params)  # pyright: ignore

        return ir.Composite(step, name)

    def call(key: Any, *operands: Any, **params: Any) -> Any:
        recording = ir.is_recording()
        if recording and inline:
            return fun(key, *operands, **params)  # pyright: ignore
        dtype = type_of(key).dtype
        typed = isinstance(dtype, KeyType)
        impl = dtype._impl if typed else find_generator(None)
        if recording:
            key = key if typed else random_wrap_p.bind(key, impl=impl)
            return on_keys(key, *operands, **params)
        if typed:
            if consumes and ir.debug_key_reuse.value:
                consume(key, name.removeprefix("_"))
            key = unwrap(key)
        sampler = by_generator.entries.get(impl)
        if sampler is None:
            sampler = by_generator.make(impl, on_words, impl)
        return sampler(key, *operands, **params)

    return wraps(fun)(call)
