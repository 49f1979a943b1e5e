"""The batching trace, and ``vmap``."""

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ricci_ir import (
    AbstractValue,
    Array,
    ArrayLike,
    Cache,
    Jaxpr,
    Primitive,
    PyTree,
    ShapedArray,
    Trace,
    Tracer,
    TypeSharding,
    api_boundary,
    as_array,
    check_callable,
    check_distinct,
    check_leaks,
    check_returned,
    check_tracer_leaks,
    context,
    error_link,
    eval_jaxpr,
    extend_axes,
    get_aval,
    is_reference,
    looks_like,
    make_type_sharding,
    trace_to_jaxpr,
    vmap_stack,
)
from ricci_pytree import (
    PyTreeDef,
    argument_paths,
    flatten_axes,
    keystr,
    read_signature,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

from ._mapped_axes import check_axis, mapped_dims
from ._references import MappedReference
from ._rules import (
    Axis,
    batch_rules,
    batch_sum,
    batched_at,
    closing_primitives,
    named_axes,
    sharded,
)
from ._vmappable import (
    Arguments,
    Mapping,
    has_vmappable,
    is_spec,
    read_arguments,
    vmappable_classes,
)

_unbatched: Cache[tuple[ShapedArray, int], ShapedArray] = Cache("types of examples", 4096)


def unbatched_aval(aval: ShapedArray, dim: int) -> ShapedArray:
    """Return the type of one example of a batch."""
    key = (aval, dim)
    cached = _unbatched.entries.get(key)
    if cached is None:
        cached = _unbatched.add(key, aval.remove_dimension(dim))
    return cached


class BatchTracer(Tracer):
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

    aval: ShapedArray
    value: ArrayLike
    dim: int

    def __init__(self, trace: "BatchTrace", value: ArrayLike, dim: int):
        self._trace = trace
        self.aval = unbatched_aval(get_aval(value), dim)  # pyright: ignore[reportArgumentType]
        self.value = value
        self.dim = dim

    def _origin_message(self) -> str:
        return self.value._origin_message() if isinstance(self.value, Tracer) else ""

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={get_aval(self.value)})"


class BatchTrace(Trace):
    """A trace that applies operations to whole batches, in the parent trace.

    Args:
      parent: the trace in which operations on batches are applied.
      axis: the mapped axis.
    """

    is_mapping: bool = True

    __slots__ = ("axis",)

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride]
    axis: Axis

    def __init__(self, parent: Trace, axis: Axis):
        super().__init__(parent)
        self.axis = axis

    def process(
        self, primitive: Primitive, args: tuple[ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Apply the batching rule of a primitive, unless no operand is batched."""
        values, dims, batched = self.split(args)
        if not batched and not self._requires_rule(primitive, params):
            return self.parent.process(primitive, args, params)
        previous = context.trace
        context.trace = self.parent
        try:
            result, dim = batch_rules[primitive](self.axis, values, dims, **params)
        finally:
            context.trace = previous
        if primitive.multiple_results:
            return [self.join(r, d) for r, d in zip(result, dim, strict=True)]
        return self.join(result, dim)

    def split(self, args: Sequence[ArrayLike]) -> tuple[list[ArrayLike], list[int | None], bool]:
        """Return the whole batches, their batch dimensions, and whether any operand is batched."""
        values: list[ArrayLike] = []
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

    def join(self, value: ArrayLike, dim: int | None) -> ArrayLike:
        """Return a tracer for one example of a batch; return an unbatched value unchanged."""
        return value if dim is None else BatchTracer(self, value, dim)

    def _requires_rule(self, primitive: Primitive, params: dict[str, Any]) -> bool:
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

    def __init__(self, parent: Trace, earlier: BatchTrace):
        super().__init__(parent, earlier.axis)
        before = earlier.earlier if isinstance(earlier, ResumedBatchTrace) else ()
        self.earlier: tuple[Trace, ...] = (*before, earlier)

    def is_same_as(self, other: Trace) -> bool:
        """Whether a trace is this one or one that it resumes."""
        return other is self or other in self.earlier

    def split(self, args: Sequence[ArrayLike]) -> tuple[list[ArrayLike], list[int | None], bool]:
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

    def join(self, value: ArrayLike, dim: int | None) -> ArrayLike:
        """See ``BatchTrace``."""
        if dim is None:
            return value
        previous, context.trace = context.trace, self.parent
        try:
            return BatchTracer(self, sharded(value, self.axis, dim), dim)
        finally:
            context.trace = previous


class _ResumedSharded(ResumedBatchTrace, _Sharded):
    """A resumed batching trace of a sharded axis."""

    __slots__ = ()


def batch_flat(
    fun: Callable[..., Sequence[ArrayLike]],
    axis: Axis,
    args: Sequence[ArrayLike],
    dims: Sequence[int | None],
    earlier: BatchTrace | None = None,
) -> tuple[list[ArrayLike], list[int | None]]:
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
    parent = context.trace
    trace = _trace_of(parent, axis, earlier)
    inputs = [
        MappedReference(trace, x, d) if d is not None and is_reference(x) else trace.join(x, d)  # pyright: ignore[reportArgumentType]
        for x, d in zip(args, dims, strict=True)
    ]
    names = context.name_stack
    context.trace, context.name_stack = trace, vmap_stack(names, axis.size)
    try:
        if axis.name is None:
            outs = fun(*inputs)
        else:
            with extend_axes([(axis.name, axis.size)]):
                outs = fun(*inputs)
        check_returned(outs, trace)
        values, out_dims, _ = trace.split(outs)
    finally:
        context.trace, context.name_stack = parent, names
        trace.alive = False
    if check_tracer_leaks.value:
        del inputs, outs
        check_leaks(trace)
    return values, out_dims


def _trace_of(parent: Trace, axis: Axis, earlier: BatchTrace | None) -> BatchTrace:
    if axis.sharding is None:
        return BatchTrace(parent, axis) if earlier is None else ResumedBatchTrace(parent, earlier)
    return _Sharded(parent, axis) if earlier is None else _ResumedSharded(parent, earlier)


def batch_jaxpr(
    jaxpr: Jaxpr,
    axis: Axis,
    dims: Sequence[int | None],
    out_dims: Sequence[int | None] | None = None,
) -> tuple[Jaxpr, list[int | None]]:
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
    jaxpr: Jaxpr,
    axis: Axis,
    dims: tuple[int | None, ...],
    targets: tuple[int | None, ...],
) -> tuple[Jaxpr, list[int | None]]:
    out_dims: list[int | None] = []

    def fun(*args: Array) -> list[ArrayLike]:
        run = lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs)
        values, value_dims = batch_flat(run, axis, args, dims)
        results: list[ArrayLike] = []
        for value, dim, target in zip(values, value_dims, targets, strict=True):
            if target is not None:
                value, dim = batched_at(value, dim, axis, target), target
            results.append(value)
            out_dims.append(dim)
        return results

    avals: list[AbstractValue] = [
        v.aval if dim is None else axis.batched_aval(v.aval, dim)
        for v, dim in zip(jaxpr.invars, dims, strict=True)
    ]
    return trace_to_jaxpr(fun, avals, jaxpr.debug_info), out_dims


def vmap[**P, R](
    fun: Callable[P, R],
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
    sum_match: bool = False,
) -> Callable[P, R]:
    """Vectorize a function: apply it to every example of a batch at once.

    The function is written for one example. Each of its operations is replaced by one on the whole
    batch; there is no loop.

    Args:
      fun: a function of pytrees of arrays.
      in_axes: the batch axis of the arguments: an int for all of them, or a tuple with one entry
        for each positional argument. An entry is an int, ``None`` (the argument is the same for
        all examples), or a pytree of these that is a prefix of the argument. Keyword arguments
        are mapped over axis 0.
      out_axes: the batch axis of the results: an int, ``None`` (the result is the same for all
        examples), or a pytree of these that is a prefix of the result.
      axis_name: a name by which collectives inside ``fun`` refer to the mapped axis.
      axis_size: the size of the mapped axis; needed only if no argument is mapped.
      spmd_axis_name: the mesh axis that the mapped axis is sharded over.
      sum_match: whether a result that differs between examples is summed over them if its
        ``out_axes`` is ``None``, instead of raising an error.

    Returns:
      A function that takes arguments, and returns results, with one more axis: for an array of
      shape ``s`` that ``fun`` returns, it returns one of shape ``(size, *s)``, or with the axis at
      the position in ``out_axes``.

    Raises:
      ValueError: if the mapped axes differ in size, or ``in_axes`` does not fit the arguments.
      TypeError: if ``in_axes`` is not an int, ``None`` or a tuple, or an argument is not an array.

    Example:
      A gradient for each example of a batch. The parameters are shared, so their entry of
      ``in_axes`` is ``None``.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def loss(w, x, y):
      ...     return (jnp.dot(w, x) - y) ** 2
      >>> w = jnp.array([1.0, -1.0])
      >>> xs = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
      >>> ys = jnp.array([0.0, 1.0, 2.0])
      >>> per_example = ricci.vmap(ricci.grad(loss), in_axes=(None, 0, 0))
      >>> per_example(w, xs, ys).tolist()
      [[-2.0, -4.0], [-12.0, -16.0], [-30.0, -36.0]]

      All pairs, by two maps:

      >>> pairs = ricci.vmap(ricci.vmap(jnp.dot, in_axes=(None, 0)), in_axes=(0, None))
      >>> pairs(xs, xs).shape
      (3, 3)

    Notes:
      ``in_axes`` describes positional arguments alone. An argument that all examples share is
      passed by position, or bound with ``functools.partial``: passed by keyword, it is mapped.

      Under a ``cond`` whose predicate differs between the examples both branches are computed, and
      a ``while_loop`` runs until the last example is done. A batch that does not fit into memory is
      processed in chunks by ``lax.map(f, xs, batch_size=...)``.

    See also:
      ``lax.map``, ``jnp.vectorize``, ``shard_map``, ``custom_vmap``.
    """
    check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple) or is_spec(in_axes)):
        raise TypeError(
            "vmap: in_axes must be an int, None, or a tuple with one entry for each positional "
            f"argument, got {in_axes!r}."
        )
    has_vmappable_size = not isinstance(axis_size, int | None)

    @looks_like(fun)
    @api_boundary
    def vmap_fun(*args: P.args, **kwargs: P.kwargs) -> R:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes has {len(in_axes)} entries, but {len(args)} positional arguments "
                "were passed. Give one entry for each, or an int for all."
            )
        if has_vmappable_size or (vmappable_classes and has_vmappable((args, kwargs))):
            options = axis_name, axis_size, spmd_axis_name, sum_match
            return _call_vmappable(fun, args, kwargs, in_axes, out_axes, *options)
        leaves, tree = tree_flatten((args, kwargs))
        if kwargs or isinstance(in_axes, tuple):
            try:
                dims = flatten_axes("vmap in_axes", tree, (in_axes, 0))
            except ValueError as error:
                raise _with_names(error, fun) from None
        else:
            dims = [in_axes] * len(leaves)
        names = lambda: argument_paths(args, kwargs, fun)
        dims, size = mapped_dims("vmap", leaves, dims, axis_size, names)
        check_distinct("vmap", leaves, names)
        axis = Axis(size, axis_name, spmd_axis_name, _sharding_of(leaves, dims, spmd_axis_name))
        out_tree: Any = None  # flat_fun sets it
        mapping: Mapping | None = None  # set by flat_fun for results of registered classes

        def flat_fun(*flat: ArrayLike) -> list[ArrayLike]:
            nonlocal out_tree, mapping
            flat_args, flat_kwargs = tree_unflatten(tree, flat)
            try:
                result = fun(*flat_args, **flat_kwargs)  # pyright: ignore[reportCallIssue]
            except (TypeError, ValueError) as error:
                _note_vmap(error, fun)
                raise
            if vmappable_classes and has_vmappable(result):
                arguments = Arguments(leaves, tree, dims, leaves, dims, size)
                mapping = Mapping(arguments, axis_size, _placement(axis, sum_match))
                mapping.collect(result, out_axes)
                return []
            out_leaves, out_tree = tree_flatten(result)
            for leaf in out_leaves:
                get_aval(leaf)
            return out_leaves

        values, out_dims = batch_flat(flat_fun, axis, leaves, dims)
        if mapping is not None:
            return mapping.result
        if isinstance(out_axes, int):
            targets = [out_axes] * len(values)
        else:
            targets = flatten_axes("vmap out_axes", out_tree, out_axes)
        outputs = lambda: _output_paths(out_tree)
        results = [
            batch_sum.call(value, dim)
            if sum_match and target is None and dim is not None
            else _place(value, dim, axis, target, i, outputs)
            for i, (value, dim, target) in enumerate(zip(values, out_dims, targets, strict=True))
        ]
        return tree_unflatten(out_tree, results)

    return vmap_fun


def _with_names(error: ValueError, fun: Callable[..., Any]) -> ValueError:
    """Replace paths into ``(args, kwargs)`` in an error about ``in_axes`` by argument names."""
    signature = read_signature(fun)
    names = [] if signature is None else list(signature.parameters)

    def name(match: re.Match[str]) -> str:
        position = int(match[1])
        return f"argument {names[position] if position < len(names) else position}"

    text = str(error).replace("in_axes[0]", "in_axes")
    return ValueError(re.sub(r"\bvalue\[0\]\[(\d+)\]", name, text))


def _note_vmap(error: Exception, fun: Callable[..., Any]) -> None:
    """Add a note to an error about shapes: these are the shapes of one example of a vmap."""
    noted = any("under vmap" in note for note in getattr(error, "__notes__", ()))
    if not noted and str(error).endswith(error_link("shapes")):
        name = getattr(fun, "__name__", type(fun).__name__)
        error.add_note(f"In {name}, under vmap: the shapes are those of one example.")


def _call_vmappable(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Any,
    axis_size: Any,
    spmd_axis_name: Any,
    sum_match: bool,
) -> Any:
    """Call a mapped function on arguments that may be of registered classes."""
    arguments = read_arguments(args, kwargs, in_axes, axis_size)
    sharding = _sharding_of(arguments.arrays, arguments.dims, spmd_axis_name)
    axis = Axis(arguments.size, axis_name, spmd_axis_name, sharding)
    mapping = Mapping(arguments, axis_size, _placement(axis, sum_match))

    def flat_fun(*arrays: ArrayLike) -> list[ArrayLike]:
        mapping.run(fun, arrays, out_axes)
        return []

    batch_flat(flat_fun, axis, arguments.arrays, arguments.dims)
    return mapping.result


def _placement(
    axis: Axis, sum_match: bool
) -> Callable[[ArrayLike, int | None, int | None], ArrayLike]:
    """Return a function that moves the batch dimension of arrays in registered classes."""

    def place(value: ArrayLike, dim: int | None, target: int | None) -> ArrayLike:
        if sum_match and target is None and dim is not None:
            return batch_sum.call(value, dim)
        return _place(value, dim, axis, target, 0, lambda: ["an array of the output"])

    return place


def _sharding_of(
    leaves: Sequence[ArrayLike], dims: Sequence[int | None], spmd_name: Hashable
) -> TypeSharding | None:
    """Return the sharding of the mapped axis in the types of the mapped arguments, or ``None``.

    Raises:
      ValueError: if their shardings differ, or are not along ``spmd_axis_name``.
    """
    types = [get_aval(x).type_sharding for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not any(types):  # the usual case
        return None
    meshes = {t.mesh for t in types if t is not None and t.is_divided}
    if not meshes:
        return None
    axis_parts = dict.fromkeys(
        () if t is None else t.parts[d]
        for t, d in zip(types, (d for d in dims if d is not None), strict=True)
    )
    if len(axis_parts) > 1:
        shown = " and ".join(", ".join(map(str, part)) or "None" for part in axis_parts)
        raise ValueError(
            "vmap: the mapped away dimension of all arguments should be sharded the same, but it "
            f"is sharded over {shown}. Move an argument with jax.sharding.reshard, or map one "
            "dimension less."
        )
    (part,) = axis_parts
    if not part:
        return None
    names = spmd_name if isinstance(spmd_name, tuple) else (spmd_name,)
    if spmd_name is not None and names != part:
        raise ValueError(
            f"vmap: spmd_axis_name={spmd_name!r}, but in the types of the arguments the mapped "
            f"dimension is sharded over {', '.join(map(str, part))} already. Leave out "
            "spmd_axis_name."
        )
    return make_type_sharding(meshes.pop(), (part,))


def _output_paths(tree: PyTreeDef) -> list[str]:
    """Return the name of each leaf of the result, for messages."""
    leaves = tree_flatten_with_path(tree_unflatten(tree, range(tree.num_leaves)))[0]
    return [f"output{keystr(path)}" for path, _ in leaves]


def _place(
    value: ArrayLike,
    dim: int | None,
    axis: Axis,
    target: int | None,
    i: int,
    outputs: Callable[[], list[str]],
) -> ArrayLike:
    """Move the batch dimension of result ``i`` to ``target``."""
    if target is None:
        if dim is None:
            return value
        raise ValueError(
            f"vmap has out_axes=None for {outputs()[i]}, but it depends on the mapped arguments: "
            f"its batch dimension is {dim}. Give the axis of the batch in out_axes, or pass "
            "sum_match=True for the sum over the batch."
        )
    check_axis("vmap: out_axes", target)
    ndim = len(get_aval(value).shape) + (dim is None)
    if not -ndim <= target < ndim:
        raise ValueError(
            f"vmap: out_axes={target} is out of bounds for {outputs()[i]}, of dimension {ndim} "
            "with the batch."
        )
    return as_array(batched_at(value, dim, axis, target % ndim))
