"""Joining arrays along a dimension, along a new one, and as blocks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, DTypeLike
from ricci_numpy import _promotion as promotion

from ._reshaping import atleast_1d, atleast_2d, atleast_3d, ravel, reshaped
from ._transposing import moveaxis

__all__ = ["append", "block", "column_stack", "concat", "concatenate", "dstack", "hstack", "stack"]
__all__ += ["vstack"]

# Arrays to join: a sequence of them, or the parts of one along its first axis.
type Arrays = Sequence[ArrayLike] | Array | np.ndarray


type _Form = tuple[_Form, ...] | None


def _is_one_array(x: object) -> TypeGuard[Array | np.ndarray]:
    if hasattr(type(x), "aval"):
        # A library's sequence may have the attributes of arrays, each a tuple of its elements'.
        return isinstance(ir.get_aval(x), ir.AbstractValue)
    return isinstance(x, np.ndarray)


def _common(name: str, arrays: Sequence[ArrayLike], dtype: DTypeLike | None) -> list[Array]:
    """The arrays converted to ``dtype``, by default the one that they promote to."""
    checked = promotion.operands(name, *arrays)
    if dtype is None:
        return promotion.promote_dtypes(*checked)
    chosen = ir.explicit_dtype(dtype, name)
    return [promotion.convert(x, chosen) for x in checked]


@ir.may_return_operand
def concatenate(arrays: Arrays, axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Join arrays along one of their dimensions.

    Args:
      arrays: a sequence of arrays, whose shapes differ in that dimension only; or one array, of
        which the parts along the first dimension are joined. Dtypes are promoted.
      axis: the dimension; ``None`` joins the arrays flattened.
      dtype: the result's dtype.

    Returns:
      An array of the promoted dtype, or of ``dtype``.

    Raises:
      ValueError: if there are no arrays, one has rank 0, or ``axis`` does not exist.
      TypeError: if other dimensions differ, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> a, b = jnp.zeros((1, 2)), jnp.ones((2, 2))
      >>> jnp.concatenate([a, b]).tolist()
      [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
      >>> jnp.concatenate([a.T, b], axis=1).tolist()
      [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]

    See also:
      ``stack``, along a new dimension.

    Source: numpy.concatenate.
    """
    _refuse_separate("concatenate", axis)
    if _is_one_array(arrays):
        return _merge_rows(arrays, axis, dtype)
    parts: list[Any] = list(arrays)
    if not parts:
        raise ValueError("concatenate: the sequence of arrays is empty; give one or more.")
    if axis is None:
        return concatenate([ravel(x) for x in promotion.operands("concatenate", *parts)], 0, dtype)
    parts = _common("concatenate", parts, dtype)
    ranks = {np.ndim(x) for x in parts}
    if 0 in ranks:
        raise ValueError(
            "concatenate: arrays of rank 0 cannot be joined along a dimension; use stack."
        )
    axis = promotion.canonical_axis(axis, np.ndim(parts[0]))
    if len(ranks) > 1:
        raise TypeError(
            "concatenate: the arrays differ in rank, by their shapes "
            f"{', '.join(str(np.shape(x)) for x in parts)}. Reshape them to one rank first."
        )
    if len(parts) == 1:
        return ir.as_array(parts[0])
    return lax.concatenate(parts, axis)


def _merge_rows(arrays: Array | np.ndarray, axis: int | None, dtype: DTypeLike | None) -> Array:
    """``concatenate`` of the rows of one array."""
    (arrays,) = _common("concatenate", [arrays], dtype)
    shape = np.shape(arrays)
    if not shape:
        raise ValueError("concatenate: an array of rank 0 has no parts to join.")
    if axis is None:
        return ravel(arrays)
    if len(shape) == 1:
        raise ValueError("concatenate: the elements of a vector have rank 0; use stack.")
    axis = promotion.canonical_axis(axis, len(shape) - 1)
    sizes = list(shape[1:])
    sizes[axis] *= shape[0]
    # Joining all parts of one array is a reshape that merges two dimensions, however many there
    # are.
    return reshaped("concatenate", moveaxis(arrays, 0, axis), tuple(sizes))


def concat(arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """Join arrays along one of their dimensions; see ``concatenate``.

    Args:
      arrays, axis: as for ``concatenate``.

    Returns:
      An array of the promoted dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.concat([jnp.zeros(1), jnp.ones(1)]).tolist()
      [0.0, 1.0]

    Source: numpy.concat.
    """
    return concatenate(arrays, axis)


def stack(arrays: Arrays, axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Join arrays of one shape along a new dimension.

    Args:
      arrays: a sequence of arrays or scalars; dtypes are promoted.
      axis: the position of the new dimension in the result.
      out: must be ``None``.
      dtype: the result's dtype.

    Returns:
      An array with one dimension more, of the promoted dtype.

    Raises:
      ValueError: if there are none, or the shapes differ.
      TypeError: if one is not an array.
      NotImplementedError: if ``out`` is given.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.stack([jnp.zeros(2), jnp.ones(2)]).tolist()
      [[0.0, 0.0], [1.0, 1.0]]
      >>> jnp.stack([jnp.zeros(2), jnp.ones(2)], axis=1).tolist()
      [[0.0, 1.0], [0.0, 1.0]]
      >>> trees = [{"w": jnp.ones(2)}, {"w": jnp.zeros(2)}]
      >>> ricci.tree.map(lambda *xs: jnp.stack(xs), *trees)["w"].tolist()
      [[1.0, 1.0], [0.0, 0.0]]

    See also:
      ``concatenate``, along a dimension that is there.

    Source: numpy.stack.
    """
    promotion.no_out("stack", out)
    _refuse_separate("stack", axis)
    if _is_one_array(arrays):
        return _stack_rows(arrays, axis, dtype)
    if not len(arrays):
        raise ValueError("stack: the sequence of arrays is empty; give one or more.")
    parts = _common("stack", list(arrays), dtype)
    shapes = [np.shape(x) for x in parts]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(
            f"stack: the arrays differ in shape: {', '.join(map(str, shapes))}. Broadcast them "
            "first."
        )
    return lax.stack(parts, promotion.canonical_axis(axis, len(shapes[0]) + 1))


def _stack_rows(arrays: Array | np.ndarray, axis: int, dtype: DTypeLike | None) -> Array:
    """``stack`` of the rows of one array."""
    (arrays,) = _common("stack", [arrays], dtype)
    axis = promotion.canonical_axis(axis, np.ndim(arrays))
    if not ir.is_recording():
        return moveaxis(arrays, 0, axis)
    rows = lax.expand_dims(arrays, (axis + 1,))
    return concatenate(rows, axis)


def _refuse_separate(name: str, second: object) -> None:
    """Refuse arrays that are arguments of their own, as in ``concatenate(a, b)``."""
    if isinstance(second, Array | np.ndarray) and second.ndim:
        raise TypeError(
            f"{name} takes the arrays as one sequence. Write {name}([a, b]) in place of "
            f"{name}(a, b)."
        )


def _parts(name: str, tup: Arrays) -> list[Any]:
    """The arrays to join: those of a sequence, or the rows of one array."""
    if _is_one_array(tup):
        return list(lax.unstack(tup, 0))
    is_indexed = hasattr(type(tup), "__getitem__") and hasattr(type(tup), "__len__")
    if not isinstance(tup, Sequence) and (not is_indexed or isinstance(tup, Mapping)):
        raise TypeError(f"{name} takes a sequence of arrays, got {type(tup).__name__}.")
    promotion.check_arraylike(name, *tup)
    return list(tup)


def _each(at_least: Callable[[ArrayLike], Array], name: str, tup: Arrays) -> list[Array]:
    """The arrays to join, with the least number of dimensions that ``at_least`` gives them."""
    return [at_least(x) for x in _parts(name, tup)]


def _has_open_rows(tup: object) -> TypeGuard[Array | np.ndarray]:
    """Whether the argument is one array with a symbolic number of rows."""
    return _is_one_array(tup) and ir.is_symbolic_dim(np.shape(tup)[0])


def _joined(
    at_least: Callable[[ArrayLike], Array],
    name: str,
    tup: Arrays,
    axis: int,
    dtype: DTypeLike | None = None,
) -> Array:
    """The arrays joined; a symbolic number of rows of one array is joined by reshaping."""
    _refuse_separate(name, dtype)
    if not _has_open_rows(tup):
        return concatenate(_each(at_least, name, tup), axis, dtype)
    shape = np.shape(tup)
    aval: Any = ir.get_aval(tup)
    # The shape that at_least gives a row, tried on one.
    row = at_least(lax.full(shape[1:], 0, aval.dtype)).shape
    x = reshaped(name, tup, (shape[0], *row))
    x = moveaxis(x, 0, axis)
    joined = (*row[:axis], shape[0] * row[axis], *row[axis + 1 :])
    x = reshaped(name, x, joined)
    return x if dtype is None else lax.convert_element_type(x, dtype)


def hstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Join arrays along the second dimension, vectors and scalars along the first.

    Args:
      tup: a sequence of arrays or scalars.
      dtype: the result's dtype.

    Returns:
      An array of the promoted dtype, or of ``dtype``.

    Raises:
      ValueError, TypeError: see ``concatenate``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.hstack([jnp.zeros(1), jnp.ones(2)]).tolist()
      [0.0, 1.0, 1.0]

    Source: numpy.hstack.
    """
    _refuse_separate("hstack", dtype)
    if _has_open_rows(tup):
        axis = 0 if np.ndim(tup) < 3 else 1  # pyright: ignore[reportArgumentType]
        return _joined(atleast_1d, "hstack", tup, axis, dtype)
    arrays = _each(atleast_1d, "hstack", tup)
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype)


def vstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Join arrays along the first dimension, vectors as rows.

    Args:
      tup: a sequence of arrays.
      dtype: the result's dtype.

    Returns:
      An array of two dimensions or more.

    Raises:
      ValueError, TypeError: see ``concatenate``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.vstack([jnp.zeros(2), jnp.ones(2)]).tolist()
      [[0.0, 0.0], [1.0, 1.0]]

    Source: numpy.vstack.
    """
    return _joined(atleast_2d, "vstack", tup, 0, dtype)


def dstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Join arrays along the third dimension.

    Args:
      tup: a sequence of arrays.
      dtype: the result's dtype.

    Returns:
      An array of three dimensions or more.

    Raises:
      ValueError, TypeError: see ``concatenate``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.dstack([jnp.zeros(2), jnp.ones(2)]).shape
      (1, 2, 2)

    Source: numpy.dstack.
    """
    return _joined(atleast_3d, "dstack", tup, 2, dtype)


def column_stack(tup: Arrays) -> Array:
    """Join vectors as the columns of a matrix, and matrices side by side.

    Args:
      tup: a sequence of vectors and matrices with as many rows.

    Returns:
      A matrix of the promoted dtype.

    Raises:
      ValueError, TypeError: see ``concatenate``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.column_stack([jnp.zeros(2), jnp.ones(2)]).tolist()
      [[0.0, 1.0], [0.0, 1.0]]

    Source: numpy.column_stack.
    """
    if _has_open_rows(tup):
        as_columns = lambda x: lax.transpose(atleast_2d(x), (1, 0)) if np.ndim(x) < 2 else x
        return _joined(as_columns, "column_stack", tup, 1)
    columns = [
        lax.transpose(atleast_2d(x), (1, 0)) if np.ndim(x) < 2 else x
        for x in _parts("column_stack", tup)
    ]
    return concatenate(columns, 1)


@ir.dispatched("axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """An array with others appended; flattened if no axis is given.

    Args:
      arr, values: arrays or scalars.
      axis: the dimension; by default both are flattened.

    Returns:
      A new array of the promoted dtype.

    Raises:
      ValueError, TypeError: see ``concatenate``.

    Each call copies all elements: to collect in a loop, use a list and ``concatenate``, or
    ``lax.scan``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.append(jnp.arange(2), 7).tolist()
      [0, 1, 7]

    Source: numpy.append.
    """
    return _append(*promotion.operands("append", arr, values), axis=axis)


@ir.composite("append")
def _append(arr: Array, values: Array, *, axis: int | None) -> Array:
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


@ir.dispatched()
def block(arrays: ArrayLike | Sequence[Any]) -> Array:
    """An array put together from blocks, given as nested lists.

    The innermost lists are joined along the last dimension, those around them along the one
    before, and so on.

    Args:
      arrays: an array, or nested lists of arrays of equal depth.

    Returns:
      An array of the promoted dtype.

    Raises:
      ValueError: if the lists are nested to different depths, or one is empty.
      TypeError: if a block is a tuple, or shapes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.block([[jnp.zeros((1, 1)), jnp.ones((1, 2))]]).tolist()
      [[0.0, 1.0, 1.0]]

    Source: numpy.block.
    """
    leaves: list[Any] = []
    form = _block_form(arrays, leaves)
    depths = set(_depths(form, 0))
    if len(depths) > 1:
        raise ValueError(f"block: lists are nested to different depths, {sorted(depths)}.")
    return _block(*promotion.operands("block", *leaves), form=form, depth=depths.pop())


def _block_form(x: object, leaves: list[Any]) -> _Form:
    """The nesting as tuples, with ``None`` for each block; the blocks are added to ``leaves``."""
    if isinstance(x, tuple):
        raise TypeError("block: nest lists, not tuples.")
    if isinstance(x, list):
        if not x:
            raise ValueError("block: a list is empty.")
        return tuple(_block_form(part, leaves) for part in x)
    leaves.append(x)
    return None


def _depths(form: _Form, depth: int) -> list[int]:
    """The nesting depth of each block."""
    if form is None:
        return [depth]
    return [d for part in form for d in _depths(part, depth + 1)]


@ir.composite("block")
def _block(*leaves: Array, form: _Form, depth: int) -> Array:
    rank = max(depth, *(np.ndim(x) for x in leaves))
    # Lists of depth 1 are joined along the last axis, those of depth 2 along the one before.
    remaining = iter(leaves)

    def join(part: _Form, level: int) -> Array:
        if part is None:
            x = next(remaining)
            return lax.expand_dims(x, tuple(range(rank - np.ndim(x))))
        parts = [join(p, level - 1) for p in part]
        return concatenate(parts, rank - level)

    return join(form, depth)
