"""Samplers as calls: each is traced once per type, and computed as one compiled unit.

While a program is being recorded, a sampler is a call on keys. Outside, it is a call on the words
behind them, so that a runtime need not know what keys are.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ricci_ir import (
    DebugInfo,
    debug_key_reuse,
    get_aval,
    is_recording,
    no_origin,
    staged_call,
    trace_key,
    trace_to_jaxpr,
)

from ._key_reuse import use_up
from ._key_type import KeyType, find_generator
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
    programs: dict[Any, Any] = {}

    @wraps(fun)
    def call(key: Any, *operands: Any, **params: Any) -> Any:
        recording = is_recording()
        if recording and inline:
            return fun(key, *operands, **params)
        dtype = get_aval(key).dtype  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(dtype, KeyType):
            impl = dtype._impl
            if not recording:
                if uses_up and debug_key_reuse.value:
                    use_up(key, name.removeprefix("_"))
                key = unwrap(key)
        else:
            impl = find_generator(None)
            if recording:
                key = random_wrap_p.bind(key, impl=impl)
        avals = (get_aval(key), *map(get_aval, operands))
        known = (recording, impl, avals, tuple(params.items()), trace_key())
        program = programs.get(known)
        if program is None:

            def on_key(key, *xs):
                return [fun(key, *xs, **params)]

            def on_words(words, *xs):
                return [fun(random_wrap_p.bind(words, impl=impl), *xs, **params)]

            debug_info = DebugInfo("jit", name)
            rule = on_key if recording else on_words
            program = trace_to_jaxpr(rule, avals, debug_info, no_origin)
            programs[known] = program
        return staged_call.bind(program, name, (key, *operands))[0]

    return call
