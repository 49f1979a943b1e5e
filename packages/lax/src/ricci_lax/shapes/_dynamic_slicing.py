"""Slices at computed positions: reading and replacing them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import cotangent_aval, instantiate, is_undefined_primal, linear_given
from ricci_batching import batch_rules
from ricci_lax.elementwise import add, convert_element_type, lt, select_n
from ricci_lax.structure._broadcasting import zeros_of
from ricci_lax.structure._operand_types import array_aval, as_sizes, shape_of
from ricci_stablehlo import Lowering, Value, write_dynamic_slice

from ._dimension_numbers import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from ._gather import gather_p
from ._joining import check_dtypes_match, stack_scalars, unstack
from ._scatter import scatter_p
from ._slicing import sliced_dimensions

__all__ = ["dynamic_slice", "dynamic_slice_p", "dynamic_update_slice", "dynamic_update_slice_p"]

# dynamic_slice


def _check_indices(name: str, x: ir.ShapedArray, indices: Sequence[ir.ShapedArray]) -> None:
    if any(not ir.issubdtype(i.dtype, np.integer) or i.dtype != indices[0].dtype for i in indices):
        raise TypeError(
            f"{name}: the start indices have dtypes "
            f"{', '.join(str(i.dtype) for i in indices)}. Give integers, all of one dtype."
        )
    if any(i.shape for i in indices):
        raise TypeError(
            f"{name}: each start index is a scalar, one for each dimension, but shapes "
            f"{', '.join(str(i.shape) for i in indices)} were given."
        )
    if len(indices) != x.ndim:
        raise ValueError(
            f"{name}: {len(indices)} indices were given for an operand of shape {x.shape}."
        )


def _dynamic_slice_aval(
    x: ir.ShapedArray, *indices: ir.ShapedArray, slice_sizes: ir.Shape
) -> ir.ShapedArray:
    _check_indices("dynamic_slice", x, indices)
    if len(slice_sizes) != x.ndim:
        raise ValueError(
            f"dynamic_slice: slice_sizes {slice_sizes} does not have one size for each dimension "
            f"of shape {x.shape}."
        )
    if any(n < 0 for n in slice_sizes):
        raise TypeError(f"dynamic_slice: slice_sizes {slice_sizes} holds a negative size.")
    if any(n > size for n, size in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(
            f"dynamic_slice: a slice of sizes {slice_sizes} is larger than the operand, of shape "
            f"{x.shape}."
        )
    return x.resized(slice_sizes)


def _dynamic_slice_tangent(result, primals, tangents, *, slice_sizes):
    return dynamic_slice_p.bind(tangents[0], *primals[1:], slice_sizes=slice_sizes)


def _dynamic_slice_transpose(ct, x, *indices, slice_sizes):
    # Both operations move a start that is out of bounds in the same way, so that positions agree.
    aval: Any = cotangent_aval(x.aval)
    into = dynamic_update_slice_p.bind(zeros_of(aval), ct, *indices)
    return [into, *[None] * len(indices)]


def _dynamic_slice_batch(axis, args, dims, *, slice_sizes):
    x, *indices = args
    if not indices:
        return x, dims[0]
    # The starts may differ between examples: a gather of one window each, which it clips as the
    # slice does.
    position, position_dim = stack_scalars(indices, dims[1:], axis.size)
    every = tuple(range(len(indices)))
    return batch_rules[gather_p](
        axis,
        (x, position),
        (dims[0], position_dim),
        dimension_numbers=GatherDimensionNumbers(every, (), every),
        slice_sizes=slice_sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def _dynamic_slice_lower(ctx: Lowering, x: Value, *indices: Value, slice_sizes: ir.Shape) -> Value:
    return write_dynamic_slice(ctx, x, indices, slice_sizes, ctx.out)


dynamic_slice_p: ir.Primitive = ir.define(
    "dynamic_slice",
    sharding=ir.factors(lambda *avals, slice_sizes: sliced_dimensions(avals, slice_sizes)),
    sums=ir.SumsRule("all", beside=slice(1, None)),
    abstract_eval=_dynamic_slice_aval,
    **linear_given(_dynamic_slice_tangent, tangent_first=True),
    transpose=_dynamic_slice_transpose,
    batch=_dynamic_slice_batch,
    lower=_dynamic_slice_lower,
)


def _start_indices(
    shape: ir.Shape, indices: ir.ArrayLike | Sequence[ir.ArrayLike], negative: bool | Sequence[bool]
) -> list[ir.ArrayLike]:
    """The indices of a dynamic slice as scalars; negative ones count from the end."""
    if not isinstance(indices, Sequence):
        ndim = len(shape_of(indices))
        if ndim != 1:
            raise ValueError(
                f"start indices of shape {shape_of(indices)} must be scalars or a vector; give one "
                "for each dimension."
            )
        if isinstance(indices, np.ndarray):
            indices = indices.astype(ir.canonicalize_dtype(indices.dtype))
        else:
            indices = unstack(indices)
    if len(indices) != len(shape):
        raise ValueError(
            f"{len(indices)} start indices were given for an array of shape {shape}; give "
            "one for each dimension."
        )
    flags = [negative] * len(shape) if isinstance(negative, bool) else negative
    return [
        _from_start(i, size) if allowed else _checked(i, size)
        for i, size, allowed in zip(indices, shape, flags, strict=True)
    ]


def _from_start(i: ir.ArrayLike, size: int) -> ir.ArrayLike:
    """An index with its axis's size added if it is negative."""
    if isinstance(i, int):
        return _strong(i + size if i < 0 else i)
    if ir.is_symbolic_dim(i):
        return _from_start(_strong(i), size)
    dtype = array_aval(i).dtype
    if not ir.issubdtype(dtype, np.signedinteger):
        return i
    # An index type that cannot hold the size wraps around, as the sum would.
    step = (
        convert_element_type(size, dtype)
        if ir.is_symbolic_dim(size)
        else ir.exact_scalar(size, dtype)
    )
    if isinstance(i, np.integer):
        if i >= 0:
            return i
        return add(step, i) if ir.is_symbolic_dim(size) else (i + step).astype(dtype)
    negative = lt(i, ir.exact_scalar(0, dtype))
    strong = convert_element_type(i, dtype) if ir.is_weakly_typed(i) else i
    return select_n(negative, i, add(strong, step))


def _strong(i: ir.ArrayLike) -> ir.ArrayLike:
    """A Python integer with a dtype that is not weak; anything else unchanged."""
    if ir.is_symbolic_dim(i):
        return convert_element_type(i, ir.python_scalar_dtype(int))
    return ir.python_scalar_dtype(int).type(i) if type(i) is int else i


def _checked(i: ir.ArrayLike, size: int) -> ir.ArrayLike:
    """Check that a concrete index is not negative."""
    if isinstance(i, int | np.integer) and i < 0:
        raise ValueError(
            f"start index {i} lies before the start of a dimension of size {size}. Pass "
            "allow_negative_indices=True to count it from the end."
        )
    return _strong(i)


def dynamic_slice(
    operand: ir.ArrayLike,
    start_indices: ir.ArrayLike | Sequence[ir.ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> ir.Array:
    """A part of an array, of fixed size, at a computed position.

    Args:
      operand: an array of any dtype.
      start_indices: where the part starts: an integer scalar for each dimension, or an array of
        them. The part is moved to lie within the array.
      slice_sizes: its shape.
      allow_negative_indices: whether negative positions count from the end.

    Returns:
      An array of shape ``slice_sizes`` and the operand's dtype.

    Raises:
      TypeError: if the part is larger than the array, or the positions are not integers of one
        dtype.
      ValueError: if there is not one position for each dimension.

    Example:
      The start may be traced, the sizes may not: they are the shape of the result. A window that
      slides along a signal:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> @ricci.jit
      ... def window(signal, start):
      ...     return lax.dynamic_slice(signal, (start,), (3,))
      >>> signal = jnp.array([0, 10, 20, 30, 40])
      >>> window(signal, 1).tolist()
      [10, 20, 30]
      >>> window(signal, 4).tolist()  # moved to lie within
      [20, 30, 40]

    Notes:
      A part that would reach out of bounds is moved, not cut: its elements are then not those that
      were requested, without an error. ``ricci.check`` reports it.

    See also:
      ``jnp.take`` and ``x[i]`` for single positions; ``dynamic_update_slice``.

    Source: StableHLO ``dynamic_slice``.
    """
    indices = _start_indices(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *indices, slice_sizes=as_sizes(slice_sizes))


# dynamic_update_slice


def _dynamic_update_slice_aval(
    x: ir.ShapedArray, update: ir.ShapedArray, *indices: ir.ShapedArray
) -> ir.ShapedArray:
    if x.ndim != update.ndim:
        raise TypeError(
            f"dynamic_update_slice: update has shape {update.shape} and operand {x.shape}; "
            "they need one rank. Add dimensions of size 1."
        )
    if any(n > size for n, size in zip(update.shape, x.shape, strict=True)):
        raise TypeError(
            f"dynamic_update_slice: an update of shape {update.shape} does not fit into an "
            f"operand of shape {x.shape}."
        )
    check_dtypes_match("dynamic_update_slice", (x, update))
    _check_indices("dynamic_update_slice", x, indices)
    return x.strip_weak_type()


def _dynamic_update_slice_tangent(result, primals, tangents):
    return dynamic_update_slice_p.bind(*map(instantiate, tangents[:2]), *primals[2:])


def _dynamic_update_slice_transpose(ct, x, update, *indices):
    ct_x = ct_update = None
    like = update.aval if is_undefined_primal(update) else array_aval(update)
    if is_undefined_primal(x):
        # The replaced elements have no influence on the result.
        aval: Any = cotangent_aval(like)
        ct_x = dynamic_update_slice_p.bind(ct, zeros_of(aval), *indices)
    if is_undefined_primal(update):
        ct_update = dynamic_slice_p.bind(ct, *indices, slice_sizes=like.shape)
    return [ct_x, ct_update, *[None] * len(indices)]


def _dynamic_update_slice_batch(axis, args, dims):
    x, update, *indices = args
    if not indices:
        return update, dims[1]
    # Likewise a scatter of one window for each example.
    position, position_dim = stack_scalars(indices, dims[2:], axis.size)
    every = tuple(range(len(indices)))
    return batch_rules[scatter_p](
        axis,
        (x, position, update),
        (dims[0], position_dim, dims[1]),
        dimension_numbers=ScatterDimensionNumbers(every, (), every),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        update_jaxpr=None,
        update_consts=(),
    )


def _dynamic_update_slice_lower(ctx: Lowering, *operands: Value) -> Value:
    return ctx.emit("stablehlo.dynamic_update_slice", operands, ctx.out, full=True)


def _dynamic_update_slice_factors(
    x: ir.ShapedArray, update: ir.ShapedArray, *indices: ir.ShapedArray
) -> ir.FactorMap:
    dims = tuple(range(x.ndim))
    return ir.FactorMap((dims, dims, *((),) * len(indices)), (dims,), alike=(0, 1))


dynamic_update_slice_p: ir.Primitive = ir.define(
    "dynamic_update_slice",
    sharding=ir.factors(_dynamic_update_slice_factors),
    sums=ir.SumsRule("all", beside=slice(2, None)),
    abstract_eval=_dynamic_update_slice_aval,
    **linear_given(_dynamic_update_slice_tangent),
    transpose=_dynamic_update_slice_transpose,
    batch=_dynamic_update_slice_batch,
    lower=_dynamic_update_slice_lower,
)


def dynamic_update_slice(
    operand: ir.ArrayLike,
    update: ir.ArrayLike,
    start_indices: ir.ArrayLike | Sequence[ir.ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> ir.Array:
    """An array with a part of it, at a computed position, replaced.

    Args:
      operand: an array of any dtype.
      update: the part, of the same dtype and rank.
      start_indices, allow_negative_indices: where it starts, as in ``dynamic_slice``.

    Returns:
      An array of the operand's shape and dtype. The operand is not changed.

    Raises:
      TypeError: if the part is larger than the array or of another dtype, or the positions are
        not integers of one dtype.
      ValueError: if there is not one position for each dimension.

    Example:
      A cache of fixed size, as in generating text: at each step one row is written.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> cache = jnp.zeros((3, 2))
      >>> for step in range(2):
      ...     cache = lax.dynamic_update_slice(cache, jnp.full((1, 2), step + 1.0), (step, 0))
      >>> cache.tolist()
      [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]

    Notes:
      An update that would reach out of bounds is moved into them, like the part that
      ``dynamic_slice`` reads. Outside of ``jit`` the array is copied; inside, the compiler writes
      in place where the old array is not used any more.

    See also:
      ``x.at[...].set(...)``, which takes NumPy's indices.

    Source: StableHLO ``dynamic_update_slice``.
    """
    indices = _start_indices(shape_of(operand), start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *indices)
