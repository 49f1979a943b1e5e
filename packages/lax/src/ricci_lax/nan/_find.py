"""``find_nan``: the operation that a NaN in the results of a function comes from."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ricci_ir import (
    Array,
    Jaxpr,
    Primitive,
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
    """Runs each operation at once, under the eyes of a ``Watch``; values are plain arrays."""

    __slots__ = ("watch",)

    def __init__(self, watch: Watch):
        super().__init__(eval_trace)
        self.watch = watch

    def process(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        names, origin = context.name_stack, context.origin
        place = Place(origin or caller_source(3)[:2], names, names)
        with ensure_compile_time_eval():
            results = self.watch.apply(primitive, args, params, place)
        return results if primitive.multiple_results else results[0]


def _first(watch: Watch, results: Sequence[Any], inf: bool) -> Event | None:
    """The earliest event of which the results hold something."""
    events = watch.events_of(results)
    return next((e for e in events if inf or e.kind == "nan"), None)


def _watched(watch: Watch, run: Callable[[], Sequence[Any]], inf: bool) -> NonFinite | None:
    with ExitStack() as stack:
        for option in (debug_nans, debug_infs):  # which would raise their own errors
            if option.value:
                stack.enter_context(option(False))
        try:
            event = _first(watch, run(), inf)
        except Reached as reached:
            event = reached.event
    return None if event is None else report(event, watch)


@api_boundary
def find_nan(fun: Callable[..., Any], *args: Any, inf: bool = False, **kwargs: Any) -> Any:
    """Run a function operation by operation, and say which one its NaN comes from.

    Args:
      fun: any function of pytrees of arrays, also jitted, differentiated or mapped.
      args, kwargs: its arguments.
      inf: whether to look for infinities as well; a NaN in the results is found in any case, with
        the infinity that it was made of.

    Returns:
      ``None`` if no result of ``fun`` holds a NaN; otherwise a ``NonFinite``, to print: the first
      operation that made one which reaches a result, where it was called, what went in, which
      iteration, example and device it was; and if it belongs to the backward pass of a gradient,
      the forward value responsible and what to write instead.

    Example:
      >>> from ricci_lax import log, mul, sub
      >>> found = find_nan(lambda x: mul(log(sub(x, 3.0)), 2.0), 1.0)
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
            with set_trace(WatchTrace(watch)):
                return [x for x in tree_leaves(fun(*args, **kwargs)) if _is_array(x)]
        finally:
            staging_switch.swap(switched)

    return _watched(watch, run, inf)


def _is_array(x: Array) -> bool:
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def explain(jaxpr: Jaxpr, args: Sequence[Any], inf: bool) -> NonFinite | None:
    """Where the NaN in the results of a program comes from, when it runs step by step.

    Args:
      jaxpr: the program.
      args: a value for each of its arguments.
      inf: whether to look for infinities as well.
    """
    watch = Watch()
    info = jaxpr.debug_info
    names = info.arg_names or ()
    path = (f"jit({info.func_name})",) if info.traced_for == "jit" else ()
    # Operations that are called one by one stand where their program is called.
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
