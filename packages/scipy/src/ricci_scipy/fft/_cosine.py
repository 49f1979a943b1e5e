"""Cosine transforms, by Fourier transforms of reordered arrays."""

from collections.abc import Sequence
from operator import index
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy import authoring

__all__ = ["dct", "dctn", "idct", "idctn"]


def _checked(name: str, x: ArrayLike, type: int, norm: str | None) -> Array:
    if type != 2:
        raise NotImplementedError(f"{name}: type={type} is not available; only type 2 is.")
    authoring.check_choice(name, "norm", norm, (None, "backward", "ortho"))
    x = jnp.asarray(authoring.promote_dtypes_inexact(*authoring.operands(name, x))[0])
    return x.astype(np.promote_types(x.dtype, "float32"))


def _fitted(name: str, x: Array, sizes: dict[int, int]) -> Array:
    """``x`` truncated or padded with zeros to the given sizes along axes."""
    for axis, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}: sizes must be positive, got {size} for axis {axis}.")
        x = lax.slice_in_dim(x, 0, min(size, x.shape[axis]), axis=axis)
        missing = [(0, size - x.shape[axis] if d == axis else 0) for d in range(x.ndim)]
        x = jnp.pad(x, missing)
    return x


def _transform(name: str, x: Array, axes: tuple[int, ...], norm: str | None) -> Array:
    """Apply the transform called ``name`` along axes, to real and imaginary parts separately."""
    if jnp.iscomplexobj(x):
        parts = [_transform(name, part, axes, norm) for part in (x.real, x.imag)]
        return lax.complex(*parts)
    step = _forward if name.startswith("d") else _backward
    for axis in axes:
        x = step(x, axis=axis, ortho=norm == "ortho")
    return x


def _turns(n: int, sign: float) -> np.ndarray:
    """The factors between the Fourier transform of reordered elements and the cosine transform."""
    return np.exp(sign * 1j * np.pi * np.arange(n) / (2 * n))


def _weights(n: int) -> np.ndarray:
    """The factors that make the transform orthogonal."""
    weights = np.full(n, np.sqrt(1 / (2 * n)))
    weights[0] = np.sqrt(1 / (4 * n))
    return weights


@inlined("dct")
def _forward(x: Array, *, axis: int, ortho: bool) -> Array:
    n = x.shape[axis]
    x = jnp.moveaxis(x, axis, -1)
    # The even indices ascending, then the odd ones descending (Makhoul 1980).
    order = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])
    spectrum = jnp.fft.fft(x[..., order])
    turns = jnp.asarray(2 * _turns(n, -1), spectrum.dtype)
    result = (spectrum * jnp.broadcast_to(turns, spectrum.shape)).real
    if ortho:
        weights = jnp.asarray(_weights(n), result.dtype)
        result = result * jnp.broadcast_to(weights, result.shape)
    return jnp.moveaxis(result, -1, axis)


@inlined("idct")
def _backward(x: Array, *, axis: int, ortho: bool) -> Array:
    n = x.shape[axis]
    x = jnp.moveaxis(x, axis, -1)
    if ortho:
        x = x / jnp.broadcast_to(jnp.asarray(_weights(n), x.dtype), x.shape)
    # With X[n] = 0, the Fourier transform of the reordered elements is V[k] = exp(iπk / 2n) (X[k] -
    # i X[n - k]) / 2 (Makhoul 1980).
    mirrored = jnp.concatenate([jnp.zeros_like(x[..., :1]), jnp.flip(x[..., 1:], -1)], -1)
    spectrum = lax.complex(x, -mirrored)
    turns = jnp.asarray(_turns(n, 1) / 2, spectrum.dtype)
    spectrum = spectrum * jnp.broadcast_to(turns, spectrum.shape)
    order = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])
    result = jnp.fft.ifft(spectrum).real[..., np.argsort(order)]
    return jnp.moveaxis(result, -1, axis)


def _one(name: str, x: ArrayLike, type: int, n: int | None, axis: int, norm: str | None) -> Array:
    x = _checked(name, x, type, norm)
    axis = authoring.canonical_axis(axis, x.ndim)
    if n is not None:
        x = _fitted(name, x, {axis: index(n)})
    return _transform(name, x, (axis,), norm)


def _many(
    name: str,
    x: ArrayLike,
    type: int,
    s: Sequence[int] | None,
    axes: int | Sequence[int] | None,
    norm: str | None,
) -> Array:
    x = _checked(name, x, type, norm)
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    dims = authoring.canonical_axes(
        axes if np.ndim(axes) == 0 else tuple(cast(Sequence[int], axes)), x.ndim, "axes"
    )
    if s is not None:
        x = _fitted(name, x, dict(zip(dims, map(index, s), strict=False)))
    return _transform(name, x, dims, norm)


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The discrete cosine transform along an axis.

    Args:
      x: an array; integers and 16-bit floats become float32.
      type: which transform; only the second, 2 Σ x[j] cos(π k (2j + 1) / 2n), is available.
      n: the size to which ``x`` is truncated or padded with zeros.
      axis: the axis.
      norm: ``"ortho"`` for an orthogonal transform, ``None`` or ``"backward"``.

    Returns:
      A float array of the shape of ``x``, with ``n`` elements along the axis.

    Raises:
      TypeError: if ``x`` is not an array.
      ValueError: if an axis does not exist, or the norm is unknown.
      NotImplementedError: for another type.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import fft
      >>> fft.dct(np.float32([1.0, 1.0])).tolist()
      [4.0, 0.0]

    Source: Makhoul, "A fast cosine transform in one and two dimensions", 1980.
    """
    return _one("dct", x, type, n, axis, norm)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The inverse of ``dct``.

    Args:
      x, type, n, axis, norm: as for ``dct``.

    Returns:
      A float array of the shape of ``x``, with ``n`` elements along the axis.

    Raises:
      TypeError, ValueError, NotImplementedError: as ``dct``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import fft
      >>> fft.idct(np.float32([4.0, 0.0])).tolist()
      [1.0, 1.0]

    Source: Makhoul, "A fast cosine transform in one and two dimensions", 1980.
    """
    return _one("idct", x, type, n, axis, norm)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The discrete cosine transform along several axes.

    Args:
      x, type, norm: as for ``dct``.
      s: the sizes to which ``x`` is truncated or padded with zeros.
      axes: the axes, by default as many of the last ones as ``s`` has sizes, or all.

    Returns:
      A float array of the shape of ``x``, or of the sizes ``s`` along the axes.

    Raises:
      TypeError, ValueError, NotImplementedError: as ``dct``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import fft
      >>> fft.dctn(np.ones((2, 2), np.float32)).tolist()
      [[16.0, 0.0], [0.0, 0.0]]

    Source: Makhoul, "A fast cosine transform in one and two dimensions", 1980.
    """
    return _many("dctn", x, type, s, axes, norm)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``dctn``.

    Args:
      x, type, s, axes, norm: as for ``dctn``.

    Returns:
      A float array of the shape of ``x``, or of the sizes ``s`` along the axes.

    Raises:
      TypeError, ValueError, NotImplementedError: as ``dct``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import fft
      >>> fft.idctn(fft.dctn(np.float32([[1.0, 2.0]]))).tolist()
      [[1.0, 2.0]]

    Source: Makhoul, "A fast cosine transform in one and two dimensions", 1980.
    """
    return _many("idctn", x, type, s, axes, norm)
