"""Collectives that reduce values over a named axis, and the index along it.

An enclosing ``pmap``, ``shard_map`` or ``vmap`` binds the name: to its devices or its batch.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ricci_autodiff import Zero, axis_sum, linear, not_linear, zero_derivative
from ricci_batching import Axis
from ricci_ir import (
    Array,
    ArrayLike,
    Primitive,
    PyTree,
    ShapedArray,
    api_boundary,
    axis_size,
    define,
    derived,
    get_aval,
    unsupported,
)
from ricci_lax import convert_element_type, div, iota, mul, reduce_max, reduce_min, reduce_sum
from ricci_pytree import tree_flatten, tree_map, tree_unflatten
from ricci_stablehlo import Lowering, Value

type AxisNames = tuple[Hashable, ...]


def _axes(axis_name: Hashable | Sequence[Hashable]) -> AxisNames:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def _check_axes(names: AxisNames) -> None:
    for name in names:
        axis_size(name)


def replica_groups(ctx: Lowering, names: AxisNames) -> str:
    """The attribute that lists the groups of devices in a collective over some mesh axes.

    Devices are numbered in the order of the mesh. A group varies along the given axes only.
    """
    sizes = ctx.module.axis_sizes
    order = list(sizes)
    ids = np.arange(int(np.prod(list(sizes.values()), dtype=np.int64))).reshape(
        tuple(sizes.values())
    )
    moved = [order.index(name) for name in names]
    kept = [i for i in range(len(order)) if i not in moved]
    groups = ids.transpose(*kept, *moved).reshape(-1, int(np.prod([sizes[n] for n in names])))
    rows = ", ".join(f"[{', '.join(map(str, row))}]" for row in groups)
    return f"dense<[{rows}]> : tensor<{groups.shape[0]}x{groups.shape[1]}xi64>"


def all_reduce_rule(op: str) -> Callable[..., list[Value]]:
    def lower(
        ctx: Lowering, *operands: Value, axes: AxisNames, axis_index_groups: None
    ) -> list[Value]:
        results: list[Value] = []
        for x in operands:
            scalar = ShapedArray((), x.dtype)
            region = ctx.region([scalar, scalar], lambda c, a, b: [c.emit(op, [a, b], a.aval)])
            channel = f"#stablehlo.channel_handle<handle = {ctx.module.new_channel()}, type = 1>"
            results += ctx.generic(
                "stablehlo.all_reduce",
                [x],
                [x.aval],
                f"channel_handle = {channel}, replica_groups = {replica_groups(ctx, axes)}, "
                "use_global_device_ids",
                [region],
            )
        return results

    return lower


def reduce_batch(reduce: Callable[[ArrayLike, int | None, int], ArrayLike]) -> derived:
    """The batching rule of a reduction over named axes.

    If the mapped axis is one of them, the batch is reduced by ``reduce(x, dim, size)``, and the
    collective goes over the other axes.
    """

    def make(primitive: Primitive) -> Callable[..., tuple[list[ArrayLike], list[int | None]]]:
        def batch(
            axis: Axis,
            args: Sequence[ArrayLike],
            dims: Sequence[int | None],
            *,
            axes: AxisNames,
            axis_index_groups: None,
        ) -> tuple[list[ArrayLike], list[int | None]]:
            if axis.name not in axes:
                outs = primitive.bind(*args, axes=axes, axis_index_groups=axis_index_groups)
                return outs, list(dims)
            rest = tuple(name for name in axes if name != axis.name)
            outs = [reduce(x, d, axis.size) for x, d in zip(args, dims, strict=True)]
            if rest:
                outs = primitive.bind(*outs, axes=rest, axis_index_groups=axis_index_groups)
            return outs, [None] * len(outs)

        return batch

    return derived(make)


def sum_over(x: ArrayLike, dim: int | None, size: int) -> Array:
    if dim is None:
        return mul(x, _scalar_like(x, size))
    return reduce_sum(x, (dim,))


def _scalar_like(x: ArrayLike, value: int) -> np.number:
    return get_aval(x).dtype.type(value)  # pyright: ignore[reportAttributeAccessIssue]


def _names(*, axes: AxisNames, **_: Any) -> AxisNames:
    return axes


def _psum_transpose(
    cts: Sequence[Any], *args: Any, axes: AxisNames, axis_index_groups: None
) -> list[Array | None]:
    given = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    summed = psum_p.bind(*(cts[i] for i in given), axes=axes, axis_index_groups=axis_index_groups)
    found = dict(zip(given, summed, strict=True))
    return [found.get(i) for i in range(len(cts))]


def _same_types(*avals: ShapedArray, axes: AxisNames, axis_index_groups: None) -> list[ShapedArray]:
    return [aval.strip_weak_type() for aval in avals]


# The sum of each operand over the devices (or examples) along named axes.
psum_p: Primitive = define(
    "psum",
    abstract_eval=_same_types,
    multiple_results=True,
    jvp=linear,
    transpose=_psum_transpose,
    batch=reduce_batch(sum_over),
    axis_names=_names,
    lower=all_reduce_rule("stablehlo.add"),
)

_no_derivative = unsupported("maxima and minima over a named axis are not differentiable; use psum")


def _extremum(name: str, op: str, reduce: Callable[..., Array]) -> Primitive:
    return define(
        name,
        abstract_eval=_same_types,
        multiple_results=True,
        jvp=_no_derivative,
        transpose=not_linear,
        batch=reduce_batch(lambda x, d, size: x if d is None else reduce(x, (d,))),
        axis_names=_names,
        lower=all_reduce_rule(op),
    )


pmax_p: Primitive = _extremum("pmax", "stablehlo.maximum", reduce_max)
pmin_p: Primitive = _extremum("pmin", "stablehlo.minimum", reduce_min)


def _bind_tree(primitive: Primitive, x: PyTree, axis_name: Hashable) -> PyTree:
    names = _axes(axis_name)
    _check_axes(names)
    leaves, tree = tree_flatten(x)
    outs = primitive.bind(*leaves, axes=names, axis_index_groups=None)
    return tree_unflatten(tree, outs)


@api_boundary
def psum(
    x: PyTree,
    axis_name: Hashable | Sequence[Hashable],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> PyTree:
    """The sum of ``x`` over a named axis.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      axis_index_groups: not supported; must be ``None``.

    Returns:
      A pytree like ``x``, the same on all devices. The sum of a Python number is known at trace
      time: ``psum(1, axis_name)`` is the size of the axis.

    Raises:
      NameError: if no enclosing ``pmap``, ``shard_map`` or ``vmap`` binds the axis name.
    """
    refuse_groups("psum", axis_index_groups)
    names = _axes(axis_name)
    size = axis_size(names)
    leaves, tree = tree_flatten(x)
    constant = [isinstance(leaf, int | float | complex) for leaf in leaves]
    summed = iter(
        psum_p.bind(
            *(_as_number(v) for v, c in zip(leaves, constant, strict=True) if not c),
            axes=names,
            axis_index_groups=None,
        )
        if not all(constant)
        else ()
    )
    return tree_unflatten(
        tree, [v * size if c else next(summed) for v, c in zip(leaves, constant, strict=True)]
    )


def _as_number(x: ArrayLike) -> ArrayLike:
    aval: Any = get_aval(x)
    return convert_element_type(x, np.dtype("int32")) if aval.dtype == np.bool_ else x


def refuse_groups(name: str, groups: object) -> None:
    """Raise ``NotImplementedError`` if ``axis_index_groups`` is given."""
    if groups is not None:
        raise NotImplementedError(
            f"{name}: axis_index_groups is not supported. Split the axis into two named axes "
            "instead: one over the groups, and one within each group."
        )


@api_boundary
def pmean(
    x: PyTree,
    axis_name: Hashable | Sequence[Hashable],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> PyTree:
    """The mean of ``x`` over a named axis; ``psum`` describes the arguments."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = axis_size(axis_name)

    def divide(value: ArrayLike) -> ArrayLike:
        if isinstance(value, int | float | complex):
            return value / size
        dtype = get_aval(value).dtype  # pyright: ignore[reportAttributeAccessIssue]
        if dtype.kind in "iub":
            value = convert_element_type(value, get_aval(1.0).dtype)  # pyright: ignore
        return div(value, _scalar_like(value, size))

    return tree_map(divide, total)


@api_boundary
def pmax(
    x: PyTree,
    axis_name: Hashable | Sequence[Hashable],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> PyTree:
    """The maximum of ``x`` over a named axis; ``psum`` describes the arguments."""
    refuse_groups("pmax", axis_index_groups)
    return _bind_tree(pmax_p, x, axis_name)


@api_boundary
def pmin(
    x: PyTree,
    axis_name: Hashable | Sequence[Hashable],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> PyTree:
    """The minimum of ``x`` over a named axis; ``psum`` describes the arguments."""
    refuse_groups("pmin", axis_index_groups)
    return _bind_tree(pmin_p, x, axis_name)


def _axis_index_lower(ctx: Lowering, *, axis_name: Hashable) -> Value:
    # Partitions are numbered in the order of the mesh, so the index along an axis is
    # partition_id // (the size of the axes after it) % (its own size).
    out = ctx.out
    sizes = ctx.module.axis_sizes
    order = list(sizes)
    minor = int(np.prod([sizes[n] for n in order[order.index(axis_name) + 1 :]], dtype=np.int64))
    unsigned = ShapedArray((), np.dtype("uint32"))
    device = ctx.generic("stablehlo.partition_id", [], [unsigned])[0]
    position = ctx.emit("stablehlo.divide", [device, ctx.constant(minor, unsigned)], unsigned)
    size = ctx.constant(sizes[axis_name], unsigned)
    index = ctx.emit("stablehlo.remainder", [position, size], unsigned)
    return ctx.emit("stablehlo.convert", [index], out)


def _axis_index_batch(
    axis: Axis, args: Sequence[ArrayLike], dims: Sequence[int | None], *, axis_name: Hashable
) -> tuple[Array, int]:
    return iota(np.dtype("int32"), axis.size), 0


# The position of this device (or example) along a named axis.
axis_index_p: Primitive = define(
    "axis_index",
    abstract_eval=lambda *, axis_name: ShapedArray((), np.dtype("int32")),
    jvp=zero_derivative,
    transpose=not_linear,
    batch=_axis_index_batch,
    axis_names=lambda *, axis_name: (axis_name,),
    lower=_axis_index_lower,
)


@api_boundary
def axis_index(axis_name: Hashable | Sequence[Hashable]) -> Array:
    """The position along a named axis, an ``int32`` scalar; along several axes, in row-major order.

    Raises:
      NameError: if no enclosing ``pmap``, ``shard_map`` or ``vmap`` binds the axis name.
    """
    index: Any = None
    for name in _axes(axis_name):
        size = axis_size(name)
        position = axis_index_p.bind(axis_name=name)
        index = position if index is None else index * np.int32(size) + position
    return index


axis_sum.register(psum)
