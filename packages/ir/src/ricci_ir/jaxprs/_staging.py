"""Tracing a function to a jaxpr: ``JaxprTrace`` records each operation as an equation."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir._config import check_tracer_leaks, enable_checks
from ricci_ir._hook import Hook
from ricci_ir._settings import TraceKey, settings_keys, trace_key
from ricci_ir._source import caller_source
from ricci_ir.traces._hi_tracers import join_parts, parted, presenting_hi_values, without_methods
from ricci_ir.traces._lifetimes import check_leaks, paused_collection
from ricci_ir.traces._observe import TraceAbandoned, is_observed, notify
from ricci_ir.traces._primitive import Primitive
from ricci_ir.traces._references import (
    BracketedReference,
    check_distinct_operands,
    check_takes_references,
    check_write,
    is_reference,
    is_traced,
    recorded_reference,
    reference_methods,
    uses_references,
)
from ricci_ir.traces._sharding_rules import VaryingMismatch
from ricci_ir.traces._trace import (
    ContextBlock,
    Trace,
    Tracer,
    context,
    enclosing,
    eval_trace,
    leaked_tracer,
    set_trace,
)
from ricci_ir.types import AbstractRef, AbstractValue, get_aval, hi_values, is_hi_type, result_aval

from ._effects import no_effects, program_effects
from ._jaxpr import DebugInfo, DropVar, Jaxpr, JaxprEqn, Literal, Var, unknown_debug_info

__all__ = ["EquationTrace", "JaxprTrace", "StagedReference", "StagedTracer", "closes_over_tracers"]
__all__ += ["drop_unused", "ensure_compile_time_eval", "is_recording", "swap_staging_flag"]
__all__ += ["trace_to_jaxpr"]

_no_params: dict[str, Any] = {}
_python_scalars = frozenset({bool, int, float, complex})


# Sets the flag that tells a dispatcher in C++ whether this thread is recording a jaxpr, and returns
# its old value.
swap_staging_flag: Hook[Callable[[Any], Any]] = Hook(
    "the staging flag", provided_by="ricci_xla", default=lambda value: None
)


class StagedTracer(Tracer):
    """An array in a jaxpr that is being recorded; ``atom`` is its variable or literal."""

    __slots__ = ("atom",)

    def __init__(self, trace: "JaxprTrace", aval: AbstractValue, var: Var):
        self._trace: JaxprTrace = trace  # pyright: ignore[reportIncompatibleVariableOverride]
        self.aval = aval
        self.atom: Var = var

    def _origin_message(self) -> str:
        return self._trace.origin_of(self.atom)

    def __repr__(self) -> str:
        return self._trace.text_of(self)


class StagedReference(  # pyright: ignore[reportIncompatibleMethodOverride] - views, not arrays
    BracketedReference, StagedTracer
):
    """A reference in a jaxpr that is being recorded.

    Reads and writes by operations of another trace are recorded in the jaxpr as well.
    """

    __slots__ = ()

    def read(self, shared: bool = False) -> Any:
        """The array that it holds."""
        recorded = recorded_reference(self, self._trace)
        if recorded is not None:
            return recorded.read(shared)
        self._check_usable()
        with set_trace(self._trace):
            return reference_methods.call("get")(self, ...)

    def write(self, value: Any, fresh: bool = False) -> None:
        """Replace the array by another one of the same type."""
        recorded = recorded_reference(self, self._trace)
        if recorded is not None:
            recorded.write(value, fresh)
            return
        self._check_usable()
        check_write(self, self._trace, value)
        with set_trace(self._trace):
            reference_methods.call("set")(self, ..., value)

    def free(self) -> None:
        """Record that the array is dropped."""
        recorded = recorded_reference(self, self._trace)
        if recorded is not None:
            recorded.free()
            return
        self._check_usable()
        with set_trace(self._trace):
            reference_methods.call("free")(self)

    def _check_usable(self) -> None:
        if not self._trace.is_usable:
            raise leaked_tracer(self)


class EquationTrace(Trace):
    """A trace that records operations as equations: a ``JaxprTrace``, or the tape of ``autodiff``.

    Attributes:
      eqns: the equations so far.
      settings: the settings under which the trace began.
    """

    __slots__ = ("eqns", "settings")

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.eqns: list[JaxprEqn] = []
        self.settings: TraceKey = trace_key()

    def append_equation(
        self,
        invars: list[Any],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: frozenset[Any],
    ) -> None:
        """Append an equation, with its place in the user's code.

        It has settings if those in force differ from those of the trace.
        """
        origin = context.origin
        source = (
            caller_source(4, context.name_stack)
            if origin is None
            else (*origin, context.name_stack)
        )
        eqn = JaxprEqn(invars, outvars, primitive, params, effects, source)
        settings = self.settings
        if settings_keys.only is not settings and settings_keys.current() is not settings:
            eqn = eqn.under(settings.equation_settings())
        self.eqns.append(eqn)


class JaxprTrace(EquationTrace):
    """Records each primitive as an equation."""

    records_references: bool = True

    __slots__ = ("const_by_id", "consts", "constvars", "debug_info", "effects", "invars")

    def __init__(self, parent: Trace, debug_info: DebugInfo = unknown_debug_info):
        super().__init__(parent)
        self.debug_info: DebugInfo = debug_info
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self.const_by_id: dict[int, Var] = {}
        self.effects: list[frozenset[Any]] = []

    def new_arg(self, aval: AbstractValue, source_info: object = None) -> StagedTracer:
        """Add an argument to the jaxpr; returns its tracer.

        Args:
          aval: its type.
          source_info: accepted for compatibility; not used.
        """
        var = Var(aval)
        self.invars.append(var)
        kind = StagedReference if type(aval) is AbstractRef else StagedTracer
        return kind(self, aval, var)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record the primitive as an equation; returns tracers for its results."""
        invars = []
        avals = []
        for arg in args:
            if type(arg) is StagedTracer and arg._trace is self:
                invars.append(arg.atom)
                avals.append(arg.aval)
            else:
                atom = self.constant(arg, primitive)
                invars.append(atom)
                avals.append(atom.aval)
        if not params:
            params = _no_params
        try:
            result = primitive.result_avals(tuple(avals), params)
        except VaryingMismatch as mismatch:
            return self.process(primitive, tuple(mismatch.cast(self, args, avals)), params)
        effects = no_effects
        if primitive.effects is not None:
            effects = primitive.effects(params)
            if effects:
                self.effects.append(effects)
                if uses_references(effects):
                    check_distinct_operands(primitive.name, args, params)
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in result]
            self.append_equation(invars, outvars, primitive, params, effects)
            return [StagedTracer(self, var.aval, var) for var in outvars]
        # ``append_equation`` written out: this is the hottest path of tracing, where a call would
        # cost a twentieth of the time per equation.
        var = Var(result)
        origin = context.origin
        source = (
            caller_source(3, context.name_stack)
            if origin is None
            else (*origin, context.name_stack)
        )
        eqn = JaxprEqn(invars, [var], primitive, params, effects, source)
        settings = self.settings
        if settings_keys.only is not settings and settings_keys.current() is not settings:
            eqn = eqn.under(settings.equation_settings())
        self.eqns.append(eqn)
        return StagedTracer(self, result, var)

    def copy_equation(self, eqn: JaxprEqn, env: dict[Any, Any]) -> bool:
        """Record an equation of another jaxpr, without inferring its types again.

        Args:
          eqn: the equation; its place in the user's code is taken from ``context``.
          env: by variable of the other jaxpr, its value in this trace; the results are added.

        Returns:
          Whether it was recorded. It is not if an operand's value is not a tracer of this trace,
          or has another type, or if an operand is a concrete array.
        """
        invars: list[Var | Literal] = []
        for atom in eqn.invars:
            if type(atom) is Literal:
                if hasattr(type(atom.val), "aval"):  # a residual on a tape
                    return False
                invars.append(atom)
                continue
            value = env[atom]
            if type(value) is not StagedTracer or value._trace is not self:
                return False
            # Identity is a fast sufficient test. With another type, the equation's result types may
            # be wrong.
            if value.aval is not atom.aval:
                return False
            invars.append(value.atom)
        if eqn.effects:
            self.effects.append(eqn.effects)
        outvars = []
        for theirs in eqn.outvars:
            ours = Var(theirs.aval)
            outvars.append(ours)
            env[theirs] = StagedTracer(self, theirs.aval, ours)
        self.append_equation(invars, outvars, eqn.primitive, eqn.params, eqn.effects)
        return True

    def lift(self, value: object) -> "StagedTracer":
        """A tracer for a value from outside of the jaxpr."""
        atom: Any = self.constant(value)
        return StagedTracer(self, atom.aval, atom)

    def lift_reference(self, value: Any) -> StagedReference:
        """See ``Trace``."""
        atom: Any = self.constant(value)
        return StagedReference(self, atom.aval, atom)

    def constant(self, value: Any, user: Primitive | None = None) -> Var | Literal:
        """The literal or constant variable for a value from outside of the jaxpr."""
        kind = type(value)
        if kind in _python_scalars:
            return Literal(value, get_aval(value))
        if isinstance(value, Tracer):
            if not (value._trace.alive and self.accepts(value)):
                if isinstance(value, StagedTracer) and value._trace is self:
                    if user is not None:
                        check_takes_references(user, value.aval)
                    return value.atom
                if value._trace.alive or not self._finds_types():
                    raise leaked_tracer(value, user)
            if hi_values.in_use and is_hi_type(value.aval):
                return self._joined(value)
        elif kind in hi_values.rules:
            return self._joined(value)
        else:
            # An object that wraps an array is unwrapped now, since it may hold another array later.
            if hasattr(kind, "__jax_array__"):
                return self.constant(value.__jax_array__(), user)
            aval = result_aval(value)
            # Scalars are literals, so that XLA sees their values.
            if isinstance(value, np.generic) or (kind is np.ndarray and not value.shape):
                return Literal(value, aval)
        var = self.const_by_id.get(id(value))
        if var is None:
            var = self.const_by_id[id(value)] = Var(result_aval(value))
            if user is not None:
                check_takes_references(user, var.aval)
            self.constvars.append(var)
            self.consts.append(value)
        return var

    def _joined(self, value: object) -> Var | Literal:
        """The variable for a value of several arrays, which is made of constants, its parts."""
        with set_trace(self.parent):  # pyright: ignore[reportArgumentType]
            parts = parted(value).parts
        with set_trace(self):
            aval: Any = get_aval(value)
            return without_methods(join_parts.call(aval, parts)).atom

    def finish(self, results: Sequence[Any]) -> Jaxpr:
        """End the trace; returns the recorded jaxpr, with ``results`` as its results."""
        outvars = [
            result.atom
            if type(result) is StagedTracer and result._trace is self
            else self._returned(result)
            for result in results
        ]
        self.alive = False
        drop_unused(self.eqns, outvars)
        return Jaxpr(
            self.constvars,
            self.invars,
            outvars,
            self.eqns,
            program_effects(self.effects, (*self.constvars, *self.invars))
            if self.effects
            else no_effects,
            self.debug_info,
            self.consts,
        )

    def _finds_types(self) -> bool:
        """Whether this trace or one around it is that of ``eval_shape``."""
        trace: Trace | None = self
        while trace is not None and type(trace) is not TypeTrace:
            trace = trace.parent
        return trace is not None

    def _returned(self, result: Any) -> Var | Literal:
        """The atom of a result that is not computed by an equation."""
        if is_reference(result):
            info = self.debug_info
            raise ValueError(
                f"{info.func_name}, traced for {info.traced_for}, returned a reference of type "
                f"{result.aval}, and references cannot be returned. Return what it holds: ref[...]."
            )
        return self.constant(result)

    def text_of(self, tracer: StagedTracer) -> str:
        """The text of one of its tracers."""
        return f"JitTracer({tracer.aval})"

    def origin_of(self, var: Var) -> str:
        """A sentence on the origin of a variable of this jaxpr, for error messages."""
        info = self.debug_info
        origin = f"\nIt was made while tracing {info.func_name} for {info.traced_for}"
        for i, arg in enumerate(self.invars):
            if arg is var:
                name = info.arg_names[i] if info.arg_names and i < len(info.arg_names) else None
                return f"{origin}, as its argument {name or i}."
        for eqn in self.eqns:
            if any(out is var for out in eqn.outvars):
                return f"{origin}, by {eqn.primitive.name!r} at {eqn.source}."
        return origin + "."


def is_recording() -> bool:
    """Whether operations are recorded in a jaxpr instead of being evaluated eagerly."""
    return context.trace is not eval_trace and enclosing(JaxprTrace) is not None


def drop_unused(eqns: Sequence[JaxprEqn], outvars: Sequence[Any]) -> None:
    """Turn the variables that nothing reads into ``DropVar``.

    They stay the same objects, since the origin of a leaked tracer is looked up by its variable.
    """
    used = {var for eqn in eqns for var in eqn.invars}
    used.update(outvars)
    for eqn in eqns:
        for var in eqn.outvars:
            if var not in used and type(var) is Var:
                var.__class__ = DropVar


class TypeTrace(JaxprTrace):
    """The trace of ``eval_shape``; tracers of traces that have ended are operands with a type."""

    __slots__ = ()


def trace_to_jaxpr(
    fun: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_debug_info,
    origin: tuple[Any, int] | None = None,
    kind: Callable[[Trace, DebugInfo], JaxprTrace] = JaxprTrace,
) -> Jaxpr:
    """Trace a function of arrays to a jaxpr.

    Args:
      fun: takes one tracer for each type and returns a flat sequence of arrays.
      in_avals: the arguments' types.
      debug_info: the names of the function and its arguments, for messages.
      origin: the place in the user's code of all equations, instead of the line that binds each;
        ``no_origin`` for a jaxpr that many callers share.
      kind: makes the trace, from the enclosing one.

    Returns:
      A jaxpr closed over the arrays (possibly tracers of enclosing traces) that ``fun`` used.
    """
    fun = presenting_hi_values(fun)
    trace = kind(context.trace, debug_info)
    tracers = [trace.new_arg(aval) for aval in in_avals]
    previous, names, outer = context.trace, context.name_stack, context.origin
    switched = swap_staging_flag.call(True)
    context.trace = trace
    context.origin = origin
    context.name_stack = ()  # names are relative to the jaxpr, which other callers may share
    try:
        with paused_collection:
            jaxpr = trace.finish(fun(*tracers))
    except BaseException:
        if is_observed():
            notify(TraceAbandoned(trace))
        raise
    finally:
        context.trace = previous
        context.name_stack, context.origin = names, outer
        swap_staging_flag.call(switched)
        trace.alive = False
    if enable_checks.value:
        from ._check import check_jaxpr  # noqa: PLC0415 - lazy: few programs ask for it

        check_jaxpr(jaxpr)
    if check_tracer_leaks.value:
        del tracers
        check_leaks(trace)
    return jaxpr


def closes_over_tracers(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr has tracers of enclosing traces as constants, so it must not be cached."""
    return any(map(is_traced, jaxpr.consts))


class ensure_compile_time_eval(ContextBlock):
    """Evaluate operations eagerly inside a ``with`` block, even while tracing.

    An operation on a traced value is recorded as usual. A function that is traced inside the block,
    for its type or its jaxpr, may close over such values.

    Example:
      A table that is computed while tracing, and is a constant of the jaxpr:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @ricci.jit
      ... def f(x):
      ...     with ricci.ensure_compile_time_eval():
      ...         largest = int(jnp.arange(5).sum())
      ...     return x * largest
      >>> float(f(2.0))
      20.0

    Notes:
      Operations on the function's arguments cannot be evaluated eagerly.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        self._enter((context.trace, swap_staging_flag.call(False), context.put_aside))
        context.put_aside = (*context.put_aside, context.trace)
        context.trace = eval_trace

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            context.trace, switched, context.put_aside = previous
            swap_staging_flag.call(switched)
