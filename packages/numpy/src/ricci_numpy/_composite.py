"""Functions of several operations that are applied as one step, each traced once for its types.

Outside of any program such a step is one dispatch; inside, one call of a subprogram that all uses
share. ``numpy`` cannot use ``jit`` for this, which belongs to a runtime above it.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ricci_ir import (
    DebugInfo,
    convert_constvars,
    disable_jit_state,
    get_aval,
    staged_call,
    trace_key,
    trace_to_jaxpr,
)


class Composite:
    """A function of arrays, given by position, and of hashable settings, given by keyword.

    It returns an array or a tuple of arrays.
    """

    def __init__(self, fun: Callable[..., Any], name: str):
        update_wrapper(self, fun)
        self.fun = fun
        self.name = name
        self._programs: dict[Any, Any] = {}

    def __call__(self, *args: Any, **settings: Any) -> Any:
        if disable_jit_state.value:
            return self.fun(*args, **settings)
        key = (tuple([get_aval(x) for x in args]), *settings.items(), trace_key())
        program = self._programs.get(key)
        if program is None:
            program = self._programs.setdefault(key, self._trace(key[0], settings))
        jaxpr, consts, single = program
        outs = staged_call.bind(jaxpr, self.name, (*consts, *args) if consts else args)
        return outs[0] if single else tuple(outs)

    def _trace(self, avals: tuple, settings: dict[str, Any]) -> Any:
        single = True

        def flat(*args):
            nonlocal single
            out = self.fun(*args, **settings)
            single = not isinstance(out, tuple | list)
            return [out] if single else out

        jaxpr = trace_to_jaxpr(flat, avals, DebugInfo("jit", self.name))
        return convert_constvars(jaxpr), tuple(jaxpr.consts), single


def composite(name: str) -> Callable[[Callable[..., Any]], Composite]:
    """Decorate a function to be applied as one step called ``name``; see ``Composite``."""
    return lambda fun: Composite(fun, name)
