"""The form of an index for ``gather`` and ``scatter``: which dimensions are windows, which are
looked up, and the array of start positions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import INT32, constant, dtype_of, strong_constant
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape

from ._entries import ARRAY, DYNAMIC, INT, NEW, SLICE, WINDOW, ParsedIndex

# NumPy has no limits of these dtypes, and counts them as of another kind than integers.
_NARROW = frozenset(map(np.dtype, (ir.int2, ir.int4, ir.uint2, ir.uint4)))


class GatherPlan(NamedTuple):
    """Indices and dimension numbers of a ``gather`` or ``scatter``.

    Attributes:
      indices: the start positions, the last dimension one position; ``None`` if all is selected.
      shape: the result's shape, before new dimensions are added.
      offset, collapsed, mapped: the dimension numbers.
      slice_sizes: the window's size in each dimension.
      reverse: dimensions of the result that are selected backwards.
      new: the positions of new dimensions in the final result.
      is_regular: whether the positions are sorted and unique.
    """

    indices: ir.Array | None
    shape: tuple[int, ...]
    offset: tuple[int, ...]
    collapsed: tuple[int, ...]
    mapped: tuple[int, ...]
    slice_sizes: tuple[int, ...]
    reverse: tuple[int, ...]
    new: tuple[int, ...]
    is_regular: bool

    def gather_dimensions(self) -> lax.GatherDimensionNumbers:
        """The dimension numbers of ``lax.gather``."""
        return lax.GatherDimensionNumbers(
            offset_dims=self.offset,
            collapsed_slice_dims=self.collapsed,
            start_index_map=self.mapped,
        )

    def scatter_dimensions(self) -> lax.ScatterDimensionNumbers:
        """The dimension numbers of ``lax.scatter``."""
        return lax.ScatterDimensionNumbers(
            update_window_dims=self.offset,
            inserted_window_dims=self.collapsed,
            scatter_dims_to_operand_dims=self.mapped,
        )

    def final_shape(self) -> tuple[int, ...]:
        """The result's shape, with new dimensions."""
        sizes = iter(self.shape)
        count = len(self.shape) + len(self.new)
        return tuple(1 if i in self.new else next(sizes) for i in range(count))


class GatherForm(NamedTuple):
    """An index without the positions that are operands; hashable."""

    entries: tuple[tuple, ...]
    shape: tuple[int, ...]
    added: tuple[int, ...]
    has_array: bool
    wrap: bool
    gap: int | None

    def plan(self, operands: list[ir.ArrayLike]) -> GatherPlan:
        """The plan for given operands: one for each entry that has no value in the form."""
        return _Planner(self, operands).plan()


def gather_form(
    index: ParsedIndex, wrap: bool, *, positions_as_operands: bool
) -> tuple[GatherForm, list[ir.ArrayLike]]:
    """Split an index into its form and its operands.

    Args:
      index: the index.
      wrap: whether negative positions count from the end.
      positions_as_operands: whether ints are operands, too, rather than part of the form.
    """
    entries: list[tuple] = []
    operands: list[ir.ArrayLike] = []
    sizes, axis = index.shape, 0
    for entry in index.entries:
        kind = entry[0]
        if kind in (ARRAY, DYNAMIC) or (kind == INT and positions_as_operands):
            operands.append(_in_int32(entry[1]) if kind == INT else entry[1])
            entries.append((ARRAY,) if kind == ARRAY else (DYNAMIC,))
        elif kind == WINDOW:
            operands.append(entry[1])
            entries.append((WINDOW, entry[2], 1))
        # A slice's start is an operand as well, so that slices of one length share an executable;
        # that of the whole dimension has no position.
        elif kind == SLICE and positions_as_operands and entry[2:4] != (sizes[axis], 1):
            operands.append(entry[1])
            entries.append((WINDOW, entry[2], entry[3]))
        else:
            entries.append(entry[:4])
        # New dimensions are not in the operand.
        axis += kind != NEW
    form = GatherForm(tuple(entries), index.shape, index.added, index.has_array, wrap, index.gap)
    return form, operands


def _in_int32(value: int) -> int:
    """An int in 32 bits: far below 0 it stays out of bounds, else it wraps around, as in JAX."""
    if value < -0x80000000:
        return -0x80000000
    return (value + 0x80000000) % 0x100000000 - 0x80000000


def wrapped(x: ir.ArrayLike, size: int) -> ir.Array:
    """Positions with negative ones counted from the end; of a signed dtype that holds ``size``."""
    # Wrapped once, as NumPy does; an index that is still negative is out of bounds.
    return lax.select_n(lax.lt(x, constant(x, 0)), x, lax.add(x, constant(x, size)))


def widened[T: ir.ArrayLike](x: T, size: int) -> T | ir.Array:
    """Return positions in a dtype that counts to ``size``; those of 2 or 4 bits in int32."""
    dtype = dtype_of(x)
    if dtype in _NARROW:
        return lax.convert_element_type(x, INT32)
    # int8 positions in a dimension of 200: adding the size would overflow.
    if dtype.itemsize < 4 and not ir.surely_at_most(size, np.iinfo(dtype).max):
        return lax.convert_element_type(x, INT32)
    return x


def indexed_operand[T: ir.ArrayLike](x: T, added: tuple[int, ...]) -> T | ir.Array:
    """The array that is looked up: with a dimension of size 1 for each scalar mask."""
    return lax.expand_dims(x, added) if added else x


class _Planner:
    """Collects positions and dimension numbers in one pass over the entries."""

    def __init__(self, form: GatherForm, operands: list[ir.ArrayLike]):
        self.form = form
        self.operands = iter(operands)
        self.components: list[tuple[ir.ArrayLike, tuple[int, ...]]] = []
        self.batch: list[int] = []
        self.shape: list[int] = []
        self.offset: list[int] = []
        self.collapsed: list[int] = []
        self.mapped: list[int] = []
        self.slice_sizes: list[int] = list(form.shape)
        self.reverse: list[int] = []
        self.new: list[int] = []
        self.final = 0

    def plan(self) -> GatherPlan:
        form = self.form
        looked_up = self._looked_up()
        common: tuple[int, ...] = ()
        if form.has_array:
            common = broadcast_shape("indexing", *(np.shape(v) for _, _, v in looked_up))
            # All arrays of indices are broadcast together and select one element for each position,
            # as in NumPy.
            looked_up = [(p, a, strong_int32(broadcast(v, common))) for p, a, v in looked_up]
        positions = [position for position, _, _ in looked_up]
        together = bool(positions) and self._are_adjacent(positions)
        # As in NumPy, the dimensions of index arrays are in the place of the first array if the
        # arrays are adjacent, else in front.
        if form.has_array and not together:
            self._place(looked_up, common)
        axis = 0
        for position, entry in enumerate(form.entries):
            kind = entry[0]
            if kind == NEW:
                self.new.append(self.final)
                self.final += 1
                continue
            if kind == SLICE:
                self._slice(axis, *entry[1:])
            elif kind == WINDOW:
                start = next(v for p, _, v in self.windows if p == position)
                self._window(axis, start, *entry[1:])
            # Scalars only: each is a window of size 1, collapsed where it stands, without batch
            # dimensions.
            elif not form.has_array:
                self._place([item for item in looked_up if item[0] == position], ())
            elif together and position == positions[0]:
                self._place(looked_up, common)
            axis += 1
        return GatherPlan(
            self._indices(),
            tuple(self.shape),
            tuple(self.offset),
            tuple(sorted(self.collapsed)),
            tuple(self.mapped),
            tuple(self.slice_sizes),
            tuple(self.reverse),
            tuple(self.new),
            not form.has_array,
        )

    def _are_adjacent(self, positions: list[int]) -> bool:
        """Whether these entries are adjacent; an ellipsis between them separates them."""
        first, last = positions[0], positions[-1]
        gap = self.form.gap
        return last - first == len(positions) - 1 and (gap is None or not first < gap <= last)

    def _looked_up(self) -> list[tuple[int, int, ir.ArrayLike]]:
        """The entry's position, the dimension and the wrapped value of each position."""
        lookups = []
        self.windows: list[tuple[int, int, ir.ArrayLike]] = []
        axis = 0
        for position, entry in enumerate(self.form.entries):
            kind = entry[0]
            if kind == NEW:
                continue
            if kind != SLICE:
                value = entry[1] if kind == INT else next(self.operands)
                value = self._wrapped(value, self.form.shape[axis])
                if kind == WINDOW:
                    self.windows.append((position, axis, value))
                else:
                    lookups.append((position, axis, value))
            axis += 1
        return lookups

    def _wrapped(self, x: ir.ArrayLike, size: int) -> ir.ArrayLike:
        if type(x) is int:
            near = _in_int32(x)
            return near + size if x < 0 and self.form.wrap else near
        if dtype_of(x) in _NARROW or self.form.wrap:
            x = widened(x, size)
        if not self.form.wrap or dtype_of(x).kind == "u":
            return x
        if isinstance(x, np.ndarray):
            negative = x < 0  # of the values before conversion, which may not fit the dtype
            x = x.astype(ir.canonicalize_dtype(x.dtype))
            x = x if x.ndim else x[()]
            return lax.select_n(negative, x, lax.add(x, strong_constant(x.dtype, size)))
        return wrapped(x, size)

    def _place(
        self, items: Sequence[tuple[int, int, ir.ArrayLike]], common: tuple[int, ...]
    ) -> None:
        # Batch dimensions of the index array; slices with steps add further ones behind them.
        dims = tuple(range(len(self.batch), len(self.batch) + len(common)))
        for _, axis, value in items:
            self.components.append((value, dims))
            self.mapped.append(axis)
            self.collapsed.append(axis)
            self.slice_sizes[axis] = 1
        self.batch.extend(common)
        self.shape.extend(common)
        self.final += len(common)

    def _slice(self, axis: int, start: int, size: int, step: int) -> None:
        if step == 1:
            if start != 0 or size != self.form.shape[axis]:
                self.components.append((start, ()))
                self.mapped.append(axis)
                self.slice_sizes[axis] = size
            self.offset.append(len(self.shape))
        else:
            self._strided(axis, start, size, step)
        self.shape.append(size)
        self.final += 1

    def _strided(self, axis: int, start: ir.ArrayLike, size: int, step: int) -> None:
        # A gather's window has no stride, so the positions are looked up one by one. Ascending ones
        # are regular (sorted and unique), hence a negative step is reversed afterwards.
        steps = lax.mul(np.int32(step), lax.iota(INT32, size))
        places = lax.add(as_int32(start), steps)
        if step < 0:
            places = lax.rev(places, (0,))
            self.reverse.append(len(self.shape))
        self.components.append((places, (len(self.batch),)))
        self.mapped.append(axis)
        self.collapsed.append(axis)
        self.slice_sizes[axis] = 1
        self.batch.append(size)

    def _window(self, axis: int, start: ir.ArrayLike, size: int, step: int) -> None:
        if step != 1:
            self._strided(axis, strong_int32(start), size, step)
            self.shape.append(size)
            self.final += 1
            return
        self.components.append((start, ()))
        self.mapped.append(axis)
        self.slice_sizes[axis] = size
        self.offset.append(len(self.shape))
        self.shape.append(size)
        self.final += 1

    def _indices(self) -> ir.Array | None:
        if not self.components:
            return None
        # One column for each mapped dimension, in the order of start_index_map.
        shape = (*self.batch, 1)
        columns = [
            lax.broadcast_in_dim(as_int32(value), shape, dims) for value, dims in self.components
        ]
        return columns[0] if len(columns) == 1 else lax.concatenate(columns, len(shape) - 1)


def strong_int32[T: ir.ArrayLike](x: T) -> T | ir.Array:
    """An array of positions as ``int32``, and not weakly typed."""
    aval = ir.get_aval(x)
    if aval.dtype == INT32 and not aval.weak_type:
        return x
    return lax.convert_element_type_p.bind(x, new_dtype=INT32, weak_type=False, sharding=None)


def as_int32(x: ir.ArrayLike) -> ir.ArrayLike:
    """A position as ``int32``, whatever the default integer is: all positions have one dtype."""
    if type(x) is int:
        return np.int32(x)
    if ir.is_symbolic_dim(x):
        return strong_constant(INT32, x)
    if isinstance(x, np.ndarray):
        return np.asarray(x).astype(INT32)[()]
    return x if dtype_of(x) == INT32 else lax.convert_element_type(x, INT32)
