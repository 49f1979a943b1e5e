"""The methods and properties of arrays and traced arrays, and their HTML for notebooks."""

import builtins
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import batched
from types import ModuleType
from typing import NoReturn

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import put_at_place
from ricci_numpy._promotion import COMPLEX_DTYPES, as_operand, strong_constant
from ricci_numpy.arrays._creation import astype, checked_dtype, uploads_are_guarded
from ricci_numpy.arrays._dtypes import array_namespace, check_version
from ricci_numpy.indexing._sharded import is_sharded

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
    row = aval.resized(aval.shape[1:])
    make = ir.backend().array
    return (make(value[i : i + 1].reshape(row.shape), row) for i in range(len(value)))


def _reversed_rows(self) -> Iterator[ir.Array]:
    """The array's parts along the first axis, the last one first."""
    if not self.aval.shape:
        raise TypeError("a scalar (an array of rank 0) has no first axis to reverse.")
    if is_sharded(self):
        return reversed(list(_rows(self)))
    return iter(lax.rev(self, (0,)))


def _contains(self, value: ir.ArrayLike) -> ir.Array:
    """Whether some element of a vector equals a scalar."""
    if self.ndim != 1:
        raise ValueError(f"in: the array must have one dimension, got shape {self.shape}.")
    if np.ndim(as_operand(value)):
        raise ValueError(f"in: the value must be a scalar, got shape {np.shape(value)}.")
    return jnp.any(jnp.equal(self, value))


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
        # A byte that is not 0 is true, as NumPy reads it.
        return lax.ne(x, strong_constant(_BYTE, 0))
    if target in COMPLEX_DTYPES:
        x = _bits_as(x, np.dtype(f"float{target.itemsize * 4}"))
        if not x.shape or x.shape[-1] % 2:
            raise ValueError(
                f"x.view: the last axis has {x.shape[-1:]} real numbers, which do not pair up to "
                f"elements of dtype {target}."
            )
        # Complex numbers are pairs of a real and an imaginary part in memory.
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
    # The parts of each element side by side, as in memory.
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
    # XLA's cast adds a dimension for the parts of an element, or removes that of the parts; NumPy's
    # last axis absorbs it.
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
    # The cast adds a dimension of the bytes, which is reversed.
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
        "flat": property(_flat),
        "itemsize": property(
            lambda self: self.aval.dtype.itemsize, doc="The size of an element, in bytes."
        ),
        "nbytes": property(
            lambda self: self.aval.size * self.aval.dtype.itemsize,
            doc="The size of all elements, in bytes; copies on several devices count once.",
        ),
        "astype": _astype,
        "byteswap": _byteswap,
        "copy": _copy,
        "to_device": _to_device,
        "view": _view,
        "__array_module__": _array_module,
        "__array_namespace__": _namespace,
        "__contains__": _contains,
        "__iter__": _rows,
        "__reversed__": _reversed_rows,
    }
)


def _flatten(self, order: str = "C", *, out_sharding: object = None) -> ir.Array:
    """The elements in one dimension; see ``ravel``."""
    return jnp.ravel(self, order, out_sharding=out_sharding)


def _argsort(
    self,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> ir.Array:
    """The positions of the elements in sorted order; see ``argsort``."""
    return jnp.argsort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


def _compress(
    self: ir.Array,
    condition: ir.ArrayLike,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: ir.ArrayLike = 0,
) -> ir.Array:
    """The slices along an axis for which a condition holds; see ``numpy.compress``."""
    return jnp.compress(condition, self, axis, out=out, size=size, fill_value=fill_value)


ir.define_array_methods({"argsort": _argsort, "compress": _compress, "flatten": _flatten})

# Functions of the package that are methods under the same name.
_FUNCTIONS = (
    "all any argmax argmin argpartition choose clip conj cumprod cumsum diagonal dot max mean min "
    "nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum swapaxes take trace var"
).split()


def _getitem() -> object:
    from ricci_numpy.indexing._brackets import getitem  # noqa: PLC0415 - lazy: a large module

    return getitem


def _at() -> object:
    from ricci_numpy.indexing._at import at  # noqa: PLC0415 - lazy: a large module

    return property(at)


def _reshape() -> object:
    from ricci_numpy.shapes._reshaping import reshape_method  # noqa: PLC0415 - lazy: as above

    return reshape_method


def _transpose() -> object:
    from ricci_numpy.shapes._transposing import transpose_method  # noqa: PLC0415 - lazy: as above

    return transpose_method


ir.define_array_methods(
    {name: ir.LateMember(name, partial(getattr, jnp, name)) for name in _FUNCTIONS}
    | {
        "__getitem__": ir.LateMember("__getitem__", _getitem),
        "at": ir.LateMember("at", _at),
        "reshape": ir.LateMember("reshape", _reshape),
        "transpose": ir.LateMember("transpose", _transpose),
        "imag": ir.LateMember("imag", lambda: property(jnp.imag)),
        "conjugate": ir.LateMember("conjugate", partial(getattr, jnp, "conj")),
    }
)

_EDGE = 4  # how many rows and columns are shown at each end of a longer dimension
_UNITS = "bytes", "kB", "MB", "GB", "TB"
_CELL = "text-align: right; padding: 0 0.6em"


def _escaped(text: str) -> str:
    from html import escape  # noqa: PLC0415 - lazy: only notebooks need it

    return escape(text)


def _size(count: float) -> str:
    """A number of bytes in the largest unit that leaves a number of 1 or more.

    >>> _size(12), _size(2_500_000)
    ('12 bytes', '2.5 MB')
    """
    step = 0
    while count >= 1000 and step < len(_UNITS) - 1:
        count, step = count / 1000, step + 1
    return f"{count:.3g} {_UNITS[step]}"


def _shown(size: int) -> list[int | None]:
    """The positions to show along a dimension, with ``None`` for the ones that are left out.

    >>> _shown(3), _shown(100)
    ([0, 1, 2], [0, 1, 2, 3, None, 96, 97, 98, 99])
    """
    if size <= 2 * _EDGE + 1:
        return list(range(size))
    return [*range(_EDGE), None, *range(size - _EDGE, size)]


def _caption(x: ir.Array) -> str:
    aval = x.aval
    parts = [aval.str_short(), *(["weak type"] if aval.weak_type else []), _size(x.nbytes)]
    places = sorted(map(str, x.devices())) if hasattr(x, "devices") else [ir.backend().name]
    parts.append(places[0] if len(places) == 1 else f"{len(places)} devices")
    return _escaped(", ".join(parts))


def _table(values: np.ndarray) -> str:
    rows, columns = _shown(values.shape[0]), _shown(values.shape[1])
    cells = [
        "…" if i is None or j is None else _escaped(str(values[i, j]))
        for i in rows
        for j in columns
    ]
    lines = (
        "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row)
        for row in batched(cells, len(columns))
    )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def repr_html(self) -> str | None:
    """The array as HTML, for notebooks; ``None`` without values in this process."""
    if isinstance(self, ir.Tracer) or ir.is_extended(self.aval.dtype) or self.is_deleted():
        return None
    # Some shards are in other processes.
    if not (getattr(self, "is_fully_addressable", True) or self.is_fully_replicated):
        return None
    values = np.asarray(self)
    if values.ndim <= 2 and values.size:
        body = _table(values.reshape(-1, values.shape[-1]) if values.ndim else values[None, None])
    else:
        body = f"<pre>{_escaped(str(values))}</pre>"
    return f"<div><div>{_caption(self)}</div>{body}</div>"


ir.define_array_methods({"_repr_html_": repr_html})
