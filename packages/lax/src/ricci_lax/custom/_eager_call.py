"""Calls of functions with custom rules that are run, not traced.

Where no jaxpr is recorded, Python runs the function without tracing it: its control flow may depend
on the values of the arguments and of variables that it closes over, as in a plain call.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as autodiff
import ricci_ir as ir
from ricci_batching import Axis, BatchTrace, batch_flat, closing_primitives
from ricci_pytree import PyTreeDef, tree_flatten


class EagerCall:
    """A function of flat arrays that is called, not traced.

    Attributes:
      name: the name of the user's function.
      trace: a weak reference to the trace that it is called in.
      out_tree: the structure of its result, set when it or its rule has run.
    """

    __slots__ = ("fun", "name", "out_tree", "trace")

    def __init__(self, name: str, fun: Callable[..., Any], trace: ir.Trace):
        self.name = name
        self.fun = fun
        self.trace: Callable[[], ir.Trace | None] = weakref.ref(trace)
        self.out_tree: PyTreeDef | None = None

    def __call__(self, *flat: object) -> list[Any]:
        """The leaves of the result."""
        leaves, self.out_tree = tree_flatten(self.fun(*flat))
        return leaves


class BatchedEagerCall(EagerCall):
    """An eager call applied to a batch.

    Attributes:
      earlier: a weak reference to the trace of the batch, whose values the function may close over.
      out_dims: the batch dimensions of the results, set when it or its rule has run.
    """

    __slots__ = ("axis", "dims", "earlier", "out_dims")

    def __init__(self, call: EagerCall, axis: Axis, dims: Sequence[int | None]):
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


def _batch_trace(trace: ir.Trace | None, axis: Axis) -> BatchTrace:
    """Find the enclosing trace of a call whose batching rule is running."""
    while trace is not None:
        if (
            isinstance(trace, BatchTrace)
            and trace.parent is ir.context.trace
            and trace.axis is axis
        ):
            return trace
        trace = trace.parent
    raise AssertionError("a batching rule runs in the parent of its trace")


def is_eager() -> bool:
    """Whether calls are eager now: no jaxpr is recorded, and all traces support eager calls."""
    trace: ir.Trace | None = ir.context.trace
    while trace is not ir.eval_trace:
        if not isinstance(trace, autodiff.JVPTrace | autodiff.Tape | BatchTrace):
            return False
        trace = trace.parent
    return True


def _run(*operands: object, call: EagerCall, **params: object) -> list[Any]:
    """Evaluate an eager call."""
    outs = call(*operands)
    if any(isinstance(out, ir.Tracer) for out in outs):
        raise ir.UnexpectedTracerError(
            f"{call.name} has a custom derivative rule, and closes over a value that is being "
            "differentiated. The rule does not depend on that value, so its derivative would be "
            f"lost. Pass it to {call.name} as an argument."
        )
    return outs


_unrecorded = "an eager call is never part of a jaxpr"


def define_eager(name: str, **rules: Callable[..., Any]) -> ir.Primitive:
    """Define the primitive of eager calls of one kind of custom function.

    Args:
      name: the primitive's name.
      rules: its rules ``jvp``, ``linearize``, ``split`` and ``batch``.
    """
    primitive = ir.define(
        name,
        sharding=ir.by_program,
        abstract_eval=ir.unsupported(_unrecorded),
        multiple_results=True,
        memo=False,
        transpose=ir.unsupported(_unrecorded),
        lower=ir.unsupported(_unrecorded),
        **rules,
    )
    primitive.def_impl(_run)
    closing_primitives.add(primitive)
    return primitive
