"""Arrays made from values: ``array``, ``asarray``, ``astype`` and ``copy``."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import constrain_to_place, create_at_place, with_out_sharding
from ricci_numpy._promotion import as_operand, check_arraylike, convert, operands, scalar_kinds

from ._broadcasting import broadcast

__all__ = ["array", "asarray", "astype", "copy"]


def checked_dtype[D: ir.DTypeLike | ir.ExtendedDType](dtype: D, name: str) -> D:
    """``dtype`` if arrays can have it.

    Raises:
      TypeError: for dtypes of strings, objects, dates and records.
    """
    if dtype in ir.array_dtypes or ir.is_array_dtype(dtype):
        return dtype
    raise TypeError(
        f"{name} cannot make an array of dtype {dtype}: arrays hold numbers and booleans only."
        f"{ir.instead_of(dtype)}"
    )


def chosen_dtype(dtype: ir.DTypeLike | None, name: str) -> np.dtype | None:
    """The requested dtype, checked, or ``None`` if none is requested."""
    return None if dtype is None else checked_dtype(ir.explicit_dtype(dtype, name), name)


def placed(x: ir.Array, device: object, out_sharding: object = None) -> ir.Array:
    """A new array on a device or with a sharding, if one is given."""
    if out_sharding is not None:
        return with_out_sharding(x, out_sharding)
    return x if device is None else create_at_place.call(x, device)


def constrained(x: ir.Array, device: object, out_sharding: object = None) -> ir.Array:
    """A value that a user has, on a device or with a sharding, if one is given.

    Raises:
      ValueError: if it is committed to other devices.
    """
    if out_sharding is not None:
        return with_out_sharding(x, out_sharding)
    return x if device is None else constrain_to_place.call(x, device)


def uploads_are_guarded() -> bool:
    """Whether copies from the host are logged or refused, so results must not come from NumPy."""
    return ir.transfer_guard_host_to_device.value not in (None, "allow")


def from_host(value: np.ndarray, weak_type: bool = False, dtype: ir.DTypeLike | None = None) -> Any:
    """Return an array of a NumPy array's values; 64-bit dtypes are narrowed while those are off.

    A dtype that is given is not narrowed. While tracing, a scalar becomes a literal of the jaxpr,
    unless it is of a 64-bit dtype while those are off.
    """
    aval = ir.ShapedArray(value.shape, dtype or ir.canonicalize_dtype(value.dtype), weak_type)
    # lift() would narrow a 64-bit scalar, although its dtype was asked for explicitly.
    literal = dtype is None or ir.canonicalize_dtype(dtype) == dtype
    if literal and not value.shape and ir.context.trace is not ir.eval_trace:
        scalar = ir.context.trace.lift(value.item() if weak_type else value.astype(aval.dtype)[()])
        if isinstance(scalar, ir.Tracer):
            return scalar
    if not ir.has_backend():
        # Functions can be traced without a backend; a NumPy array is a constant of the jaxpr.
        return value.astype(aval.dtype)
    return ir.backend().array(value, aval)


def asarray(
    a: ir.ArrayLike | Sequence[Any],
    dtype: ir.DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """Make an array of a value; an array is returned unchanged.

    Args:
      a: an array, a scalar, a nested list or tuple of those, or an object with a method
        ``__jax_array__`` or ``__array__``.
      dtype: the result's dtype. By default a Python scalar gives a weakly typed array, and other
        values what their elements promote to.
      order: only ``None`` and ``"K"``.
      copy: whether the result must be a new array.
      device, out_sharding: where the result goes.

    Returns:
      An array, of the default dtypes for Python's numbers; 64-bit dtypes of NumPy's are halved
      unless 64-bit dtypes are on.

    Raises:
      TypeError: if ``a`` holds strings, objects or other values that are not numbers.
      ValueError: if ``a`` is or holds ``None``, or is ragged.
      OverflowError: if the dtype cannot hold an integer.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> jnp.asarray([1, 2.5]).dtype, jnp.asarray(np.ones(2)).dtype
      (dtype('float32'), dtype('float32'))
      >>> x = jnp.ones(2)
      >>> jnp.asarray(x) is x
      True

    See also:
      ``array``, which makes a new one.

    Source: numpy.asarray.
    """
    dtype = chosen_dtype(dtype, "asarray")
    return _array(a, dtype, bool(copy), order, 0, device, out_sharding, "asarray")


def array(
    object: object,
    dtype: ir.DTypeLike | None = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """Make a new array of a value.

    Args:
      object: an array, a scalar, a nested list or tuple of those (traced arrays included), or an
        object with a method ``__jax_array__`` or ``__array__``.
      dtype: the result's dtype; see ``asarray``.
      copy: whether an array is copied.
      order: only ``None`` and ``"K"``.
      ndmin: the least number of dimensions; leading ones of size 1 are added.
      device, out_sharding: where the result goes.

    Returns:
      An array of the default dtypes (float32, int32) for Python's numbers, and of a NumPy value's
      dtype, 64-bit ones halved unless 64-bit dtypes are on.

    Raises:
      TypeError: if ``object`` holds strings, objects or other values that are not numbers.
      ValueError: if ``object`` is or holds ``None``, or is ragged.
      OverflowError: if the dtype cannot hold an integer.

    A long list of traced scalars is as many operations; build arrays by array operations.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> x.shape, x.dtype
      ((2, 2), dtype('int32'))
      >>> jnp.array([1, 2.5]), jnp.array([1, 2], "bfloat16").dtype
      (Array([1. , 2.5], dtype=float32), dtype(bfloat16))
      >>> y = x.at[0, 0].set(9)  # arrays do not change: a new one
      >>> int(x[0, 0]), int(y[0, 0])
      (1, 9)

    See also:
      ``asarray``, which copies only if it must.

    Source: numpy.array.
    """
    dtype = chosen_dtype(dtype, "array")
    return _array(object, dtype, copy, order, ndmin, device, out_sharding, "array")


def _array(
    x: object,
    dtype: ir.DTypeLike | None,
    copy: bool,
    order: str | None,
    ndmin: int,
    device: object,
    out_sharding: object,
    name: str,
) -> ir.Array:
    if order is not None and order != "K":
        raise NotImplementedError(
            f"{name}: order={order!r} is not supported, since arrays have no memory order to "
            "choose. Leave it out."
        )
    result = ir.note_rounding(x, _from_value(x, dtype, copy, name))
    if result.ndim < ndmin:
        result = broadcast(result, (1,) * (ndmin - result.ndim) + result.shape)
    if device is None and out_sharding is None:
        return result
    return constrained(result, device, out_sharding)


def _from_value(x: Any, dtype: ir.DTypeLike | None, copy: bool, name: str) -> ir.Array:
    if hasattr(type(x), "aval"):
        # An explicit dtype is strong: a weakly typed array of the same dtype must lose its
        # weakness.
        if dtype is None or x.aval.dtype == dtype:
            if dtype is not None and x.aval.weak_type:
                return convert(x, dtype)
            return lax.copy_p.bind(x) if copy else ir.as_array(x)
        return convert(x, dtype)
    if type(x) in scalar_kinds:
        if dtype is not None:
            return from_host(_host_array(x, dtype, name), dtype=dtype)
        # Python's booleans are not weakly typed: there is no narrower dtype to yield to.
        return from_host(_host_array(x, ir.coerce_to_array_dtype(x), name), type(x) is not bool)
    if type(x) is np.ndarray or isinstance(x, np.ndarray | np.generic):
        if name == "asarray" and type(x) is not np.ndarray:
            ir.get_aval(x)  # which refuses masked arrays; array() takes their data
        if x.dtype not in ir.array_dtypes:
            ir.coerce_to_array_dtype(x)
        if dtype is None:
            return from_host(np.asarray(x))
        return from_host(np.asarray(x).astype(dtype, copy=False), dtype=dtype)
    if x is None:
        raise ValueError(f"{name} cannot make an array of None.")
    if _has_array(x):
        return _from_value(as_operand(x), dtype, copy, name)
    if isinstance(x, list | tuple):
        return _from_sequence(x, dtype, name)
    if isinstance(x, str | bytes) and dtype is not None:
        return from_host(_host_array(x, dtype, name), dtype=dtype)
    value = np.asarray(x)
    if value.dtype not in ir.array_dtypes and dtype is None:
        _refuse(x, name, value.dtype)
    return _from_value(value, dtype, copy, name)


def _refuse(x: object, name: str, dtype: np.dtype) -> NoReturn:
    kind = type(x)
    raise TypeError(
        f"{name} cannot make an array of {x!r}, of type {kind.__module__}.{kind.__qualname__}: "
        f"arrays hold numbers and booleans only.{ir.instead_of(dtype)}"
    )


def _host_array(x: Any, dtype: ir.DTypeLike, name: str) -> np.ndarray:
    try:
        return np.array(x, dtype)
    except ValueError as error:
        # NumPy's message for ragged sequences; other errors, as of unreadable strings, are passed
        # through.
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{name}: the nested sequence is ragged: {_raggedness(x)}. All parts at one depth "
            "must have one length; pad the short ones."
        ) from None


def _raggedness(x: Sequence[Any], path: str = "") -> str:
    shapes = [np.shape(part) if _is_regular(part) else None for part in x]
    for i, (part, shape) in enumerate(zip(x, shapes, strict=True)):
        if shape is None:
            return _raggedness(part, f"{path}[{i}]")
        if shape != shapes[0]:
            return f"element {path}[0] has shape {shapes[0]} and {path}[{i}] has shape {shape}"
    return "its parts differ in length"


def _is_regular(x: Any) -> bool:
    try:
        np.shape(x)
    except ValueError:
        return False
    return True


def _has_array(x: object) -> bool:
    """Whether an object of another class has a method that returns an array."""
    return hasattr(x, "__jax_array__") or hasattr(x, "__ricci_array__")


def _type_of_other(x: object, name: str) -> tuple[np.dtype, bool]:
    """The dtype that NumPy gives to an element of a sequence, and whether it is weak."""
    for kind in (int, float, complex):  # subclasses of them
        if isinstance(x, kind):
            return ir.python_scalar_dtype(kind), True
    if x is None:
        raise ValueError(f"{name} cannot make an array of a sequence that holds None.")
    value = np.asarray(x)
    if value.dtype not in ir.array_dtypes:
        _refuse(x, name, value.dtype)
    return ir.coerce_to_array_dtype(value), False


class _Elements:
    """Element types and arrays of a nested sequence."""

    __slots__ = ("arrays", "kinds", "types")

    def __init__(self):
        self.kinds: set[type] = set()
        self.types: set[tuple[np.dtype, bool]] = set()
        self.arrays: list[ir.Array] = []

    def collect(self, x: Sequence[Any], name: str) -> None:
        """Add the elements of a nested sequence."""
        for part in x:
            kind = type(part)
            if kind in scalar_kinds:
                self.kinds.add(kind)
            elif kind is list or kind is tuple:
                self.collect(part, name)
            else:
                self.add(part, name)

    def add(self, x: Any, name: str) -> None:
        """Add an element that is neither a Python scalar nor a list or tuple."""
        if hasattr(type(x), "aval"):
            self.arrays.append(x)
            self.types.add((x.aval.dtype, x.aval.weak_type))
        elif isinstance(x, np.ndarray | np.generic):
            # An empty array has no elements whose dtype could count, as in NumPy's promotion of
            # sequences.
            if x.size or not x.ndim:
                self.types.add((ir.coerce_to_array_dtype(x), False))
        elif _has_array(x):
            self.add(as_operand(x), name)
        elif isinstance(x, list | tuple):
            self.collect(x, name)
        else:
            self.types.add(_type_of_other(x, name))

    def dtype(self) -> np.dtype:
        """The dtype that the elements promote to; the default float if there are none."""
        # Types are collected as sets, so that a list of a million floats promotes two or three
        # types.
        pairs = [(ir.python_scalar_dtype(kind), kind is not bool) for kind in self.kinds]
        pairs.extend(self.types)
        return ir.lattice_result_type(*pairs)[0] if pairs else ir.python_scalar_dtype(float)


def _from_sequence(
    x: list[Any] | tuple[Any, ...], dtype: ir.DTypeLike | None, name: str
) -> ir.Array:
    elements = _Elements()
    try:
        elements.collect(x, name)
    except TypeError:
        # With a dtype given, NumPy reads strings of digits as numbers.
        if dtype is None or elements.arrays:
            raise
        return from_host(_host_array(x, dtype, name), dtype=dtype)
    if dtype is None:
        dtype = elements.dtype()
    if not elements.arrays:
        return from_host(_host_array(x, dtype, name), dtype=dtype)
    # Outside of traces, scalars of devices are read: one copy of the whole to the device instead of
    # a concatenation with an operand for each element.
    if ir.context.trace is ir.eval_trace and all(
        not a.aval.shape and not isinstance(a, ir.Tracer) and a.aval.dtype in ir.array_dtypes
        for a in elements.arrays
    ):
        return from_host(_host_array(_on_host(x, dtype), dtype, name), dtype=dtype)
    return _stacked(x, dtype, name)


def _on_host(x: object, dtype: ir.DTypeLike) -> object:
    """A nested sequence with its scalar arrays replaced by NumPy scalars."""
    if isinstance(x, list | tuple):
        return [_on_host(part, dtype) for part in x]
    x = as_operand(x)
    if not hasattr(type(x), "aval"):
        return x
    value = np.asarray(x)[()]
    # Arrays are converted by their real parts; NumPy would ask if the number is 0.
    return np.real(value) if dtype == ir.BOOL else value


def _stacked(x: Any, dtype: ir.DTypeLike, name: str) -> Any:
    """An array of a nested sequence that holds arrays: its parts, concatenated at each depth."""
    if not isinstance(x, list | tuple):
        x = as_operand(x)
        if type(x) in scalar_kinds:
            return np.array(x, dtype)[()]
        return convert(x, dtype) if hasattr(type(x), "aval") else np.asarray(x).astype(dtype)
    parts = [_stacked(part, dtype, name) for part in x]
    if not parts:
        return np.zeros((0,), dtype)
    shapes = [np.shape(part) for part in parts]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise TypeError(
                f"{name}: the parts of a sequence must have one shape, but the first has "
                f"{shapes[0]} and number {i} has {shape}."
            )
    # One concatenation at each depth: the number of operations is the number of nested sequences.
    return lax.concatenate([broadcast(part, (1, *np.shape(part))) for part in parts], 0)


def astype(
    x: ir.ArrayLike, dtype: ir.DTypeLike | None, /, *, copy: bool = False, device: object = None
) -> ir.Array:
    """An array with its elements converted to a dtype.

    Args:
      x: an array or scalar.
      dtype: the dtype; ``None`` is the default float.
      copy: whether the result must be a new array.
      device: where the result goes.

    Returns:
      An array of the shape of ``x``.

    Raises:
      TypeError: if ``x`` is not an array, or arrays cannot have the dtype.

    Floats are cut off towards zero as they become integers; ``round`` first where that is not
    meant. Values that the dtype does not hold give its extremes, and NaN gives 0.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.astype(jnp.array([1.7, -1.7]), int).tolist()
      [1, -1]
      >>> jnp.array([1, 0]).astype(bool).tolist()  # as a method
      [True, False]

    Source: numpy.astype.
    """
    (x,) = operands("astype", x)
    dtype = checked_dtype(ir.explicit_dtype(dtype, "astype"), "astype")
    if dtype == ir.BOOL and np.iscomplexobj(x) and hasattr(type(x), "aval"):
        # A number is true unless it is 0; a conversion would look at the real part alone.
        result: ir.Array = lax.ne(x, convert(0, x.dtype))
    else:
        if np.iscomplexobj(x) and not ir.issubdtype(dtype, np.complexfloating):
            ir.warn_user(
                f"astype: the imaginary part is lost from {x.dtype} to {dtype}, which is "
                "deprecated. Take x.real or x.imag first.",
                DeprecationWarning,
            )
        result = _from_value(x, dtype, False, "astype")
    return constrained(lax.copy_p.bind(result) if copy else result, device)


def copy(a: ir.ArrayLike, order: str | None = None) -> ir.Array:
    """A new array with the same elements.

    Args:
      a: an array or scalar.
      order: only ``None`` and ``"K"``.

    Returns:
      An array of the shape and dtype of ``a``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.copy(jnp.ones(2)).tolist()
      [1.0, 1.0]

    Source: numpy.copy.
    """
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)
