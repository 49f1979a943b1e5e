"""``check``: trace a function once and report problems that it would have when it runs."""

import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import CodeType, TracebackType
from typing import Any, NamedTuple, overload

import numpy as np

import ricci_ir as ir
from ricci_ir import Jaxpr, Source, array_moves, is_internal_module
from ricci_pytree import PyTreeDef, argument_paths, tree_flatten, tree_unflatten

from ._reader import Reader
from ._report import Finding, Report, finding
from ._rules import chosen_rules
from ._types import (
    constants,
    described,
    digits_lost,
    narrowed_arguments,
    type_drift,
    unused_donations,
)
from ._values import is_tracked

__all__ = ["check"]

# ``np.random.normal`` and ``random.random`` are bound methods of such objects, too: the global
# ones.
_GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)
# Methods of generators that do not draw.
_OTHERS = frozenset({"seed", "setstate", "getstate", "set_state", "get_state", "spawn"})


@contextmanager
def report_host_draws(findings: list[Finding]) -> Iterator[None]:
    """Add a finding for each line of the user's code that draws such a number in a ``with`` block.

    Python reports each call in this thread (``sys.monitoring``). If all of Python's ids for
    such tools are in use, nothing is reported.
    """
    monitoring = sys.monitoring
    # Ids without a name first; 0 and 1 are those of debuggers and coverage, 2 and 5 of profilers
    # and optimisers, which may come later and expect theirs to be free.
    tool = next((i for i in (3, 4, 0, 1) if monitoring.get_tool(i) is None), None)
    if tool is None:
        yield
        return
    thread = threading.get_ident()

    def called(code: CodeType, offset: int, function: object, first: object) -> None:
        if threading.get_ident() != thread:
            return
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__self__", None)
        # A builtin method is reported with its object in ``__self__``; a Python method as the plain
        # function, with the object as first argument.
        owner = owner if isinstance(owner, _GENERATORS) else first
        if not isinstance(owner, _GENERATORS) or name in _OTHERS or not hasattr(owner, name):
            return
        module = sys._getframe(1).f_globals.get("__name__")
        # A draw inside of Python's own module is a part of a draw that was reported at the user's
        # line.
        if module == random.__name__ or is_internal_module(module):
            return
        library = "Python's random" if isinstance(owner, random.Random) else "NumPy"
        message = f"{name} of {library} is called while tracing, once for all calls of the function"
        findings.append(finding("RC103", Source(code, offset), message))

    monitoring.use_tool_id(tool, "ricci_check")
    try:
        monitoring.register_callback(tool, monitoring.events.CALL, called)
        monitoring.set_events(tool, monitoring.events.CALL)
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, monitoring.events.CALL, None)
        monitoring.free_tool_id(tool)


def involuntary_gathers(
    jaxpr: Jaxpr,
    fun: Callable[..., Any],
    arrays: Sequence[Any],
    traced: object,
    names: dict[str, str],
    where: Source,
) -> Iterator[Finding]:
    """Yield the gathers in the executable of a call, if it is for several devices.

    Args:
      jaxpr: the call's jaxpr.
      fun: a function of arrays alone, or a jitted function.
      arrays: its arguments.
      traced: the stage of the call, if the function is jitted.
      names: the user's names of arguments, where they differ from those of ``fun``.
      where: the source of a gather whose line is unknown.
    """
    for move in array_moves.call(jaxpr, fun, arrays, traced):
        if move.kind != "all-gather":
            continue
        value = names.get(move.value, move.value)
        needs = f"{move.operation or 'the program'} needs {value}"
        cost = f"each device sends {move.bytes_text} a step"
        if move.replicates:
            code, message = (
                "RC802",
                f"{needs} whole on every device, gathered over {move.axes_text}",
            )
        else:
            code, message = "RC801", f"{needs} gathered over {move.axes_text}"
        yield finding(code, move if move.line else where, f"{message}: {cost}")


# The rules for which a function on several devices is compiled.
_COMPILED = frozenset({"RC801", "RC802"})


class Traced(NamedTuple):
    """A traced call: its jaxpr, the structures of its arguments and result, and its donations.

    Attributes:
      flat, arrays: the call in the form of a function of arrays alone.
      stage: the call's stage, if the function is jitted.
    """

    jaxpr: ir.Jaxpr
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    donated: tuple[int, ...]
    flat: Callable[..., Any]
    arrays: Sequence[Any]
    stage: Any = None


@overload
def check(  # pyright: ignore[reportOverlappingOverload]
    fun: Callable[..., Any], *, select: Sequence[str] | None = None, ignore: Sequence[str] = ()
) -> Callable[..., Report]: ...
@overload
def check(
    fun: Callable[..., Any],
    *args: object,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    **kwargs: object,
) -> Report: ...
def check(
    fun: Callable[..., Any],
    *args: object,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    **kwargs: object,
) -> Report | Callable[..., Report]:
    """Trace a function once, run nothing, and report what would go wrong or slow when it runs.

    Args:
      fun: a function of pytrees of arrays, jitted or not; ``grad(f)`` and ``vmap(f)`` are such.
      args, kwargs: its arguments, or none: ``check(f, x)`` is ``check(f)(x)``.
      select: the rules to check, by code (``"RC101"``), by the beginning of codes (``"RC1"``) or
        by name; all of them by default.
      ignore: the rules that are not checked, named in the same way.

    Returns:
      A function of ``fun``'s arguments that returns a ``Report``; with arguments, that report.
      Anything with ``shape`` and ``dtype`` may take the place of an array; other arguments are
      passed to ``fun`` unchanged.

    Raises:
      TypeError: if ``fun`` cannot be called.
      ValueError: if ``select`` or ``ignore`` names an unknown rule.

    Example:
      An index out of bounds, and an effect that happens only while tracing:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> report = ricci.check(lambda x: x[10])(jnp.ones(5))
      >>> print(report[0].code, report[0].message)
      RC501 index 10 is out of bounds for axis 0 of size 5: element 4 is read

    See also:
      The guide to checking, which lists the rules; ``python -m ricci_check``.
    """
    chosen = chosen_rules(select, ignore)

    def check(fun: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]) -> Report:
        report = _Check(fun, chosen).run(args, kwargs)
        return Report([f for f in report if f.code in chosen], report.exception)

    return ir.call_with_arguments(check, fun, args, kwargs)


class _Check:
    """One check of one call."""

    def __init__(self, fun: Callable[..., Any], chosen: frozenset[str]):
        self.fun = fun
        self.chosen = chosen
        self.definition = _definition(fun)
        # Signals of the tracing layers, in order: promotions, abandoned traces, donating calls.
        self.events: list[Any] = []

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
        names = argument_paths(args, kwargs, self.fun)
        leaves, _ = tree_flatten((args, kwargs))
        findings = list(narrowed_arguments(names, leaves, self.definition))
        exception: Exception | None = None
        traced: Traced | None = None
        try:
            objects = ir.preserved(self.fun, args, kwargs)
            # anew: cached traces are not reused, since their events were signalled when they were
            # made.
            with objects, ir.observing(self.events.append, anew=True), report_host_draws(findings):
                traced = self._trace(args, kwargs)
        except Exception as error:  # noqa: BLE001  # becomes a finding, and the report's own
            exception = error
            findings += self._of_exception(error)
        if traced is None:
            # Tracing failed, but the equations up to there may have other findings, or the cause.
            jaxprs = [_recorded(event.trace) for event in self._events(ir.TraceAbandoned)]
        else:
            findings += self._of_program(traced)
            if self.chosen & _COMPILED:
                try:
                    findings += self._of_compiled(traced)
                except Exception as error:  # noqa: BLE001  # it would be raised by a call as well
                    exception = error
                    findings += self._of_exception(error)
            jaxprs = [traced.jaxpr]
        for event in self.events:
            # Within a jitted function or a loop's body nothing is donated.
            if isinstance(event, ir.DonatingCall) and (event.is_nested or ir.has_stages(self.fun)):
                continue
            findings += _of_event(event)
        for jaxpr in jaxprs:
            findings += constants(jaxpr, self.definition)
            findings += self._read(jaxpr)
        # One finding for a line that is traced several times (vmap of scan, a body and its
        # derivative).
        return Report(list(dict.fromkeys(findings)), exception)

    def _events(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        if ir.has_stages(self.fun):
            jitted: Any = self.fun
            traced = jitted.trace(*args, **kwargs)
            jaxpr = traced.jaxpr
            trees = traced.in_tree, traced.out_tree
            return Traced(jaxpr, *trees, traced.donate_argnums, self.fun, (), traced)
        return _trace(self.fun, args, kwargs)

    def _of_program(self, traced: Traced) -> list[Finding]:
        jaxpr = traced.jaxpr
        names = jaxpr.debug_info.arg_names or ()
        findings = list(type_drift(traced.in_tree, names, jaxpr, traced.out_tree, self.definition))
        if traced.donated:
            donated = tuple(i in traced.donated for i in range(len(jaxpr.invars)))
            name = _name(self.fun)
            findings += unused_donations(
                ir.DonatingCall(self.definition, name, jaxpr, 0, names, donated)
            )
        return findings

    def _of_compiled(self, traced: Traced) -> list[Finding]:
        names = traced.jaxpr.debug_info.arg_names or ()
        shown_names = {} if traced.stage else {f"xs[{i}]": name for i, name in enumerate(names)}
        call = traced.jaxpr, traced.flat, traced.arrays, traced.stage
        return list(involuntary_gathers(*call, shown_names, self.definition))

    def _of_exception(self, error: Exception) -> list[Finding]:
        if self._events(ir.NotReversible):
            return []  # that event becomes a finding of its own
        text = str(error).strip().splitlines()
        message = f"{type(error).__name__}: {text[0] if text else 'without a message'}"
        return [
            finding(
                "RC001", _raised_at(error.__traceback__) or self.definition, message.rstrip(".")
            )
        ]

    def _read(self, jaxpr: ir.Jaxpr) -> list[Finding]:
        reader = Reader(self.definition)
        branches = [_sources(event.branches) for event in self._events(ir.CondSelected)]
        reader.keys.alternative = partial(_in_different_branches, branches)
        reader.keys.rerun = frozenset(_rerun(jaxpr))
        names = jaxpr.debug_info.arg_names or ()
        args = []
        for i, var in enumerate(jaxpr.invars):
            value = reader.state.unknown(var.aval)
            if is_tracked(var.aval) and i < len(names):
                size = var.aval.size
                # Each element of an argument is a symbol of its own, so that equal uses of it can
                # be seen.
                meanings = [("argument", names[i], place) for place in range(size)]
                ids = [reader.state.symbols.of(meaning, 0) for meaning in meanings]
                value = reader.state.symbols.value(var.aval, ids)
            args.append(value)
        reader.read(jaxpr, args)
        return reader.state.findings


def _trace(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Trace a plain function; arguments that are not arrays are passed to it unchanged."""
    call, arrays = ir.array_call(fun, args, kwargs)
    names = call.select(argument_paths(args, kwargs, fun))
    out_tree: Any = None

    def flat(*xs: object) -> list[Any]:
        nonlocal out_tree
        positional, options = call.arguments(xs)
        results, out_tree = tree_flatten(fun(*positional, **options))
        if call.fixed:
            # Results may hold such leaves again, as a library's updated model does.
            typed = tree_unflatten(out_tree, [x if ir.is_typed(x) else None for x in results])
            results, out_tree = tree_flatten(typed)
        return results

    avals = list(map(ir.argument_aval, arrays))
    jaxpr = ir.trace_to_jaxpr(flat, avals, ir.DebugInfo("check", _name(fun), tuple(names)))
    return Traced(jaxpr, call.without_fixed(arrays)[1], out_tree, (), flat, arrays)


def _recorded(trace: ir.JaxprTrace) -> ir.Jaxpr:
    """Return the equations that were recorded before an exception, as a jaxpr without results."""
    return ir.Jaxpr(
        trace.constvars,
        trace.invars,
        [],
        trace.eqns,
        debug_info=trace.debug_info,
        consts=trace.consts,
    )


def _of_event(event: object) -> list[Finding]:
    match event:
        case ir.DonatingCall():
            return list(unused_donations(event))
        case ir.CondSelected(source=source) if source.code is not None:
            message = f"vmap runs all {len(event.branches)} branches of this cond for every example"
            return [finding("RC601", source, message)]
        case ir.CarryPromoted(source=source, loop=loop) if source.code is not None:
            return [
                finding("RC302", source, _promotion(name, loop, old, new))
                for name, old, new in event.changes
            ]
        case ir.DigitsLost(source=source, old=old, new=new) if source.code is not None:
            return [digits_lost(source, old, new)]
        case ir.NotReversible(source=source):
            message = f"{event.operation} cannot be differentiated in reverse mode"
            return [finding("RC602", source, message)]
    return []


def _promotion(name: str, loop: str, old: ir.AbstractValue, new: ir.AbstractValue) -> str:
    return f"the carry {name} of {loop} is {described(old)} and becomes {described(new)}"


# Places in the code


def _name(fun: object) -> str:
    return getattr(fun, "__name__", None) or type(fun).__name__


def _definition(fun: object) -> ir.Source:
    """Return the source of a function's definition, behind its wrappers."""
    while True:
        inner = getattr(fun, "__wrapped__", None) or getattr(fun, "func", None)
        if inner is None:
            break
        fun = inner
    fun = getattr(fun, "__func__", fun)
    # The offset -1 means the line of the ``def``.
    code = getattr(fun, "__code__", None) or getattr(type(fun).__call__, "__code__", None)
    return ir.Source(code, -1)


def _raised_at(trace: TracebackType | None) -> ir.Source | None:
    """Return the innermost line of the user's code that an exception passed through."""
    source = None
    while trace is not None:
        frame = trace.tb_frame
        if not ir.is_internal_module(frame.f_globals.get("__name__")):
            source = ir.Source(frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return source


def _sources(branches: Sequence[ir.Jaxpr]) -> list[set[tuple[Any, ...]]]:
    """Return the sources of the equations in each branch of a ``cond``."""
    return [set(_places(branch)) for branch in branches]


def _places(jaxpr: ir.Jaxpr) -> Iterator[tuple[Any, ...]]:
    for eqn in jaxpr.eqns:
        if eqn.raw_source[0] is not None:
            yield eqn.raw_source[:2]
        for inner in ir.jaxprs_in_params(eqn.params):
            yield from _places(inner)


def _rerun(jaxpr: ir.Jaxpr) -> Iterator[tuple[Any, ...]]:
    """Yield the sources of equations that a checkpoint's derivative runs a second time."""
    for eqn in jaxpr.eqns:
        for inner in ir.jaxprs_in_params(eqn.params):
            yield from _places(inner) if eqn.params.get("differentiated") else _rerun(inner)


def _in_different_branches(
    conds: list[list[set[tuple[Any, ...]]]], one: ir.Source, other: ir.Source
) -> bool:
    """Whether two sources are in different branches of the same ``cond``."""
    # A source is (code, offset of the instruction, …): the first two identify it.
    first, second = one[:2], other[:2]
    return any(
        first in a and second in b
        for branches in conds
        for i, a in enumerate(branches)
        for j, b in enumerate(branches)
        if i != j
    )
