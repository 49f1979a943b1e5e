"""The batching trace, and the batching of flat functions and jaxprs."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir

from ._rules import Axis, batch_rules, batched_at, closing_primitives, named_axes, sharded

__all__ = ["BatchTrace", "BatchTracer", "batch_flat", "batch_jaxpr"]


_unbatched: ir.Cache[tuple[ir.ShapedArray, int], ir.ShapedArray] = ir.Cache(
    "types of examples", 4096
)


def unbatched_aval(aval: ir.ShapedArray, dim: int, trace: "BatchTrace") -> ir.ShapedArray:
    """Return the type of one example of a batch in a batching trace."""
    key = (aval, dim)
    cached = _unbatched.entries.get(key)
    if cached is None:
        hi_type: Any = aval
        cached = _unbatched.add(
            key,
            hi_type.dec_rank(trace.axis.size, dim) if aval.is_high else aval.remove_dimension(dim),
        )
    return cached


class BatchTracer(ir.Tracer):
    """A tracer that represents one example of a batch.

    Args:
      trace: its trace.
      value: the whole batch.
      dim: its batch dimension.

    Attributes:
      value: the whole batch.
      dim: its batch dimension.
    """

    __slots__ = ("dim", "value")

    aval: ir.ShapedArray

    def __init__(self, trace: "BatchTrace", value: ir.ArrayLike, dim: int):
        self._trace = trace
        self.aval = unbatched_aval(ir.get_aval(value), dim, trace)  # pyright: ignore[reportArgumentType]
        self.value: ir.ArrayLike = value
        self.dim: int = dim

    @property
    def val(self) -> ir.ArrayLike:
        """The whole batch, by the name that JAX has for it."""
        return self.value

    @property
    def batch_dim(self) -> int:
        """The batch dimension, by the name that JAX has for it."""
        return self.dim

    def _origin_message(self) -> str:
        return self.value._origin_message() if isinstance(self.value, ir.Tracer) else ""

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={ir.get_aval(self.value)})"


class BatchTrace(ir.Trace):
    """A trace that applies operations to whole batches, in the parent trace.

    Args:
      parent: the trace in which operations on batches are applied.
      axis: the mapped axis.
    """

    is_mapping: bool = True

    __slots__ = ("axis",)

    parent: ir.Trace  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, parent: ir.Trace, axis: Axis):
        super().__init__(parent)
        self.axis: Axis = axis

    def process(
        self, primitive: ir.Primitive, args: tuple[ir.ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Apply the batching rule of a primitive, unless no operand is batched."""
        values, dims, batched = self.split(args)
        # The result is the same for all examples, so it is computed once, without the batch
        # dimension.
        if not batched and not self._requires_rule(primitive, params):
            return self.parent.process(primitive, args, params)
        previous = ir.context.trace
        ir.context.trace = self.parent
        try:
            # The rule binds its operations in the parent trace, so that nested vmaps peel off one
            # axis each: an outer batching trace sees the inner one's whole batches as operands.
            result, dim = batch_rules[primitive](self.axis, values, dims, **params)
        finally:
            ir.context.trace = previous
        if primitive.multiple_results:
            return [self.join(r, d) for r, d in zip(result, dim, strict=True)]
        return self.join(result, dim)

    def split(
        self, args: Sequence[ir.ArrayLike]
    ) -> tuple[list[ir.ArrayLike], list[int | None], bool]:
        """Return the whole batches, their batch dimensions, and whether any operand is batched."""
        values: list[ir.ArrayLike] = []
        dims: list[int | None] = []
        batched = False
        for arg in args:
            if type(arg) is BatchTracer and arg._trace is self:
                values.append(arg.value)
                dims.append(arg.dim)
                batched = True
            else:
                values.append(arg)
                dims.append(None)
        return values, dims, batched

    def join(self, value: ir.ArrayLike, dim: int | None) -> ir.ArrayLike:
        """Return a tracer for one example of a batch; return an unbatched value unchanged."""
        return value if dim is None else BatchTracer(self, value, dim)

    def _requires_rule(self, primitive: ir.Primitive, params: dict[str, Any]) -> bool:
        """Whether the batching rule applies to an operation even without batched operands."""
        if primitive in closing_primitives:
            return True
        name = self.axis.name
        return name is not None and name in named_axes(primitive, params)


class ResumedBatchTrace(BatchTrace):
    """A batching trace on another parent that accepts the tracers of an earlier batching trace.

    It runs functions that close over such tracers and that an outer trace calls later.
    """

    __slots__ = ("earlier",)

    def __init__(self, parent: ir.Trace, earlier: BatchTrace):
        super().__init__(parent, earlier.axis)
        # The resumed trace may be a resumed one itself, and the function may close over tracers of
        # each.
        before = earlier.earlier if isinstance(earlier, ResumedBatchTrace) else ()
        self.earlier: tuple[ir.Trace, ...] = (*before, earlier)

    def is_same_as(self, other: ir.Trace) -> bool:
        """Whether a trace is this one or one that it resumes."""
        return other is self or other in self.earlier

    def split(
        self, args: Sequence[ir.ArrayLike]
    ) -> tuple[list[ir.ArrayLike], list[int | None], bool]:
        """Return the whole batches, their batch dimensions, and whether any operand is batched."""
        mine = [type(x) is BatchTracer and self.is_same_as(x._trace) for x in args]
        values = [x.value if m else x for x, m in zip(args, mine, strict=True)]  # pyright: ignore
        dims = [x.dim if m else None for x, m in zip(args, mine, strict=True)]  # pyright: ignore
        return values, dims, any(mine)


class _Sharded(BatchTrace):
    """A batching trace of an axis that is sharded in the types of the mapped arguments.

    It reshards all batches accordingly, as the types of batched jaxprs require.
    """

    __slots__ = ()

    def join(self, value: ir.ArrayLike, dim: int | None) -> ir.ArrayLike:
        """See ``BatchTrace``."""
        if dim is None:
            return value
        previous, ir.context.trace = ir.context.trace, self.parent
        try:
            return BatchTracer(self, sharded(value, self.axis, dim), dim)
        finally:
            ir.context.trace = previous


class _ResumedSharded(ResumedBatchTrace, _Sharded):
    """A resumed batching trace of a sharded axis."""

    __slots__ = ()


def batch_flat(
    fun: Callable[..., Sequence[ir.ArrayLike]],
    axis: Axis,
    args: Sequence[ir.ArrayLike],
    dims: Sequence[int | None],
    earlier: BatchTrace | None = None,
) -> tuple[list[ir.ArrayLike], list[int | None]]:
    """Apply a flat function of one example to a batch.

    Args:
      fun: takes and returns flat sequences of arrays.
      axis: the mapped axis.
      args: the arguments.
      dims: the batch dimension of each argument, or ``None``.
      earlier: a trace of the same axis, over whose tracers the function may close.

    Returns:
      The results and their batch dimensions; ``None`` for a result that is not batched.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_batching import Axis, batch_flat
      >>> axis = Axis(3, None, None)
      >>> (sums,), dims = batch_flat(lambda x, y: [x + y], axis, [jnp.arange(3.0), 1.0], [0, None])
      >>> sums.tolist(), dims
      ([1.0, 2.0, 3.0], [0])
    """
    fun = ir.presenting_hi_values(fun)
    parent = ir.context.trace
    trace = _trace_of(parent, axis, earlier)
    # References are wrapped instead of read now: each read must see the writes before it.
    inputs = [
        MappedReference(trace, x, d) if d is not None and ir.is_reference(x) else trace.join(x, d)  # pyright: ignore[reportArgumentType]
        for x, d in zip(args, dims, strict=True)
    ]
    names = ir.context.name_stack
    ir.context.trace, ir.context.name_stack = trace, ir.vmap_stack(names, axis.size)
    try:
        if axis.name is None:
            outs = fun(*inputs)
        else:
            with ir.extend_axes([(axis.name, axis.size)]):
                outs = fun(*inputs)
        ir.check_returned(outs, trace)
        values, out_dims, _ = trace.split(outs)
    finally:
        ir.context.trace, ir.context.name_stack = parent, names
        # A tracer that outlives the call has no meaning; later uses of it are reported as leaks.
        trace.alive = False
    if ir.check_tracer_leaks.value:
        del inputs, outs
        ir.check_leaks(trace)
    return values, out_dims


def _trace_of(parent: ir.Trace, axis: Axis, earlier: BatchTrace | None) -> BatchTrace:
    if axis.sharding is None:
        return BatchTrace(parent, axis) if earlier is None else ResumedBatchTrace(parent, earlier)
    return _Sharded(parent, axis) if earlier is None else _ResumedSharded(parent, earlier)


def batch_jaxpr(
    jaxpr: ir.Jaxpr,
    axis: Axis,
    dims: Sequence[int | None],
    out_dims: Sequence[int | None] | None = None,
) -> tuple[ir.Jaxpr, list[int | None]]:
    """Return the jaxpr that applies a jaxpr to batches; cached on the jaxpr.

    Args:
      jaxpr: the jaxpr for one example.
      axis: the mapped axis.
      dims: the batch dimension of each argument, or ``None``.
      out_dims: the batch dimension that each result must have. ``None`` leaves it to the batching
        rules, and is the default for all results.

    Returns:
      The jaxpr, and the batch dimension of each result; ``None`` if it is not batched.

    Example:
      >>> import ricci
      >>> from ricci_batching import Axis, batch_jaxpr
      >>> jaxpr = ricci.make_jaxpr(lambda x: x + 1.0)(0.0)
      >>> batched, dims = batch_jaxpr(jaxpr, Axis(3, None, None), [0])
      >>> batched.in_avals[0].shape, dims
      ((3,), [0])
    """
    dims = tuple(dims)
    targets = tuple(out_dims) if out_dims is not None else (None,) * len(jaxpr.outvars)
    key = ("batch", axis, dims, targets)
    return jaxpr.derived(key, lambda: _batch_jaxpr(jaxpr, axis, dims, targets))


def _batch_jaxpr(
    jaxpr: ir.Jaxpr, axis: Axis, dims: tuple[int | None, ...], targets: tuple[int | None, ...]
) -> tuple[ir.Jaxpr, list[int | None]]:
    # The batching rules choose the batch dimensions of the results, so ``fun`` records them while
    # it is traced.
    out_dims: list[int | None] = []

    def fun(*args: ir.Array) -> list[ir.ArrayLike]:
        run = lambda *xs: ir.eval_jaxpr(jaxpr, jaxpr.consts, *xs)
        values, value_dims = batch_flat(run, axis, args, dims)
        results: list[ir.ArrayLike] = []
        for value, dim, target in zip(values, value_dims, targets, strict=True):
            if target is not None:
                value, dim = batched_at(value, dim, axis, target), target
            results.append(value)
            out_dims.append(dim)
        return results

    avals: list[ir.AbstractValue] = [
        v.aval if dim is None else axis.batched_aval(v.aval, dim)
        for v, dim in zip(jaxpr.invars, dims, strict=True)
    ]
    return ir.trace_to_jaxpr(fun, avals, jaxpr.debug_info), out_dims


class MappedReference(ir.Ref):
    """A reference to one example's slice of a reference to a batch.

    Args:
      trace: the batching trace.
      whole: the reference to the whole batch.
      dim: its batch dimension.
    """

    __slots__ = ("dim", "whole")

    def __init__(self, trace: Any, whole: Any, dim: int):
        super().__init__(whole.aval.remove_dimension(dim), None)
        self._owner: ir.Trace = trace
        self.whole = whole
        self.dim = dim

    def _read(self, shared: bool) -> Any:
        trace: Any = self._owner
        with ir.set_trace(trace.parent):
            value = self.whole.read(shared)
        return trace.join(value, self.dim)

    def _write(self, value: Any, fresh: bool) -> None:
        trace: Any = self._owner
        (values,), (dim,), _ = trace.split([value])
        with ir.set_trace(trace.parent):
            # The reference has one type for its lifetime. So a written value moves to the dimension
            # at which the reference is batched, and an unbatched value is repeated there.
            self.whole.write(batched_at(values, dim, trace.axis, self.dim), fresh)

    def free(self) -> None:
        """Free the reference to the whole batch."""
        trace: Any = self._owner
        with ir.set_trace(trace.parent):
            self.whole.free()

    def __repr__(self) -> str:
        return f"Ref({self.whole!r}, mapped)"
