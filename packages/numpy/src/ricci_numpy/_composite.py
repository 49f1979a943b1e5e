"""Functions of several operations that are applied as one step, each traced once for its types.

Outside of any program such a step is one dispatch; inside, one call of a subprogram that all uses
share. ``numpy`` cannot use ``jit`` for this, which belongs to a runtime above it.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from ricci_ir import (
    DebugInfo,
    backend,
    convert_constvars,
    disable_jit_state,
    get_aval,
    is_recording,
    no_origin,
    staged_call,
    trace_key,
    trace_to_jaxpr,
)


class Composite:
    """A function of arrays, given by position, and of hashable settings, given by keyword.

    It returns an array or a tuple of arrays. ``None`` may stand for an array that is not given.
    """

    def __init__(self, fun: Callable[..., Any], name: str):
        update_wrapper(self, fun)
        self.fun = fun
        self.name = name
        self._programs: dict[Any, Any] = {}

    def __call__(self, *args: Any, **settings: Any) -> Any:
        if disable_jit_state.value:
            return self.fun(*map(_as_array, args), **settings)
        avals = tuple([x if x is None else get_aval(x) for x in args])
        key = (avals, *settings.items(), trace_key())
        if None in avals:
            args = tuple([x for x in args if x is not None])
        program = self._programs.get(key)
        if program is None:
            program = self._programs.setdefault(key, self._trace(avals, settings))
        jaxpr, consts, single = program
        outs = staged_call.bind(jaxpr, self.name, (*consts, *args) if consts else args)
        return outs[0] if single else tuple(outs)

    def _trace(self, avals: tuple, settings: dict[str, Any]) -> Any:
        single = True

        def flat(*given):
            nonlocal single
            rest = iter(given)
            out = self.fun(*[None if a is None else next(rest) for a in avals], **settings)
            single = not isinstance(out, tuple | list)
            return [out] if single else out

        known = [aval for aval in avals if aval is not None]
        jaxpr = trace_to_jaxpr(flat, known, DebugInfo("jit", self.name), no_origin)
        return convert_constvars(jaxpr), tuple(jaxpr.consts), single


def _as_array(x: Any) -> Any:
    """``x`` as the function has it when it is traced, with a type."""
    if x is None or hasattr(type(x), "aval"):
        return x
    aval: Any = get_aval(x)
    return backend().array(np.asarray(x, aval.dtype), aval)


class Inlined(Composite):
    """A composite whose operations become part of the program that it is used in."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        if is_recording():
            return self.fun(*args, **settings)
        return super().__call__(*args, **settings)


def inlined(name: str) -> Callable[[Callable[..., Any]], Inlined]:
    """Decorate a function to be one dispatch outside of programs, and nothing special inside."""
    return lambda fun: Inlined(fun, name)


def composite(name: str) -> Callable[[Callable[..., Any]], Composite]:
    """Decorate a function to be applied as one step called ``name``; see ``Composite``."""
    return lambda fun: Composite(fun, name)
