"""Samplers as staged calls: traced once for their types, compiled as one unit.

Under tracing, such a function is a call whose operand is the key. Outside, it is a
call on the key's words, so that backends need not support keys.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ricci_ir import Array, Cache, Composite, debug_key_reuse, is_recording

from ._key_reuse import consume
from ._key_type import Generator, KeyType, find_generator
from ._primitives import random_wrap_p, type_of, unwrap


def staged[**P](
    fun: Callable[P, Array], name: str = "", inline: bool = False, consumes: bool = True
) -> Callable[P, Array]:
    """Make a function of a key a single staged call.

    Args:
      fun: ``fun(key, *operands, **params)`` with arrays or scalars as operands, and hashable
        parameters; returns an array.
      name: the name of the call, by default that of ``fun``.
      inline: whether the operations are inlined into a jaxpr that is being traced; otherwise
        they are a call there.
      consumes: whether ``jax_debug_key_reuse`` counts the key as used after the call.
    """
    name = name or fun.__name__
    on_keys = Composite(fun, name)

    by_generator: Cache[Generator, Composite] = Cache("samplers", 16)

    def on_words(impl: Generator) -> Composite:
        @wraps(fun)
        def step(words: object, *xs: object, **params: object) -> Any:
            return fun(random_wrap_p.bind(words, impl=impl), *xs, **params)  # pyright: ignore

        return Composite(step, name)

    def call(key: Any, *operands: Any, **params: Any) -> Any:
        recording = is_recording()
        if recording and inline:
            return fun(key, *operands, **params)  # pyright: ignore
        dtype = type_of(key).dtype
        typed = isinstance(dtype, KeyType)
        impl = dtype._impl if typed else find_generator(None)
        if recording:
            key = key if typed else random_wrap_p.bind(key, impl=impl)
            return on_keys(key, *operands, **params)
        if typed:
            if consumes and debug_key_reuse.value:
                consume(key, name.removeprefix("_"))
            key = unwrap(key)
        sampler = by_generator.entries.get(impl)
        if sampler is None:
            sampler = by_generator.make(impl, on_words, impl)
        return sampler(key, *operands, **params)

    return wraps(fun)(call)
