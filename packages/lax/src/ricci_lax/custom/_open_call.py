"""Calls outside of programs: a function with rules runs as it is, on the values it is called with.

Nothing is recorded there, so there is no need to trace the function. Python decides in it, as it
does in a plain call, by what the arguments are and by what the function closes over at the time.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import JVPTrace, Tape
from ricci_batching import Axis, BatchTrace, batch_flat, closing_primitives
from ricci_ir import (
    Primitive,
    Trace,
    Tracer,
    UnexpectedTracerError,
    by_program,
    context,
    define,
    eval_trace,
    unsupported,
)
from ricci_lax.rules._law_examples import no_examples
from ricci_pytree import PyTreeDef, tree_flatten


class OpenCall:
    """A function of flat arrays that is called, not traced.

    Attributes:
      name: the name of the user's function.
      trace: gives the trace that it is called in, as long as that is in use.
      out_tree: the structure of its result, known when it or its rule has run.
    """

    __slots__ = ("fun", "name", "out_tree", "trace")

    def __init__(self, name: str, fun: Callable[..., Any], trace: Trace):
        self.name = name
        self.fun = fun
        self.trace: Callable[[], Trace | None] = weakref.ref(trace)
        self.out_tree: PyTreeDef | None = None

    def __call__(self, *flat: object) -> list[Any]:
        """The leaves of the result."""
        leaves, self.out_tree = tree_flatten(self.fun(*flat))
        return leaves


class BatchedOpenCall(OpenCall):
    """An open call applied to a batch.

    Attributes:
      earlier: gives the trace of the batch, over whose values the function may close.
      out_dims: the batch dimensions of the results, known when it or its rule has run.
    """

    __slots__ = ("axis", "dims", "earlier", "out_dims")

    def __init__(self, call: OpenCall, axis: Axis, dims: Sequence[int | None]):
        trace = call.trace()
        assert trace is not None
        super().__init__(call.name, call, trace)
        self.axis = axis
        self.dims = tuple(dims)
        self.earlier: Callable[[], BatchTrace | None] = weakref.ref(_batch_trace(trace, axis))
        self.out_dims: list[int | None] = []

    def __call__(self, *flat: Any) -> list[Any]:
        """The results, batched at ``out_dims``."""
        values, self.out_dims = batch_flat(self.fun, self.axis, flat, self.dims, self.earlier())
        return values


def _batch_trace(trace: Trace | None, axis: Axis) -> BatchTrace:
    """The trace whose batching rule runs now, of those around a call."""
    while trace is not None:
        if isinstance(trace, BatchTrace) and trace.parent is context.trace and trace.axis is axis:
            return trace
        trace = trace.parent
    raise AssertionError("a batching rule runs in the parent of its trace")


def is_open() -> bool:
    """Whether calls are open now: no program is recorded, and all traces know open calls."""
    trace: Trace | None = context.trace
    while trace is not eval_trace:
        if not isinstance(trace, JVPTrace | Tape | BatchTrace):
            return False
        trace = trace.parent
    return True


def _run(*operands: object, call: OpenCall, **params: object) -> list[Any]:
    """Evaluate an open call."""
    outs = call(*operands)
    if any(isinstance(out, Tracer) for out in outs):
        raise UnexpectedTracerError(
            f"{call.name} has a derivative rule of its own, and closes over a value that is being "
            "differentiated. The rule knows nothing of that value, so its derivative would be "
            f"lost. Pass it to {call.name} as an argument."
        )
    return outs


_unrecorded = "a call outside of programs is never part of one"


def define_open(name: str, **rules: Callable[..., Any]) -> Primitive:
    """Define the primitive of open calls of one kind of custom function.

    Args:
      name: the primitive's name.
      rules: its rules ``jvp``, ``linearize``, ``split`` and ``batch``.
    """
    primitive = define(
        name,
        sharding=by_program,
        abstract_eval=unsupported(_unrecorded),
        multiple_results=True,
        memo=False,
        transpose=unsupported(_unrecorded),
        lower=unsupported(_unrecorded),
        examples=no_examples(_unrecorded),
        **rules,
    )
    primitive.def_impl(_run)
    closing_primitives.add(primitive)
    return primitive
