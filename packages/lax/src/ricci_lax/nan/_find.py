"""``find_nan``: find the operation that made the NaN in the results of a function."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ricci_ir import (
    Jaxpr,
    Primitive,
    PyTree,
    Trace,
    api_boundary,
    caller_source,
    context,
    debug_infs,
    debug_nans,
    ensure_compile_time_eval,
    eval_trace,
    get_aval,
    non_finite_reports,
    preserved,
    set_trace,
    staging_switch,
)
from ricci_pytree import argument_paths, tree_flatten, tree_leaves

from ._report import NonFinite, report
from ._watch import Event, Place, Reached, Watch

__all__ = [
    "find_nan",
]


class WatchTrace(Trace):
    """A trace that runs each operation at once, through a ``Watch``; values are plain arrays."""

    __slots__ = ("watch",)

    def __init__(self, watch: Watch):
        super().__init__(eval_trace)
        self.watch = watch

    @property
    def main(self) -> Trace:
        """The trace of evaluation, since all values are known: nothing is being traced."""
        return eval_trace

    def process(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        """Run an operation, and remember where it stands."""
        names, origin = context.name_stack, context.origin
        place = Place(origin or caller_source(3)[:2], names, names)
        with ensure_compile_time_eval():
            results = self.watch.apply(primitive, args, params, place)
        return results if primitive.multiple_results else results[0]


def _first(watch: Watch, results: Sequence[Any], inf: bool) -> Event | None:
    """The earliest event whose NaN (or, with ``inf``, infinity) the results still hold."""
    events = watch.events_of(results)
    return next((e for e in events if inf or e.kind == "nan"), None)


def _watched(watch: Watch, run: Callable[[], Sequence[Any]], inf: bool) -> NonFinite | None:
    """Run a program, and report the first event that reaches its results."""
    with ExitStack() as stack:
        for option in (debug_nans, debug_infs):  # off, since they would raise their own errors
            if option.value:
                stack.enter_context(option(False))
        try:
            event = _first(watch, run(), inf)
        except Reached as reached:
            event = reached.event
    return None if event is None else report(event, watch)


@api_boundary
def find_nan(
    fun: Callable[..., Any], *args: PyTree, inf: bool = False, **kwargs: object
) -> NonFinite | None:
    """Run a function operation by operation, and find the one that made its NaN.

    Args:
      fun: any function of pytrees of arrays, also jitted, differentiated or mapped.
      args, kwargs: its arguments.
      inf: whether to look for infinities as well; a NaN in the results is found in any case, with
        the infinity that caused it.

    Returns:
      ``None`` if no result of ``fun`` holds a NaN; otherwise a ``NonFinite``, to print: the first
      operation that made a NaN which reaches a result, where it was called, its operands, and its
      iteration, example and device. If it belongs to the backward pass of a gradient, also the
      forward operation responsible, and what to write instead.

    Example:
      >>> from ricci import debug, lax
      >>> found = debug.find_nan(lambda x: lax.mul(lax.log(lax.sub(x, 3.0)), 2.0), 1.0)
      >>> found.operation, float(found.operands[0])
      ('log', -2.0)
    """
    watch = Watch()
    leaves, _ = tree_flatten((args, kwargs))
    for leaf, path in zip(leaves, argument_paths(args, kwargs, fun), strict=True):
        if _is_array(leaf):
            watch.given(leaf, path)

    def run() -> list[Any]:
        switched = staging_switch.swap(True)
        try:
            with preserved(fun, args, kwargs) as objects, set_trace(WatchTrace(watch)):
                results = fun(*args, **kwargs)
                leaves = [*tree_leaves(results), *tree_leaves(objects.changes())]
                return [x for x in leaves if _is_array(x)]
        finally:
            staging_switch.swap(switched)

    return _watched(watch, run, inf)


def _is_array(x: object) -> bool:
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def explain(jaxpr: Jaxpr, args: Sequence[Any], inf: bool) -> NonFinite | None:
    """Run a program step by step, and report the operation that made the NaN in its results.

    Args:
      jaxpr: the program.
      args: a value for each of its arguments.
      inf: whether to look for infinities as well.
    """
    watch = Watch()
    info = jaxpr.debug_info
    names = info.arg_names or ()
    path = (f"jit({info.func_name})",) if info.traced_for == "jit" else ()
    # An operation called on its own has the source of that call.
    origin = context.origin or (None, 0)
    if origin[0] is None:
        origin = caller_source(2)[:2]
    place = Place(origin, context.name_stack, (), path)
    offset = len(args) - len(names)
    for i, arg in enumerate(args):
        watch.given(arg, names[i - offset] if i >= offset >= 0 else "that the function closes over")

    def run() -> list[Any]:
        with ensure_compile_time_eval():
            return watch.run(jaxpr, args, place)

    return _watched(watch, run, inf)


non_finite_reports.register(explain)
