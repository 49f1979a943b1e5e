"""Samplers as calls: each is traced once per type, and computed as one compiled unit.

While a program is being recorded, a sampler is a call on keys. Outside, it is a call on the words
behind them, so that a runtime need not know what keys are.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ricci_ir import Cache, Composite, debug_key_reuse, get_aval, is_recording

from ._key_reuse import use_up
from ._key_type import Generator, KeyType, find_generator
from ._primitives import random_wrap_p, unwrap


def staged(
    fun: Callable[..., Any], name: str = "", inline: bool = False, uses_up: bool = True
) -> Callable[..., Any]:
    """Make a function of a key a single call.

    Args:
      fun: ``fun(key, *operands, **params)`` with arrays or scalars as operands, and parameters
        that can be hashed; returns an array.
      name: what the call is named, by default as ``fun`` is.
      inline: whether it is part of a program that is being recorded, rather than a call there.
      uses_up: whether the key should not be used again.
    """
    name = name or fun.__name__
    on_keys = Composite(fun, name)

    by_generator: Cache[Generator, Composite] = Cache("samplers", 16)

    def on_words(impl: Generator) -> Composite:
        @wraps(fun)
        def step(words: Any, *xs: Any, **params: Any) -> Any:
            return fun(random_wrap_p.bind(words, impl=impl), *xs, **params)

        return Composite(step, name)

    @wraps(fun)
    def call(key: Any, *operands: Any, **params: Any) -> Any:
        recording = is_recording()
        if recording and inline:
            return fun(key, *operands, **params)
        dtype = get_aval(key).dtype  # pyright: ignore[reportAttributeAccessIssue]
        typed = isinstance(dtype, KeyType)
        impl = dtype._impl if typed else find_generator(None)
        if recording:
            key = key if typed else random_wrap_p.bind(key, impl=impl)
            return on_keys(key, *operands, **params)
        if typed:
            if uses_up and debug_key_reuse.value:
                use_up(key, name.removeprefix("_"))
            key = unwrap(key)
        sampler = by_generator.entries.get(impl)
        if sampler is None:
            sampler = by_generator.make(impl, on_words, impl)
        return sampler(key, *operands, **params)

    return call
