"""The methods and properties that compute, of arrays and traced arrays alike."""

import builtins
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NoReturn

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import put_at_place
from ricci_numpy._promotion import COMPLEX_DTYPES, strong_constant
from ricci_numpy.arrays._array_api import array_namespace, check_version
from ricci_numpy.arrays._creation import astype, checked_dtype, uploads_are_guarded
from ricci_numpy.indexing._sharded import is_sharded
from ricci_numpy.reductions._axis_reductions import all, any, max, min, prod, ptp, sum
from ricci_numpy.reductions._cumulative import cumprod, cumsum
from ricci_numpy.reductions._extreme_indices import argmax, argmin
from ricci_numpy.reductions._moments import mean, std, var
from ricci_numpy.ufuncs._binary import equal
from ricci_numpy.ufuncs._rounding import clip, round
from ricci_numpy.ufuncs._unary import conj, imag

# An array of up to this size is iterated over on the host, not by an executable for each row.
_ROWS_ON_HOST = 1 << 14
_BYTE = np.dtype("uint8")


def _astype(
    self, dtype: ir.DTypeLike | None, copy: bool = False, device: object = None
) -> ir.Array:
    """The array with its elements converted to a dtype; see ``astype``."""
    return astype(self, dtype, copy=copy, device=device)


def _copy(self) -> ir.Array:
    """A new array with the same elements."""
    return lax.copy_p.bind(self)


def _transposed(self) -> ir.Array:
    """The array with its axes in reverse order."""
    ndim = self.aval.ndim
    return self if ndim < 2 else lax.transpose(self, tuple(range(ndim - 1, -1, -1)))


def _matrix_transposed(self) -> ir.Array:
    """The array with its last two axes swapped."""
    ndim = self.aval.ndim
    if ndim < 2:
        raise ValueError(f"x.mT needs at least 2 dimensions, and the array has {ndim}.")
    return lax.transpose(self, (*range(ndim - 2), ndim - 1, ndim - 2))


def _real(self) -> ir.Array:
    """The real part."""
    return lax.real(self) if self.aval.dtype in COMPLEX_DTYPES else self


def _flat(self) -> NoReturn:
    """Not provided: use ``x.flatten()``."""
    raise NotImplementedError(
        "x.flat is an iterator that can write to the array, and arrays do not change. Use "
        "x.flatten(), and x.at[...] for an updated copy."
    )


def _rows(self) -> Iterator[ir.Array]:
    """The array's parts along the first axis."""
    aval = self.aval
    if not aval.shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to iterate over.")
    if not aval.shape[0]:
        return iter(())
    eager = ir.context.trace is ir.eval_trace and not isinstance(self, ir.Tracer)
    if eager and not uploads_are_guarded():
        small = aval.size <= _ROWS_ON_HOST and not self.committed
        # Each row of a sharded array would take an execution on all devices.
        if aval.dtype in ir.array_dtypes and (small or is_sharded(self)):
            return _host_rows(np.asarray(self), aval)
        return (self[i] for i in range(aval.shape[0]))
    return iter(lax.unstack(self, 0))


def _host_rows(value: np.ndarray, aval: ir.ShapedArray) -> Iterator[ir.Array]:
    row = aval.update(shape=aval.shape[1:])
    make = ir.backend().array
    return (make(value[i : i + 1].reshape(row.shape), row) for i in range(len(value)))


def _reversed_rows(self) -> Iterator[ir.Array]:
    """The array's parts along the first axis, the last one first."""
    if not self.aval.shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to reverse.")
    if is_sharded(self):
        return (self[i] for i in reversed(range(len(self))))
    return iter(lax.rev(self, (0,)))


def _contains(self, value: ir.ArrayLike) -> ir.Array:
    """Whether some element equals a value."""
    return any(equal(self, value))


def _view(self, dtype: ir.DTypeLike | None = None, type: None = None) -> ir.Array:
    """The array's bytes read as elements of another dtype.

    Args:
      dtype: the dtype; its size must divide that of the last axis, in bytes.
      type: not supported.

    Raises:
      ValueError: if the sizes do not fit.
    """
    if type is not None:
        raise NotImplementedError("x.view: type= is not supported; arrays have one class.")
    if dtype is None:
        return self
    target = checked_dtype(ir.explicit_dtype(dtype, "view"), "view")
    if self.aval.dtype == target:
        return self
    x = _as_real_numbers(self)
    if target == ir.BOOL:
        x = _bits_as(x, _BYTE)
        return lax.ne(x, strong_constant(_BYTE, 0))
    if target in COMPLEX_DTYPES:
        x = _bits_as(x, np.dtype(f"float{target.itemsize * 4}"))
        if not x.shape or x.shape[-1] % 2:
            raise ValueError(
                f"x.view: the last axis has {x.shape[-1:]} real numbers, which do not pair up to "
                f"elements of dtype {target}."
            )
        pairs = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        last = pairs.ndim - 1
        real, imaginary = (lax.index_in_dim(pairs, i, last, keepdims=False) for i in (0, 1))
        return lax.complex(real, imaginary)
    return _bits_as(x, target)


def _as_real_numbers(x: ir.Array) -> ir.Array:
    """An array of the same bytes with a dtype that ``bitcast_convert_type`` takes."""
    if x.aval.dtype == ir.BOOL:
        return lax.convert_element_type(x, _BYTE)
    if x.aval.dtype not in COMPLEX_DTYPES:
        return x
    shape = x.aval.shape
    if not shape:
        raise ValueError(f"x.view: a scalar of dtype {x.aval.dtype} cannot be read as another.")
    parts = [lax.expand_dims(part, (len(shape),)) for part in (lax.real(x), lax.imag(x))]
    return lax.reshape(lax.concatenate(parts, len(shape)), (*shape[:-1], 2 * shape[-1]))


def _bits_as(x: ir.Array, dtype: np.dtype) -> ir.Array:
    """The bits of an array read as elements of another dtype; the last axis changes its size."""
    shape = x.aval.shape
    old, new = ir.itemsize_bits(x.aval.dtype), ir.itemsize_bits(dtype)
    if old == new:
        return lax.bitcast_convert_type(x, dtype)
    if not shape:
        raise ValueError(f"x.view: a scalar of dtype {x.aval.dtype} cannot be read as {dtype}.")
    if old > new:
        parts = lax.bitcast_convert_type(x, dtype)
        return lax.reshape(parts, (*shape[:-1], shape[-1] * (old // new)))
    ratio = new // old
    if shape[-1] % ratio:
        raise ValueError(
            f"x.view: the last axis has {shape[-1]} elements of {old} bits, which do not "
            f"divide into elements of dtype {dtype}."
        )
    return lax.bitcast_convert_type(lax.reshape(x, (*shape[:-1], shape[-1] // ratio, ratio)), dtype)


def _byteswap(self) -> ir.Array:
    """The array with the bytes of each element in reverse order."""
    aval = self.aval
    if aval.dtype in COMPLEX_DTYPES:
        return lax.complex(_byteswap(lax.real(self)), _byteswap(lax.imag(self)))
    if aval.dtype.itemsize == 1:
        return self
    parts = lax.bitcast_convert_type(self, _BYTE)
    return lax.bitcast_convert_type(lax.rev(parts, (aval.ndim,)), aval.dtype)


def _to_device(self, device: object, *, stream: object = None) -> ir.Array:
    """The array on another device, or with another sharding.

    Args:
      device: a device or a sharding.
      stream: not supported.
    """
    if stream is not None:
        raise NotImplementedError("x.to_device: stream= is not supported.")
    return put_at_place.call(self, device)


def _namespace(self, *, api_version: str | None = None) -> ModuleType:
    """Return the module with the functions of the array API standard for this array."""
    check_version(api_version)
    return array_namespace()


def _array_module(self, types: Sequence[type]) -> object:
    """Return the module whose functions take these classes of arrays (NumPy's proposal NEP 37)."""
    ours = builtins.all(issubclass(t, ir.Array | np.ndarray) for t in types)
    return array_namespace() if ours else NotImplemented


ir.define_array_methods(
    {
        "T": property(_transposed),
        "mT": property(_matrix_transposed),
        "real": property(_real),
        "imag": property(imag),
        "flat": property(_flat),
        "itemsize": property(
            lambda self: self.aval.dtype.itemsize, doc="The size of an element, in bytes."
        ),
        "nbytes": property(
            lambda self: self.aval.size * self.aval.dtype.itemsize,
            doc="The size of all elements, in bytes; copies on several devices count once.",
        ),
        "all": all,
        "any": any,
        "argmax": argmax,
        "argmin": argmin,
        "astype": _astype,
        "byteswap": _byteswap,
        "clip": clip,
        "conj": conj,
        "conjugate": conj,
        "copy": _copy,
        "cumprod": cumprod,
        "cumsum": cumsum,
        "max": max,
        "mean": mean,
        "min": min,
        "prod": prod,
        "ptp": ptp,
        "round": round,
        "std": std,
        "sum": sum,
        "to_device": _to_device,
        "var": var,
        "view": _view,
        "__array_module__": _array_module,
        "__array_namespace__": _namespace,
        "__contains__": _contains,
        "__iter__": _rows,
        "__reversed__": _reversed_rows,
    }
)
