"""The batching trace, and ``vmap``."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ricci_ir import (
    Jaxpr,
    ShapedArray,
    Trace,
    Tracer,
    api_boundary,
    as_array,
    check_leaks,
    check_tracer_leaks,
    context,
    eval_jaxpr,
    extend_axes,
    get_aval,
    trace_to_jaxpr,
    under_vmap,
)
from ricci_pytree import (
    argument_paths,
    flatten_axes,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

from ._mapped import check_axis, mapped_dims
from ._rules import Axis, array_ops, batch_rules, batched_at, named_axes

_unbatched: dict[tuple[Any, int], Any] = {}


def unbatched_aval(aval: Any, dim: int) -> Any:
    """The type of one example of a batch."""
    key = (aval, dim)
    found = _unbatched.get(key)
    if found is None:
        shape = (*aval.shape[:dim], *aval.shape[dim + 1 :])
        found = _unbatched[key] = ShapedArray(shape, aval.dtype, aval.weak_type)
    return found


class BatchTracer(Tracer):
    """One example, standing for a batch of them: ``value`` has the batch at ``dim``."""

    __slots__ = ("dim", "value")

    def __init__(self, trace: "BatchTrace", value: Any, dim: int):
        self._trace = trace
        self.aval = unbatched_aval(get_aval(value), dim)
        self.value = value
        self.dim = dim

    def _origin_message(self) -> str:
        return self.value._origin_message() if isinstance(self.value, Tracer) else ""

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={get_aval(self.value)})"


class BatchTrace(Trace):
    """Applies each operation to whole batches in the parent trace."""

    __slots__ = ("axis",)

    parent: Trace

    def __init__(self, parent: Trace, axis: Axis):
        super().__init__(parent)
        self.axis = axis

    def process(self, primitive, args, params):
        values, dims, batched = self.split(args)
        if not batched and not self._names_axis(primitive, params):
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

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[int | None], bool]:
        """The whole batches, their batch dimensions, and whether there are any."""
        values = []
        dims = []
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

    def join(self, value: Any, dim: int | None) -> Any:
        """A tracer for one example; the value itself where it is the same for all."""
        return value if dim is None else BatchTracer(self, value, dim)

    def _names_axis(self, primitive, params) -> bool:
        name = self.axis.name
        return name is not None and name in named_axes(primitive, params)


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
) -> tuple[list[Any], list[int | None]]:
    """Run a flat function of one example on batches.

    Returns:
      The results and their batch dimensions (``None`` for one that is the same for all).
    """
    trace = BatchTrace(context.trace, axis)
    inputs = [trace.join(x, d) for x, d in zip(args, dims, strict=True)]
    previous = context.trace
    context.trace = trace
    try:
        with under_vmap(axis.size):
            if axis.name is None:
                values, out_dims, _ = trace.split(fun(*inputs))
            else:
                with extend_axes([(axis.name, axis.size)]):
                    values, out_dims, _ = trace.split(fun(*inputs))
    finally:
        context.trace = previous
        trace.alive = False
    if check_tracer_leaks.value:
        del inputs
        check_leaks(trace)
    return values, out_dims


def batch_jaxpr(
    jaxpr: Jaxpr,
    axis: Axis,
    dims: Sequence[int | None],
    out_dims: Sequence[int | None] | None = None,
) -> tuple[Jaxpr, list[int | None]]:
    """The jaxpr that applies a jaxpr to batches; kept on it.

    Args:
      jaxpr: the program for one example.
      axis: the mapped axis.
      dims: the batch dimension of each argument, or ``None``.
      out_dims: where the results' batch dimensions must be (``None`` in it leaves one as it
        comes); by default all as they come.

    Returns:
      The jaxpr, and the batch dimension of each result (``None``: the same for all).
    """
    dims = tuple(dims)
    wanted = tuple(out_dims) if out_dims is not None else (None,) * len(jaxpr.outvars)
    key = ("batch", axis, dims, wanted)
    return jaxpr.derived(key, lambda: _batch_jaxpr(jaxpr, axis, dims, wanted))


def _batch_jaxpr(jaxpr, axis, dims, wanted):
    found: list[int | None] = []

    def fun(*args):
        run = lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs)
        values, out_dims = batch_flat(run, axis, args, dims)
        results = []
        for value, dim, target in zip(values, out_dims, wanted, strict=True):
            if target is not None:
                value, dim = batched_at(value, dim, axis.size, target), target
            results.append(value)
            found.append(dim)
        return results

    avals = [
        aval if dim is None else _batched_aval(aval, axis.size, dim)
        for aval, dim in zip(jaxpr.in_avals, dims, strict=True)
    ]
    return trace_to_jaxpr(fun, avals, jaxpr.debug_info), found


def _batched_aval(aval: Any, size: int, dim: int) -> ShapedArray:
    shape = (*aval.shape[:dim], size, *aval.shape[dim:])
    return ShapedArray(shape, aval.dtype, aval.weak_type)


def vmap[**P, R](
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[P, R]:
    """The function that applies ``fun`` to each example of a batch at once.

    Args:
      fun: a function of pytrees of arrays.
      in_axes: which axis of each argument holds the batch: an int for all, or a tuple with, for
        each positional argument, an int, ``None`` (the argument is the same for all examples) or
        a pytree of them that is a prefix of the argument. Keyword arguments are mapped on axis 0.
      out_axes: where the batch goes in the results: an int, ``None`` for a result that is the
        same for all examples, or a prefix pytree of them.
      sum_match: where ``out_axes`` is ``None`` for a result that differs between examples, give
        its sum over them, the transpose of passing one argument to all; by default an error.
      axis_name: a name by which collectives inside ``fun`` can refer to the axis.
      axis_size: the size of the axis; needed only when nothing is mapped.
      spmd_axis_name: the mesh axis that the mapped axis is sharded over.

    Returns:
      A function of arguments with one more axis.

    Raises:
      ValueError: if the mapped axes differ in size, or ``in_axes`` does not fit the arguments.
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple)):
        raise TypeError(
            f"vmap: in_axes={in_axes!r} says nothing of positional arguments: give an int, None, "
            "or a tuple with one entry for each."
        )

    @wraps(fun, updated=())
    @api_boundary
    def vmap_fun(*args: P.args, **kwargs: P.kwargs) -> R:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes has {len(in_axes)} entries, and {len(args)} positional arguments "
                "were passed. Give one for each, or an int for all."
            )
        leaves, tree = tree_flatten((args, kwargs))
        if kwargs or isinstance(in_axes, tuple):
            dims = flatten_axes("vmap in_axes", tree, (in_axes, 0))
        else:
            dims = [in_axes] * len(leaves)
        names = lambda: argument_paths(args, kwargs, fun)
        dims, size = mapped_dims("vmap", leaves, dims, axis_size, names)
        out_tree = None

        def flat_fun(*flat):
            nonlocal out_tree
            flat_args, flat_kwargs = tree_unflatten(tree, flat)
            out_leaves, out_tree = tree_flatten(fun(*flat_args, **flat_kwargs))
            for leaf in out_leaves:
                get_aval(leaf)
            return out_leaves

        axis = Axis(size, axis_name, spmd_axis_name)
        values, out_dims = batch_flat(flat_fun, axis, leaves, dims)
        if isinstance(out_axes, int):
            targets = [out_axes] * len(values)
        else:
            targets = flatten_axes("vmap out_axes", out_tree, out_axes)
        outputs = lambda: _output_paths(out_tree)
        results = [
            array_ops.sum_over(value, dim)
            if sum_match and target is None and dim is not None
            else _place(value, dim, size, target, i, outputs)
            for i, (value, dim, target) in enumerate(zip(values, out_dims, targets, strict=True))
        ]
        return tree_unflatten(out_tree, results)

    return vmap_fun


def _output_paths(tree: Any) -> list[str]:
    """What messages call each leaf of the result."""
    leaves = tree_flatten_with_path(tree_unflatten(tree, range(tree.num_leaves)))[0]
    return [f"output{keystr(path)}" for path, _ in leaves]


def _place(
    value: Any,
    dim: int | None,
    size: int,
    target: int | None,
    i: int,
    outputs: Callable[[], list[str]],
) -> Any:
    if target is None:
        if dim is None:
            return value
        raise ValueError(
            f"vmap has out_axes=None for {outputs()[i]}, but it depends on the mapped arguments: "
            f"it was batched on axis {dim}. Give the axis where the batch should go, or "
            "sum_match=True for the sum over the batch."
        )
    check_axis("vmap: out_axes", target)
    ndim = len(get_aval(value).shape) + (dim is None)  # pyright: ignore
    if not -ndim <= target < ndim:
        raise ValueError(
            f"vmap: out_axes={target} is no place for the batch in {outputs()[i]}, which has rank "
            f"{ndim} with it."
        )
    return as_array(batched_at(value, dim, size, target % ndim))
