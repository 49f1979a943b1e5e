"""``find_nan``: find the operation that made the NaN in the results of a function."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, overload

import numpy as np

import ricci_ir as ir
from ricci_lax.stepping import STORED, Location, is_array, run_in_steps
from ricci_pytree import argument_paths, tree_flatten

from ._report import NonFinite, report
from ._trail import Event, follow
from ._watch import Endless, Watch, host

__all__ = ["find_nan"]

_FOLLOWED = 16  # elements, the first and the last of each result


def _first(
    watch: Watch, results: Sequence[Any], inf: bool, stored: Sequence[Any] = ()
) -> Event | None:
    """Find the earliest event that caused a NaN (or, with ``inf``, an infinity) in results.

    A value that no operation made, as one that was converted to a Python number, comes last. Among
    the values that the function stored it is no event: libraries mark what is absent by NaN. For
    that reason an argument's NaN that is returned as it is, as in the state of a search that has no
    best value yet, comes after those that operations made.
    """
    in_stored = [event for event in _events(watch, stored, inf) if not event.is_unknown]
    events = [*_events(watch, results, inf), *in_stored]
    order = lambda event: (event.is_unknown, event.is_carried, bool(event.doubt), event.order)
    return min(events, key=order, default=None)


def _events(watch: Watch, results: Sequence[Any], inf: bool) -> list[Event]:
    """Follow the first and the last bad elements of each result."""
    events: list[Event] = []
    for result in results:
        values = host(result)
        if values is None:
            continue
        for kind, find in (("nan", np.isnan), ("inf", np.isinf)):
            mask = find(values)
            if not mask.any() or (kind == "inf" and not inf):
                continue
            bad = np.argwhere(mask)
            for place in bad[[0, -1]] if len(bad) > 1 else bad:
                if len(events) < _FOLLOWED:
                    events.append(follow(watch, result, tuple(map(int, place)), kind))
    return events


def _watched(
    watch: Watch,
    run: Callable[[], tuple[Sequence[Any], Sequence[Any]]],
    inf: bool,
    call: Location | None = None,
) -> NonFinite | None:
    """Run a function, and report the first event that reaches its results or stored values.

    A value that no operation made is reported at the location of the call, where that is known.
    """
    with ExitStack() as stack:
        for option in (
            ir.debug_nans,
            ir.debug_infs,
        ):  # off, since they would raise their own errors
            if option.value:
                stack.enter_context(option(False))
        try:
            results, stored = run()
            event = _first(watch, results, inf, stored)
        except Endless as loop:
            event = _first(watch, loop.arrays, inf=False)
            if event is not None:
                event.doubt = event.doubt or "a loop did not end with it, and was stopped"
        if event is not None and event.primitive is None and call is not None:
            event.place = call
        return None if event is None else report(event, watch)


@overload
def find_nan(fun: Callable[..., Any], *, inf: bool = False) -> Callable[..., NonFinite | None]: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def find_nan(
    fun: Callable[..., Any], *args: ir.PyTree, inf: bool = False, **kwargs: object
) -> NonFinite | None: ...
@ir.api_boundary
def find_nan(
    fun: Callable[..., Any], *args: ir.PyTree, inf: bool = False, **kwargs: object
) -> NonFinite | Callable[..., NonFinite | None] | None:
    """Run a function operation by operation, and find the operation that caused its NaN.

    Args:
      fun: any function of pytrees of arrays, also jitted, differentiated or mapped.
      args, kwargs: its arguments, or none: ``find_nan(f)(x)`` is ``find_nan(f, x)``.
      inf: whether to search for infinities as well; a NaN in the results is always found, with
        the infinity that caused it.

    Returns:
      ``None`` if no result of ``fun`` contains a NaN; otherwise a ``NonFinite``, to print: the
      first operation whose NaN reaches a result, its source location, its operands, and its
      iteration, example and device. If it belongs to the backward pass of a gradient, also the
      forward operation responsible, and a suggested fix. Without arguments, a function of
      ``fun``'s arguments that returns this.

    Raises:
      TypeError: if ``fun`` cannot be called.

    Example:
      >>> import ricci
      >>> from ricci import lax
      >>> report = ricci.find_nan(lambda x: lax.mul(lax.log(lax.sub(x, 3.0)), 2.0))(1.0)
      >>> report.operation, float(report.operands[0])
      ('log', -2.0)
    """

    def find_nan(
        fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> NonFinite | None:
        return _find_in_call(fun, args, kwargs, inf)

    return ir.call_with_arguments(find_nan, fun, args, kwargs)


def _find_in_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], inf: bool
) -> NonFinite | None:
    """Run a call under a watch, and report the operation that caused the NaN in its results."""
    watch = Watch()
    leaves, _ = tree_flatten((args, kwargs))
    for leaf, path in zip(leaves, argument_paths(args, kwargs, fun), strict=True):
        if is_array(leaf):
            watch.add_argument(leaf, path)

    def run() -> tuple[list[Any], list[Any]]:
        arrays = run_in_steps(watch, fun, args, kwargs)
        results = [x for name, x in arrays if name != STORED]
        return results, [x for name, x in arrays if name == STORED]

    return _watched(watch, run, inf)


@ir.non_finite_report.provide
def explain(jaxpr: ir.Jaxpr, args: Sequence[Any], inf: bool) -> NonFinite | None:
    """Evaluate a jaxpr step by step, and report the operation that caused NaNs in its results.

    Args:
      jaxpr: the jaxpr.
      args: a value for each of its arguments.
      inf: whether to look for infinities as well.
    """
    watch = Watch()
    info = jaxpr.debug_info
    names = info.arg_names or ()
    path = (f"jit({info.func_name})",) if info.traced_for == "jit" else ()
    # An operation called on its own has the source of that call.
    origin = ir.context.origin or (None, 0)
    if origin[0] is None:
        with ir.users_lines():
            origin = ir.caller_source(2)[:2]
    place = Location(origin, ir.context.name_stack, (), path)
    offset = len(args) - len(names)
    # The operands of an operation called on its own have no names: a NaN goes into its line.
    for i, arg in enumerate(args if names else ()):
        watch.add_argument(
            arg, names[i - offset] if i >= offset >= 0 else "that the function closes over"
        )

    def run() -> tuple[list[Any], tuple[()]]:
        with ir.ensure_compile_time_eval():
            return watch.run(jaxpr, args, place), ()

    return _watched(watch, run, inf, place)


@ir.first_error.provide
def find_error(jaxpr: ir.Jaxpr, args: Sequence[Any], **kinds: bool) -> Exception | None:
    """The first error in a jaxpr; see ``checkify.find_error``."""
    from ricci_lax import checkify  # noqa: PLC0415 - lazy: few programs need it

    return checkify.find_error(jaxpr, args, **kinds)
