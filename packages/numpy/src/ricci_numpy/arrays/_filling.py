"""Arrays filled with one value: zeros, ones and others."""

from typing import Any, Protocol

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import place_of
from ricci_numpy._promotion import convert, operands, scalar_kinds

from ._broadcasting import as_shape, broadcast
from ._creation import checked_dtype, chosen_dtype, from_host, placed

__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]

# An array of up to this size is filled on the host, since an executable that fills it would have
# to be compiled for every shape.
_FILLED_ON_HOST = 1 << 14


class Shaped(Protocol):
    """Object with a shape and a dtype, such as a ``ShapeDtypeStruct``."""

    @property
    def shape(self) -> ir.Shape:
        """The length of each axis."""
        ...

    @property
    def dtype(self) -> object:
        """The type of the elements."""
        ...


def filled(
    shape: ir.Shape, value: ir.ArrayLike, dtype: Any, weak_type: bool, name: str
) -> ir.Array:
    """An array of a shape that is filled with a Python or NumPy scalar."""
    size = 1
    for n in shape:
        if n < 0:
            raise TypeError(f"{name}: sizes must not be negative, got shape {shape}.")
        size *= n
    if dtype not in ir.array_dtypes:
        return _filled_without_numbers(shape, value, dtype, name)
    if ir.context.trace is ir.eval_trace and size <= _FILLED_ON_HOST and ir.has_backend():
        return ir.backend().array(
            np.full(shape, value, dtype), ir.ShapedArray(shape, dtype, weak_type)
        )
    # While tracing: a broadcast of a literal of the right type, which takes no space in the module.
    if not weak_type:
        value = ir.exact_scalar(value, dtype)
    elif dtype == ir.BOOL or ir.python_scalar_dtype(ir.scalar_type_of(dtype)) != dtype:
        # Python's booleans are not weakly typed, its numbers have the width of the settings.
        weak = convert(ir.exact_scalar(value, dtype), dtype, True)
        return lax.broadcast_in_dim(weak, shape, ()) if shape else weak
    return lax.broadcast_in_dim(value, shape, ()) if shape else _rank_zero(value, dtype, weak_type)


def _unfilled(shape: ir.Shape, dtype: ir.DTypeLike, weak_type: bool, name: str) -> ir.Array:
    """An array whose elements may be anything; guards of transfers do not refuse it."""
    if dtype not in ir.array_dtypes or any(n < 0 for n in shape):
        return filled(shape, 0, dtype, weak_type, name)
    return convert(lax.empty(shape, dtype), dtype, weak_type)


def _filled_without_numbers(shape: ir.Shape, value: ir.ArrayLike, dtype: Any, name: str) -> Any:
    """``filled`` for the dtype of random keys, and for ``float0``."""
    if isinstance(dtype, ir.ExtendedDType):
        physical: Any = dtype.physical_aval(ir.ShapedArray(shape, dtype))
        return dtype.from_physical(filled(physical.shape, value, physical.dtype, False, name))
    return np.zeros(shape, dtype)  # float0 has no bits, so its arrays stay with NumPy


def _rank_zero(value: ir.ArrayLike, dtype: ir.DTypeLike, weak_type: bool) -> ir.Array:
    return from_host(np.asarray(value, dtype), weak_type, None if weak_type else dtype)


def zeros(
    shape: ir.ShapeLike,
    dtype: ir.DTypeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array of zeros.

    Args:
      shape: an int or a sequence of ints.
      dtype: its dtype, the default float without it.
      device, out_sharding: where it goes.

    Returns:
      An array of that shape and dtype.

    Raises:
      TypeError: if the shape is not made of non-negative integers, or arrays do not have the
        dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.zeros((2, 3)).tolist(), jnp.zeros(2, int).dtype
      ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype('int32'))
      >>> jnp.zeros(3).at[jnp.array([0, 2])].set(1.0).tolist()  # what `x[i] = 1` does in NumPy
      [1.0, 0.0, 1.0]

    Source: numpy.zeros.
    """
    result_dtype = checked_dtype(ir.explicit_dtype(dtype, "zeros"), "zeros")
    return placed(filled(as_shape(shape), 0, result_dtype, False, "zeros"), device, out_sharding)


def ones(
    shape: ir.ShapeLike,
    dtype: ir.DTypeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array of ones; see ``zeros``.

    Args:
      shape, dtype, device, out_sharding: as for ``zeros``.

    Returns:
      An array of that shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ones((2, 3)).tolist(), jnp.ones(2, "int8").dtype
      ([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], dtype('int8'))

    Source: numpy.ones.
    """
    result_dtype = checked_dtype(ir.explicit_dtype(dtype, "ones"), "ones")
    return placed(filled(as_shape(shape), 1, result_dtype, False, "ones"), device, out_sharding)


def empty(
    shape: ir.ShapeLike,
    dtype: ir.DTypeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array whose elements may be anything; here zeros. See ``zeros``.

    Args:
      shape, dtype, device, out_sharding: as for ``zeros``.

    Returns:
      An array of that shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.empty((2, 3)).shape
      (2, 3)

    Source: numpy.empty.
    """
    result_dtype = checked_dtype(ir.explicit_dtype(dtype, "empty"), "empty")
    return placed(_unfilled(as_shape(shape), result_dtype, False, "empty"), device, out_sharding)


def full(
    shape: ir.ShapeLike,
    fill_value: ir.ArrayLike,
    dtype: ir.DTypeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array filled with a value.

    Args:
      shape: an int or a sequence of ints.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype, by default that of ``fill_value``.
      device, out_sharding: where it goes.

    Returns:
      An array of that shape and dtype.

    Raises:
      TypeError: if ``fill_value`` is not an array or scalar.
      ValueError: if it does not broadcast to the shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.full((2, 2), 7).tolist(), jnp.full(2, 7.0).dtype
      ([[7, 7], [7, 7]], dtype('float32'))
      >>> jnp.full((2, 3), jnp.array([[1], [2]])).tolist()
      [[1, 1, 1], [2, 2, 2]]

    Source: numpy.full.
    """
    (fill_value,) = operands("full", fill_value)
    dtype = chosen_dtype(dtype, "full")
    return placed(_full(as_shape(shape), fill_value, dtype, "full"), device, out_sharding)


def _full(shape: ir.Shape, value: Any, dtype: Any, name: str) -> ir.Array:
    kind = type(value)
    if kind in scalar_kinds:  # an int may be larger than the default dtype holds
        result_dtype = ir.python_scalar_dtype(kind) if dtype is None else dtype
        weak = dtype is None and kind is not bool
        return filled(shape, _scalar(value, result_dtype, weak), result_dtype, weak, name)
    aval: Any = ir.get_aval(value)
    if hasattr(type(value), "aval"):
        result = value if dtype is None else convert(value, dtype)
        return broadcast_to(result, shape, name)
    result_dtype = aval.dtype if dtype is None else dtype
    if not aval.shape:
        return filled(shape, _scalar(value, result_dtype, False), result_dtype, False, name)
    return broadcast_to(
        from_host(np.asarray(value).astype(result_dtype), dtype=result_dtype), shape, name
    )


def _scalar(value: ir.ArrayLike, dtype: object, weak: bool) -> ir.ArrayLike:
    """A host scalar converted to a dtype; a Python scalar again if it is to stay weakly typed."""
    if dtype not in ir.array_dtypes:
        return value
    scalar = ir.converted_scalar(value[()] if isinstance(value, np.ndarray) else value, dtype)
    return scalar.item() if weak else ir.note_rounding(value, scalar)


def broadcast_to(x: ir.Array, shape: ir.Shape, name: str) -> ir.Array:
    """``x`` repeated to a shape.

    Raises:
      ValueError: if the shape of ``x`` does not broadcast to it.
    """
    x_shape = x.shape
    fits = len(x_shape) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(x_shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name}: an array of shape {x_shape} does not broadcast to shape {shape}."
        )
    return broadcast(x, shape)


def _like(
    name: str,
    a: ir.ArrayLike | Shaped,
    value: ir.ArrayLike,
    dtype: ir.DTypeLike | None,
    shape: ir.ShapeLike | None,
    device: object,
    out_sharding: object,
) -> ir.Array:
    """The array of the function ``name``, which takes its type from another array."""
    if hasattr(a, "shape") and hasattr(a, "dtype") and not hasattr(type(a), "aval"):
        aval: Any = ir.shaped_like(a)
    else:
        (a,) = operands(name, a)
        aval = ir.get_aval(a)
    sizes: ir.Shape = aval.shape if shape is None else as_shape(shape)
    if device is None and out_sharding is None:
        device = place_of(a, sizes)
    if hasattr(type(value), "aval") or np.ndim(value):
        filled_in = _full(sizes, value, aval.dtype if dtype is None else dtype, name)
        if dtype is None and not np.ndim(value):
            filled_in = convert(filled_in, aval.dtype, aval.weak_type)
        return ir.cast_varying(placed(filled_in, device, out_sharding), ir.varying(aval))
    weak = dtype is None and aval.weak_type
    result_dtype = aval.dtype if dtype is None else dtype
    if name == "empty_like":
        return placed(_unfilled(sizes, result_dtype, weak, name), device, out_sharding)
    if name == "full_like":
        value = _scalar(value, result_dtype, weak)
    elif weak:
        # A Python scalar, whose result is weakly typed like the prototype.
        value = np.asarray(value).astype(result_dtype).item()
    result = placed(filled(sizes, value, result_dtype, weak, name), device, out_sharding)
    # Inside shard_map, a result like an array that differs between devices may be combined with it.
    return ir.cast_varying(result, ir.varying(aval))


def zeros_like(
    a: ir.ArrayLike | Shaped,
    dtype: ir.DTypeLike | None = None,
    shape: ir.ShapeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array of zeros of the shape and dtype of another.

    Args:
      a: an array, a scalar, or anything with a shape and a dtype.
      dtype, shape: used instead of those of ``a``.
      device, out_sharding: where it goes; by default to where ``a`` is, if it was put there and
        has the shape.

    Returns:
      An array of the shape and dtype of ``a``, or those given.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.zeros_like(jnp.ones((2, 1), "int8"))
      Array([[0],
             [0]], dtype=int8)
      >>> params = {"w": jnp.ones((2, 2)), "b": jnp.ones(2)}
      >>> ricci.tree.map(jnp.zeros_like, params)["b"].tolist()
      [0.0, 0.0]

    Source: numpy.zeros_like.
    """
    dtype = chosen_dtype(dtype, "zeros_like")
    return _like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(
    a: ir.ArrayLike | Shaped,
    dtype: ir.DTypeLike | None = None,
    shape: ir.ShapeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array of ones of the shape and dtype of another; see ``zeros_like``.

    Args:
      a, dtype, shape, device, out_sharding: as for ``zeros_like``.

    Returns:
      An array of the shape and dtype of ``a``, or those given.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ones_like(jnp.zeros(2)).tolist()
      [1.0, 1.0]

    Source: numpy.ones_like.
    """
    dtype = chosen_dtype(dtype, "ones_like")
    return _like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(
    prototype: ir.ArrayLike | Shaped,
    dtype: ir.DTypeLike | None = None,
    shape: ir.ShapeLike | None = None,
    *,
    device: object = None,
) -> ir.Array:
    """An array like another whose elements may be anything; here zeros. See ``zeros_like``.

    Args:
      prototype: as ``a`` of ``zeros_like``.
      dtype, shape, device: as for ``zeros_like``.

    Returns:
      An array of that shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.empty_like(jnp.zeros(2)).shape
      (2,)

    Source: numpy.empty_like.
    """
    dtype = chosen_dtype(dtype, "empty_like")
    return _like("empty_like", prototype, 0, dtype, shape, device, None)


def full_like(
    a: ir.ArrayLike | Shaped,
    fill_value: ir.ArrayLike,
    dtype: ir.DTypeLike | None = None,
    shape: ir.ShapeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """An array of the shape and dtype of another, filled with a value; see ``full``.

    Args:
      a: as for ``zeros_like``.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype, shape, device, out_sharding: as for ``zeros_like``.

    Returns:
      An array of the shape and dtype of ``a``, or those given.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.full_like(jnp.zeros(2), 3).tolist()
      [3.0, 3.0]

    Source: numpy.full_like.
    """
    (fill_value,) = operands("full_like", fill_value)
    dtype = chosen_dtype(dtype, "full_like")
    return _like("full_like", a, fill_value, dtype, shape, device, out_sharding)
