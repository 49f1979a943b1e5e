"""Composites, functions that are traced once per type, and jaxprs of one equation.

Eagerly a composite is one dispatch; in a trace it is one call of a jaxpr that all its calls share.
The packages below the runtimes use this, since they cannot use ``jit``.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from ricci_ir._cache import Cache
from ricci_ir._config import disable_jit_state
from ricci_ir._records import TupleRecord
from ricci_ir._settings import trace_key
from ricci_ir._source import no_origin
from ricci_ir.traces import (
    ArrayLike,
    Backend,
    Primitive,
    active_cache,
    backend,
    context,
    eval_trace,
)
from ricci_ir.traces._backend import Applied
from ricci_ir.types import AbstractRef, get_aval

from ._jaxpr import DebugInfo, Jaxpr, convert_constvars
from ._staged_call import staged_call
from ._staging import is_recording, trace_to_jaxpr

__all__ = ["Composite", "Inlined", "composite", "equation_program", "inlined", "single_equation"]


class Step(TupleRecord):
    """A composite traced for some types.

    Attributes:
      jaxpr: its jaxpr, closed over the constants.
      call: the same jaxpr with the constants as leading arguments.
      single: whether the function returns one array instead of a tuple.
    """

    jaxpr: Jaxpr
    call: Jaxpr
    single: bool

    def packed(self, outs: Any) -> Any:
        """The results as the function returns them: an array or a tuple."""
        return outs[0] if self.single else tuple(outs)


# The keys hold the composite, the types, the settings and the ``trace_key``.
_steps: "Cache[Any, Step]" = Cache("composite functions", 4096)


class Composite[R](Applied):
    """A function of arrays, given by position, and of hashable settings, given by keyword.

    It returns an array or a tuple of arrays. ``None`` may replace an array that is not given.

    Args:
      fun: the function.
      name: the name of its jaxprs.
      donates: whether the first array is donated when it is called eagerly, so that its memory may
        become that of the first result, which has its type.
      lower: ``lower(ctx, *operands, **settings)`` returns the lowered results of a call, or
        ``None`` where the call is lowered as its operations.
    """

    def __init__(
        self,
        fun: Callable[..., R],
        name: str,
        *,
        donates: bool = False,
        lower: Callable[..., object] | None = None,
    ):
        super().__init__()
        update_wrapper(self, fun)
        self.fun: Callable[..., R] = fun
        self.name = name
        self.donates = donates
        self.lower = lower

    def __call__(self, *args: object, **settings: object) -> R:
        if context.trace is not eval_trace:
            return self.apply(args, settings)
        return self.dispatch(tuple(settings.items()) if settings else (), *args)

    def _make_application(self, backend: Backend) -> Callable[..., Any]:
        return backend.dispatcher(self) or self._apply_now

    def apply(self, args: tuple[Any, ...], settings: dict[str, Any]) -> R:
        """Apply it in the current trace."""
        if disable_jit_state.value:
            return self.fun(*map(_as_array, args), **settings)
        step = self.step(args, settings)
        arrays = [x for x in args if x is not None]
        outs = staged_call.bind(step.call, self.name, (*step.jaxpr.consts, *arrays))
        return step.packed(outs)

    def _apply_now(self, settings: tuple[tuple[str, Any], ...], *args: object) -> R:
        return self.apply(args, dict(settings))

    def step(self, args: tuple[Any, ...], settings: dict[str, Any]) -> Step:
        """Return the cached jaxpr for arguments of these types."""
        avals = tuple([x if x is None else get_aval(x) for x in args])
        key = (self, avals, *settings.items(), trace_key())
        steps = active_cache(_steps)
        cached = steps.entries.get(key)
        return steps.make(key, self._trace, avals, settings) if cached is None else cached

    def _trace(self, avals: tuple[Any, ...], settings: dict[str, Any]) -> Step:
        single = True

        def flat(*tracers):
            nonlocal single
            remaining = iter(tracers)
            args = [None if a is None else next(remaining) for a in avals]
            out: Any = self.fun(*args, **settings)
            single = not isinstance(out, tuple | list)
            return [out] if single else out

        array_avals = [aval for aval in avals if aval is not None]
        for aval in array_avals:
            if type(aval) is AbstractRef:
                raise TypeError(
                    f"{self.name} takes arrays, but an argument is a reference of type {aval}. "
                    "Read it first: ref[...]."
                )
        info = DebugInfo("jit", self.name)
        jaxpr = trace_to_jaxpr(flat, array_avals, info, no_origin)
        call = convert_constvars(jaxpr)
        if self.lower is not None and not jaxpr.consts:
            staged_call.lowerings[call] = (
                partial(self.lower, **settings) if settings else self.lower
            )
            # An eager call is compiled as a call of the jaxpr, which has the lowering.
            bind = lambda *arrays: staged_call.bind(call, self.name, arrays)
            jaxpr = trace_to_jaxpr(bind, array_avals, info, no_origin)
        return Step(jaxpr, call, single)


def _as_array(x: ArrayLike) -> Any:
    """Convert ``x`` to an array, so that the function gets a typed value as it does in tracing."""
    if x is None or hasattr(type(x), "aval"):
        return x
    aval: Any = get_aval(x)
    return backend().array(np.asarray(x, aval.dtype), aval)


class Inlined[R](Composite[R]):
    """A composite whose operations are recorded directly in an enclosing trace."""

    def apply(self, args: tuple[Any, ...], settings: dict[str, Any]) -> R:
        """Apply it in the current trace."""
        return self.fun(*args, **settings) if is_recording() else super().apply(args, settings)


def inlined[R](name: str) -> Callable[[Callable[..., R]], Inlined[R]]:
    """Make a decorator for ``Inlined``: one dispatch when called eagerly, inlined in traces.

    Args:
      name: the name of the dispatched jaxpr.
    """
    return lambda fun: Inlined(fun, name)


def composite[R](
    name: str, lower: Callable[..., object] | None = None
) -> Callable[[Callable[..., R]], Composite[R]]:
    """Make a decorator for ``Composite``: the function becomes one call, named ``name``."""
    return lambda fun: Composite(fun, name, lower=lower)


_single_equations: Cache[Any, Jaxpr] = Cache("programs of one equation", 4096)


def equation_program(primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> Jaxpr:
    """Trace a primitive to a jaxpr of one equation."""

    def fun(*args):
        result = primitive.bind(*args, **params)
        return result if primitive.multiple_results else [result]

    return trace_to_jaxpr(fun, avals, DebugInfo("eager", primitive.name), no_origin)


def single_equation(
    primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]
) -> Jaxpr | None:
    """Return the cached jaxpr of one equation; ``None`` if a parameter is not hashable."""
    key = (primitive, avals, tuple(params.items()), trace_key())
    try:
        jaxpr = _single_equations.entries.get(key)
    except TypeError:
        return None
    if jaxpr is None:
        jaxpr = _single_equations.make(key, equation_program, primitive, avals, params)
    return jaxpr
