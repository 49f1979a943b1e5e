"""Parsing of an index into an entry for each of its parts."""

from operator import index as as_int
from typing import Any, NamedTuple, SupportsIndex, overload

import numpy as np

import ricci_ir as ir
from ricci_lax.authoring import Window
from ricci_numpy._promotion import as_operand, convert
from ricci_numpy.arrays._creation import asarray

# The kinds of entries. An entry is a tuple of its kind and what that kind needs:
INT = 0  # (INT, value): a Python int
DYNAMIC = 1  # (DYNAMIC, x): an integer array of rank 0
SLICE = 2  # (SLICE, start, size, step, limit): start is the first element's position
NEW = 3  # (NEW,): a new dimension of size 1
ARRAY = 4  # (ARRAY, x): an integer array of rank 1 or more
WINDOW = 5  # (WINDOW, start, size): consecutive elements, the start an integer array of rank 0


@overload
def ds(start: SupportsIndex | None, size: None = None, stride: int | None = None) -> slice: ...
@overload
def ds(start: SupportsIndex | None, size: int, stride: int | None = None) -> Window: ...
def ds(start: Any, size: int | None = None, stride: int | None = None) -> slice | Window:
    """An index for ``size`` elements from ``start``, which may be traced.

    Args:
      start: an int or an integer array of rank 0. Without ``size``, the number of elements, from
        the first on; ``None`` for all.
      size: a Python int. From a concrete start, only those of the elements that exist are
        selected, as by a slice.
      stride: the distance between elements; only 1 for a traced ``start``.

    Returns:
      An index or a part of one: ``x[ds(i, 3)]``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.arange(5)[ricci.ds(1, 2)].tolist()
      [1, 2]
    """
    if size is None:
        return slice(None, None, stride) if start is None else slice(0, ir.as_size(start), stride)
    return Window(0 if start is None else start, ir.as_size(size), 1 if stride is None else stride)


class ParsedIndex(NamedTuple):
    """An index, read into one entry for each of its parts.

    Attributes:
      entries: what each part selects, in order; all dimensions are covered.
      shape: the shape that is indexed, with the dimensions of size 1 that scalar masks add.
      added: the positions of those dimensions.
      has_array: whether an entry is an array of rank 1 or more.
      has_dynamic: whether an entry is an array of rank 0, or a window.
      gap: the position in ``entries`` of an ellipsis of no dimensions, or ``None``; it
        separates the entries around it.
    """

    entries: list[tuple]
    shape: tuple[int, ...]
    added: tuple[int, ...]
    has_array: bool
    has_dynamic: bool
    gap: int | None = None


def check_not_empty(size: int, axis: int) -> None:
    """Raise IndexError if a dimension has no positions."""
    if size == 0:
        raise IndexError(f"axis {axis} has size 0, so no index lies in it.")


def check_single_positions(index: ParsedIndex) -> None:
    """Raise IndexError if an index without arrays has a position in a dimension of size 0."""
    if index.has_array or 0 not in index.shape:
        return
    axis = 0
    for kind, *_ in index.entries:
        if kind in (INT, DYNAMIC):
            check_not_empty(index.shape[axis], axis)
        axis += kind != NEW


def _refused(part: object) -> Exception:
    if isinstance(part, str | bytes | bytearray):
        return TypeError(
            f"an array cannot be indexed with a string, got {part!r}: arrays have no named fields."
        )
    if isinstance(part, range):
        return TypeError(f"an index must be an array, not a sequence: write jnp.array({part!r}).")
    if isinstance(part, float | complex):
        return TypeError(
            f"an index must be an integer or a boolean, got {part!r} of type "
            f"{type(part).__name__}. Convert it with int(...) or use // instead of /."
        )
    return IndexError(
        f"{part!r} of type {type(part).__name__} is not an index: an index consists of integers, "
        "slices, `...`, `None`, and arrays of integers or booleans."
    )


def _as_part(part: Any) -> Any:
    """One part of an index as a slice, a window, ``None``, ``...``, a bool, an int or an array."""
    if part is None or part is Ellipsis or isinstance(part, slice | Window | bool | np.bool_):
        return part
    if hasattr(type(part), "aval") or isinstance(part, np.ndarray):
        return _as_index_array(part)
    if isinstance(part, int | np.integer):
        return int(part)
    if ir.is_symbolic_dim(part):
        return convert(part, np.dtype(np.int32))
    if isinstance(part, list | tuple):
        return _as_index_array(asarray(part) if len(part) else np.zeros(0, np.int32))
    if hasattr(part, "__jax_array__") or hasattr(part, "__ricci_array__"):
        return _as_part(as_operand(part))
    if isinstance(part, np.generic):
        return _as_index_array(part)
    if hasattr(part, "__index__"):
        return as_int(part)
    raise _refused(part)


def _as_index_array(part: Any) -> Any:
    """An array of an index: integers in a dtype that arrays can have, or a mask with its values."""
    if isinstance(part, np.ma.MaskedArray):
        return ir.get_aval(part)  # raises
    dtype = part.aval.dtype if hasattr(type(part), "aval") else part.dtype
    if dtype == ir.BOOL:
        return _as_mask(part)
    if not ir.issubdtype(dtype, np.integer):
        raise TypeError(
            f"an index array of type {ir.get_aval(part).str_short()} selects nothing: indices are "
            "integers or booleans. Convert it with astype(int)."
        )
    if isinstance(part, np.ndarray) and part.dtype.itemsize == 8:
        return part.astype(ir.canonicalize_dtype(part.dtype))
    return part


def _as_mask(mask: ir.Array | np.ndarray) -> np.ndarray | bool:
    """A mask with its values: a ``bool`` or a NumPy array."""
    if isinstance(mask, ir.Tracer):
        value = mask.concrete()
        if value is None:
            raise ir.NonConcreteBooleanIndexError(mask)
        mask = value
    values = np.asarray(mask)
    return values if values.ndim else bool(values)


def _width(part: object) -> int:
    """The number of dimensions that a part selects from."""
    if part is None or part is Ellipsis or isinstance(part, bool | np.bool_):
        return 0
    if isinstance(part, np.ndarray) and part.dtype == ir.BOOL:
        return part.ndim
    return 1


def _read_slice(part: slice, size: int, position: int) -> tuple:
    try:
        start, count, step, stop = ir.slice_positions(part, size)
    except TypeError:
        if any(isinstance(x, ir.Tracer) for x in (part.start, part.stop, part.step)):
            raise IndexError(
                f"the slice at position {position} of an index has a traced start, stop or step, "
                "so that the result has no static size.\nFor a window of "
                "static size at a traced position use x[ricci.ds(start, size)] or "
                "lax.dynamic_slice; to update one, lax.dynamic_update_slice."
            ) from None
        raise
    if step < 0 and count == 0:
        start, step = size - 1, -1
    return SLICE, start, count, step, stop


def read_index(shape: tuple[int, ...], index: ir.Index) -> ParsedIndex:
    """Read an index of an array.

    Args:
      shape: the array's.
      index: the value in the brackets.

    Raises:
      IndexError: if the index has too many parts, or one that is not an index, or a mask that does
        not fit; or a slice that is traced.
      TypeError: if a part is a float, a string, an array of neither integers nor booleans, or
        the index is a list.
      NonConcreteBooleanIndexError: if a mask is traced.
    """
    if type(index) is not tuple:
        if isinstance(index, str):
            raise _refused(index)
        if isinstance(index, list | bytes | bytearray | range):
            raise TypeError(
                f"an array is indexed with a {type(index).__name__}: it could mean an array of "
                "indices or one index for each dimension. Write x[jnp.array(index)] for the one "
                "or x[tuple(index)] for the other."
            )
        index = index if isinstance(index, tuple) and not isinstance(index, Window) else (index,)
    parts = [_as_part(part) for part in index]
    missing = len(shape) - sum(map(_width, parts))
    if missing < 0:
        raise IndexError(
            f"too many indices: an index for {len(shape) - missing} dimensions was given to an "
            f"array of {len(shape)}, of shape {shape}."
        )
    dots = sum(part is Ellipsis for part in parts)
    if dots > 1:
        raise IndexError(
            "the index holds two ellipses (...), whose numbers of dimensions are ambiguous. "
            "Keep one."
        )
    if not dots:
        parts.append(Ellipsis)
    return _read_parts(shape, parts, missing)


def _read_parts(shape: tuple[int, ...], parts: list, missing: int) -> ParsedIndex:
    # Reads the parts from left to right: ``axis`` is the dimension of ``x`` that the next part
    # indexes, ``sizes`` the shape of the indexed array with a dimension of size 1 for each boolean
    # scalar, which selects all of it or nothing. ``gap`` is where an empty ``...`` stands: it
    # separates arrays as a slice does.
    entries: list[tuple] = []
    sizes: list[int] = []
    added: list[int] = []
    axis = 0
    gap = None
    has_array = has_dynamic = False
    for position, part in enumerate(parts):
        if part is Ellipsis:
            if not missing:
                gap = len(entries)
            entries += [(SLICE, 0, n, 1, n) for n in shape[axis : axis + missing]]
            sizes += shape[axis : axis + missing]
            axis += missing
            continue
        if part is None:
            entries.append((NEW,))
            continue
        if isinstance(part, bool | np.bool_):
            added.append(len(sizes))
            sizes.append(1)
            entries.append((ARRAY, np.zeros(int(part), np.int32)))
            has_array = True
            continue
        if isinstance(part, np.ndarray) and part.dtype == ir.BOOL:
            _check_mask(part, shape, axis, position)
            entries += [(ARRAY, coordinates.astype(np.int32)) for coordinates in np.nonzero(part)]
            sizes += shape[axis : axis + part.ndim]
            axis += part.ndim
            has_array = True
            continue
        size = shape[axis]
        if type(part) is int:
            entries.append((INT, part))
        elif isinstance(part, slice):
            entries.append(_read_slice(part, size, position))
        elif isinstance(part, Window):
            entries.append(_read_window(part, size, position))
            has_dynamic = has_dynamic or entries[-1][0] == WINDOW
        elif part.ndim:
            entries.append((ARRAY, part))
            has_array = True
        else:
            entries.append((DYNAMIC, part))
            has_dynamic = True
        sizes.append(size)
        axis += 1
    return ParsedIndex(entries, tuple(sizes), tuple(added), has_array, has_dynamic, gap)


def _check_mask(mask: np.ndarray, shape: tuple[int, ...], axis: int, position: int) -> None:
    expected = shape[axis : axis + mask.ndim]
    # A dimension without elements selects nothing, whatever the array's size is there.
    if len(expected) != mask.ndim or any(
        n not in (0, size) for n, size in zip(mask.shape, expected, strict=True)
    ):
        raise IndexError(
            f"the boolean index at position {position} has shape {mask.shape}, but the dimensions "
            f"that it selects from have shape {expected}."
        )


def _read_window(part: Window, size: int, position: int) -> tuple:
    if isinstance(part.start, int | np.integer):
        start = int(part.start)
        stop = start + ir.max_dim((part.size - 1) * part.stride + 1, 0)
        return _read_slice(slice(start, stop, part.stride), size, position)
    if part.stride != 1:
        raise NotImplementedError(
            f"a window at a traced position must have stride 1, got {part.stride}. Index it with "
            "an array instead: x[start + stride * jnp.arange(size)]."
        )
    return WINDOW, part.start, part.size
