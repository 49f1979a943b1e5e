"""Dimension numbers and modes of gather and scatter, and checks on them."""

import enum
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, int_list

__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers"]


@ir.exported
class GatherDimensionNumbers(NamedTuple):
    """The roles of dimensions in ``gather``; as in StableHLO's attribute of that name.

    Attributes:
      offset_dims: the dimensions of the result that are the slices' dimensions.
      collapsed_slice_dims: the operand's dimensions, with slices of size 1, that are left out.
      start_index_map: for each component of an index, the operand's dimension it counts along.
      operand_batching_dims, start_indices_batching_dims: dimensions of the operand and of the
        indices that go together, one slice for each.

    The last dimension of the indices holds their components.
    """

    offset_dims: Sequence[int]
    collapsed_slice_dims: Sequence[int]
    start_index_map: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


@ir.exported
class ScatterDimensionNumbers(NamedTuple):
    """The roles of dimensions in ``scatter``; as in StableHLO's attribute of that name.

    Attributes:
      update_window_dims: the dimensions of the updates that are the windows' dimensions.
      inserted_window_dims: the operand's dimensions that the windows lack (of size 1 there).
      scatter_dims_to_operand_dims: for each component of an index, the operand's dimension it
        counts along.
      operand_batching_dims, scatter_indices_batching_dims: dimensions of the operand and of the
        indices that go together, one window for each.

    The last dimension of the indices holds their components. The fields correspond, one by one,
    to those of ``GatherDimensionNumbers`` for reading the same elements.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


@ir.exported
class GatherScatterMode(enum.Enum):
    """The treatment of indices out of bounds in ``gather`` and ``scatter``.

    ``CLIP`` moves slices into bounds; ``FILL_OR_DROP`` reads a fill value, and drops updates;
    ``PROMISE_IN_BOUNDS`` promises that there are none (otherwise the behaviour is undefined).
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(mode: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """The mode of a name: ``"clip"``, ``"fill"`` or ``"drop"``, ``"promise_in_bounds"``.

        Raises:
          ValueError: if there is no such mode.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode is None:
            return GatherScatterMode.FILL_OR_DROP
        named = _modes.get(mode)
        if named is None:
            raise ValueError(
                f"{mode!r} is not a mode for indices out of bounds: {', '.join(_modes)}."
            )
        return named


_modes: dict[str, GatherScatterMode] = {
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}
FILL = GatherScatterMode.FILL_OR_DROP


def shifted(dims: Sequence[int]) -> tuple[int, ...]:
    """Dimension numbers after a new dimension has been put in front."""
    return tuple(d + 1 for d in dims)


def check_dims(op: str, name: str, dims: Sequence[int], ndim: int, ordered: bool = True) -> None:
    """Raise ``TypeError`` unless these are distinct dimensions, in order, of an array."""
    if ordered and list(dims) != sorted(dims):
        raise TypeError(f"{op}: {name}={tuple(dims)} is not in increasing order.")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{op}: {name}={tuple(dims)} names a dimension twice.")
    for d in dims:
        if not 0 <= d < ndim:
            raise TypeError(
                f"{op}: {name} names dimension {d}, which is out of bounds: there are "
                f"dimensions 0 to {ndim - 1} only."
            )


def check_index_map(
    op: str, name: str, dims: Sequence[int], indices: ir.ShapedArray, ndim: int
) -> None:
    """Check the type of an array of indices, and which dimensions its components index.

    Raises:
      ValueError: if the indices are not integers.
      TypeError: if the components do not fit.
    """
    if not ir.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"{op}: the indices have dtype {indices.dtype}; convert them to integers.")
    if not indices.shape:
        raise TypeError(
            f"{op}: indices must have at least one dimension, the last holding the components of "
            "each index; got a scalar."
        )
    if len(dims) != indices.shape[-1]:
        raise TypeError(
            f"{op}: {name} names {len(dims)} dimensions, but the last dimension of indices, "
            f"which holds their positions, has size {indices.shape[-1]}."
        )
    for i, d in enumerate(dims):
        if not 0 <= d < ndim:
            raise TypeError(
                f"{op}: entry {i} of {name} is {d}, which is out of bounds: there are "
                f"dimensions 0 to {ndim - 1} only."
            )
    if len(set(dims)) != len(dims):
        raise TypeError(f"{op}: {name}={tuple(dims)} names a dimension twice.")


def check_batching(
    op: str,
    names: tuple[str, str, str, str],
    left_out: Sequence[int],
    index_map: Sequence[int],
    operand_dims: Sequence[int],
    indices_dims: Sequence[int],
    operand: ir.ShapedArray,
    indices: ir.ShapedArray,
) -> None:
    """Raise ``TypeError`` unless batching dimensions are distinct, and pairs equal in size."""
    left_out_name, map_name, operand_name, indices_name = names
    check_dims(op, operand_name, operand_dims, operand.ndim)
    check_dims(op, indices_name, indices_dims, indices.ndim - 1, ordered=False)
    for name, dims in ((left_out_name, left_out), (map_name, index_map)):
        if set(dims) & set(operand_dims):
            raise TypeError(
                f"{op}: a dimension is in both {name}={tuple(dims)} and "
                f"{operand_name}={tuple(operand_dims)}."
            )
    if len(operand_dims) != len(indices_dims):
        raise TypeError(
            f"{op}: {operand_name}={tuple(operand_dims)} and "
            f"{indices_name}={tuple(indices_dims)} are paired, so give as many of each."
        )
    sizes = tuple(operand.shape[d] for d in operand_dims)
    others = tuple(indices.shape[d] for d in indices_dims)
    if sizes != others:
        raise TypeError(
            f"{op}: the batching dimensions of the operand have sizes {sizes}, and those of "
            f"the indices {others}. They go together, so they must agree."
        )


def comparable_indices(ctx: Lowering, indices: Value) -> Value:
    """Indices in a type wide enough that comparing them with bounds is safe."""
    # A bound of a large array does not fit a narrow type, in which it would wrap around.
    if indices.dtype.itemsize >= 4:
        return indices
    out = indices.aval.update(dtype=np.dtype("int32"))
    return ctx.emit("stablehlo.convert", [indices], out, full=True)


def dims_attribute(pairs: Sequence[tuple[str, Sequence[int]]], index_vector_dim: int) -> str:
    """The fields of a dimension numbers attribute; empty ones are left out."""
    fields = [f"{name} = {int_list(dims)}" for name, dims in pairs if dims]
    return ", ".join([*fields, f"index_vector_dim = {index_vector_dim}"])


def dimension_tuple[D: (GatherDimensionNumbers, ScatterDimensionNumbers)](dims: D) -> D:
    """Dimension numbers whose fields are tuples of ints."""
    return type(dims)(*(tuple(map(index, field)) for field in dims))


_combiners: ir.Cache[Any, ir.Jaxpr] = ir.Cache("scatter combiners", 256)


def combiner(fun: Callable[[ir.Array, ir.Array], ir.ArrayLike], dtype: ir.DTypeLike) -> ir.Jaxpr:
    """The jaxpr that combines an element with its update, cached by function and dtype."""
    key = (fun, dtype)
    jaxpr = _combiners.entries.get(key)
    if jaxpr is None:
        scalar = ir.ShapedArray((), dtype)
        jaxpr = _combiners.make(key, ir.trace_to_jaxpr, lambda x, y: [fun(x, y)], [scalar, scalar])
    return jaxpr
