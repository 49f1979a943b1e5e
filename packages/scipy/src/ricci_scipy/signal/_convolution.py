"""Convolution and correlation of arrays of any rank."""

from collections.abc import Sequence

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite
from ricci_numpy.authoring import canonical_axes, check_choice, operands, promote_dtypes_inexact

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

_MODES = ("full", "same", "valid")


def _arrays(name: str, in1: ArrayLike, in2: ArrayLike, mode: str) -> tuple[Array, Array]:
    """The operands as arrays of one inexact dtype and one rank, with elements."""
    check_choice(name, "mode", mode, _MODES)
    x, y = (jnp.asarray(v) for v in promote_dtypes_inexact(*operands(name, in1, in2)))
    if x.ndim != y.ndim:
        raise ValueError(f"{name}: the operands must have one rank, got {x.shape} and {y.shape}.")
    if not (x.size and y.size):
        raise ValueError(
            f"{name}: the operands must have elements, got shapes {x.shape} and {y.shape}."
        )
    return x, y


def _in_order(name: str, x: Array, y: Array, mode: str) -> tuple[Array, Array, bool]:
    """The operands, the larger first if the mode requires it, and whether they were exchanged."""
    if mode == "same":
        return x, y, False
    fits = all(m >= n for m, n in zip(x.shape, y.shape, strict=True))
    if mode == "full" or fits:
        return x, y, False
    if all(m <= n for m, n in zip(x.shape, y.shape, strict=True)):
        return y, x, True
    raise ValueError(
        f"{name}: in mode 'valid' one operand must be smaller than the other along every "
        f"dimension, got shapes {x.shape} and {y.shape}."
    )


@composite("_convolve_nd")
def _convolve_nd(x: Array, y: Array, *, mode: str, precision: lax.PrecisionLike) -> Array:
    if not x.ndim:
        return x * y
    # conv_general_dilated computes a correlation.
    y = lax.rev(y, tuple(range(y.ndim)))
    padding = {
        "full": [(n - 1, n - 1) for n in y.shape],
        "same": [(n // 2, n - 1 - n // 2) for n in y.shape],
        "valid": [(0, 0)] * y.ndim,
    }[mode]
    result = lax.conv_general_dilated(
        x[None, None], y[None, None], (1,) * x.ndim, padding, precision=precision
    )
    return result[0, 0]


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: lax.PrecisionLike = None,
) -> Array:
    """The discrete convolution of two arrays along all their dimensions.

    Args:
      in1, in2: arrays of one rank; integers are converted to the default float dtype.
      mode: ``"full"`` for all overlaps, ``"same"`` for the middle of them, in the shape of ``in1``,
        ``"valid"`` for those where one array lies within the other.
      method: ``"direct"``, ``"fft"`` by Fourier transforms, or ``"auto"``, which is direct.
      precision: of the products; see ``lax.Precision``.

    Returns:
      An array of the promoted float or complex dtype.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if ranks differ, an operand is empty, or the mode or method is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> signal.convolve(np.float32([1.0, 2.0]), np.float32([1.0, 1.0, 1.0])).tolist()
      [1.0, 3.0, 3.0, 2.0]

    Source: scipy.signal.convolve.
    """
    check_choice("convolve", "method", method, ("auto", "direct", "fft"))
    x, y = _arrays("convolve", in1, in2, mode)
    x, y, _ = _in_order("convolve", x, y, mode)
    if method == "fft":
        return fftconvolve(x, y, mode=mode)
    return _convolve_nd(x, y, mode=mode, precision=precision)


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: lax.PrecisionLike = None,
) -> Array:
    """The cross-correlation of two arrays: sums of products with the conjugate of the second.

    Args:
      in1, in2, mode, method, precision: as for ``convolve``.

    Returns:
      An array of the promoted float or complex dtype.

    Raises:
      TypeError, ValueError: as ``convolve``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> signal.correlate(np.float32([1.0, 2.0, 3.0]), np.float32([0.0, 1.0]), "valid").tolist()
      [2.0, 3.0]

    Source: scipy.signal.correlate.
    """
    check_choice("correlate", "method", method, ("auto", "direct", "fft"))
    x, y = _arrays("correlate", in1, in2, mode)
    return convolve(x, jnp.conj(jnp.flip(y)), mode, method, precision)


def _plane(
    name: str, in1: ArrayLike, in2: ArrayLike, mode: str, boundary: str, fillvalue: float
) -> tuple[Array, Array]:
    """The operands as arrays of rank 2, after a check of the boundary."""
    if boundary != "fill" or not (np.isscalar(fillvalue) and fillvalue == 0):
        raise NotImplementedError(
            f"{name}: only boundary='fill' with fillvalue=0 is available; pad the first operand "
            "with numpy.pad for another, and use mode='valid'."
        )
    x, y = _arrays(name, in1, in2, mode)
    if x.ndim != 2:
        raise ValueError(f"{name}: the operands must be of rank 2, got {x.shape} and {y.shape}.")
    return x, y


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: lax.PrecisionLike = None,
) -> Array:
    """The discrete convolution of two arrays of rank 2.

    Args:
      in1, in2, mode, precision: as for ``convolve``.
      boundary, fillvalue: the values outside of the first operand; only zeros are available.

    Returns:
      A matrix of the promoted float or complex dtype.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if ranks are not 2, an operand is empty, or the mode is unknown.
      NotImplementedError: for another boundary or fill value.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> signal.convolve2d(np.ones((2, 2)), np.ones((2, 2)), "valid").tolist()
      [[4.0]]

    Source: scipy.signal.convolve2d.
    """
    x, y = _plane("convolve2d", in1, in2, mode, boundary, fillvalue)
    x, y, _ = _in_order("convolve2d", x, y, mode)
    return _convolve_nd(x, y, mode=mode, precision=precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: lax.PrecisionLike = None,
) -> Array:
    """The cross-correlation of two arrays of rank 2.

    Args:
      in1, in2, mode, precision: as for ``convolve``.
      boundary, fillvalue: the values outside of the first operand; only zeros are available.

    Returns:
      A matrix of the promoted float or complex dtype.

    Raises:
      TypeError, ValueError, NotImplementedError: as ``convolve2d``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> signal.correlate2d(np.ones((2, 2)), np.ones((2, 2)), "valid").tolist()
      [[4.0]]

    Source: scipy.signal.correlate2d.
    """
    x, y = _plane("correlate2d", in1, in2, mode, boundary, fillvalue)
    if mode == "same":
        # The middle of a correlation begins earlier than that of a convolution, so it is sliced
        # from the full result.
        full = _convolve_nd(x, jnp.conj(jnp.flip(y)), mode="full", precision=precision)
        starts = [(n - 1) // 2 if n % 2 else n // 2 for n in y.shape]
        return lax.slice(full, starts, [s + m for s, m in zip(starts, x.shape, strict=True)])
    _, _, exchanged = _in_order("correlate2d", x, y, mode)
    if not exchanged:
        return _convolve_nd(x, jnp.conj(jnp.flip(y)), mode=mode, precision=precision)
    # The correlation of y with x is that of x with y, reversed and conjugated.
    turned = _convolve_nd(y, jnp.conj(jnp.flip(x)), mode=mode, precision=precision)
    return jnp.conj(jnp.flip(turned))


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """The convolution of two arrays by Fourier transforms, along some dimensions.

    Args:
      in1, in2: arrays of one rank and, outside of ``axes``, one shape.
      mode: as for ``convolve``.
      axes: the dimensions to convolve along, by default all.

    Returns:
      An array of the promoted float or complex dtype.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if ranks or shapes do not fit, or the mode is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> signal.fftconvolve(np.float32([1.0, 2.0]), np.float32([1.0, 1.0])).round(4).tolist()
      [1.0, 3.0, 2.0]

    Source: scipy.signal.fftconvolve.
    """
    x, y = _arrays("fftconvolve", in1, in2, mode)
    dims = canonical_axes(tuple(range(x.ndim)) if axes is None else axes, x.ndim, "axes")
    others = [d for d in range(x.ndim) if d not in dims]
    if any(x.shape[d] != y.shape[d] for d in others):
        raise ValueError(
            f"fftconvolve: outside of axes={dims} the operands must have one shape, got {x.shape} "
            f"and {y.shape}."
        )
    if mode == "valid":
        x, y, _ = _in_order("fftconvolve", x, y, mode)
    return _fftconvolve(x, y, mode=mode, dims=dims)


@composite("_fftconvolve")
def _fftconvolve(x: Array, y: Array, *, mode: str, dims: tuple[int, ...]) -> Array:
    if not dims:
        return x * y
    # The product of spectra is a circular convolution. In an array of the full size nothing wraps
    # around.
    full = [x.shape[d] + y.shape[d] - 1 for d in dims]
    # Fourier transforms are faster for sizes with small prime factors.
    sizes = [_smooth_size(n) for n in full]
    if jnp.iscomplexobj(x):
        spectrum = jnp.fft.fftn(x, sizes, dims) * jnp.fft.fftn(y, sizes, dims)
        product = jnp.fft.ifftn(spectrum, sizes, dims)
    else:
        spectrum = jnp.fft.rfftn(x, sizes, dims) * jnp.fft.rfftn(y, sizes, dims)
        product = jnp.fft.irfftn(spectrum, sizes, dims).astype(x.dtype)
    starts, ends = [0] * x.ndim, list(product.shape)
    for d, n in zip(dims, full, strict=True):
        size = {"full": n, "same": x.shape[d], "valid": x.shape[d] - y.shape[d] + 1}[mode]
        starts[d] = {"full": 0, "same": (n - size) // 2, "valid": y.shape[d] - 1}[mode]
        ends[d] = starts[d] + size
    return lax.slice(product, starts, ends)


def _smooth_size(size: int) -> int:
    """The least number from ``size`` up that has no prime factors other than 2, 3 and 5."""
    while True:
        cofactor = size
        for factor in (2, 3, 5):
            while cofactor % factor == 0:
                cofactor //= factor
        if cofactor == 1:
            return size
        size += 1
