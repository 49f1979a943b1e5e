"""Functions of several operations that appear in programs as one named call."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import (
    DebugInfo,
    Jaxpr,
    disable_jit_state,
    get_aval,
    no_origin,
    staged_call,
    trace_key,
    trace_to_jaxpr,
)

_programs: dict[Any, Jaxpr] = {}


def call_named(name: str, fun: Callable[..., Any], args: Sequence[Any], *static: Any) -> Any:
    """``fun(*args, *static)`` as one unit, traced once for each type.

    Args:
      name: what the unit is called in programs.
      fun: a function that outlives the call, without constants, whose result is one array.
      args: arrays.
      static: what else it depends on; hashable.
    """
    if disable_jit_state.value:
        return fun(*args, *static)
    one = lambda *xs: [fun(*xs, *static)]
    return staged_call.bind(_program(name, fun, one, args, static), name, args)[0]


def call_named_all(
    name: str, fun: Callable[..., Any], args: Sequence[Any], *static: Any
) -> list[Any]:
    """Like ``call_named``, for a function that returns a sequence of arrays."""
    if disable_jit_state.value:
        return list(fun(*args, *static))
    several = lambda *xs: list(fun(*xs, *static))
    return staged_call.bind(_program(name, fun, several, args, static), name, args)


def _program(
    name: str, fun: Callable[..., Any], flat: Callable[..., Any], args: Sequence[Any], static: tuple
) -> Jaxpr:
    avals = tuple(map(get_aval, args))
    key = (fun, avals, static, trace_key())
    jaxpr = _programs.get(key)
    if jaxpr is None:
        jaxpr = trace_to_jaxpr(flat, avals, DebugInfo("jit", name), no_origin)
        jaxpr = _programs.setdefault(key, jaxpr)
    return jaxpr
