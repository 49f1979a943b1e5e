"""The frequencies of the elements of Fourier transforms, and their order."""

from collections.abc import Sequence
from operator import index as as_int

import numpy as np

import ricci_ir as ir
from ricci_numpy._promotion import convert, operands, scalar_or_array
from ricci_numpy.arrays._creation import constrained
from ricci_numpy.rearranging._moving import roll
from ricci_numpy.sequences._ranges import arange
from ricci_numpy.ufuncs._binary import divide, multiply

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def fftfreq(
    n: int, d: ir.ArrayLike = 1.0, *, dtype: ir.DTypeLike | None = None, device: object = None
) -> ir.Array:
    """The frequencies of the elements of an ``fft``, in cycles per unit of ``d``.

    Args:
      n: the length of the transform.
      d: the distance of samples, a scalar.
      dtype: the result's dtype, by default the default float one.
      device: where to put the result.

    Returns:
      An array of shape ``(n,)``: from zero up, then the negative ones.

    Raises:
      ValueError: if ``n`` or ``d`` is a sequence.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.fftfreq(4).tolist()
      [0.0, 0.25, -0.5, -0.25]

    Source: numpy.fft.fftfreq.
    """
    return constrained(_frequencies("fftfreq", n, d, dtype), device)


def rfftfreq(
    n: int, d: ir.ArrayLike = 1.0, *, dtype: ir.DTypeLike | None = None, device: object = None
) -> ir.Array:
    """The frequencies of the elements of an ``rfft``, in cycles per unit of ``d``.

    Args:
      n: the length of the transform.
      d: the distance of samples, a scalar.
      dtype: the result's dtype, by default the default float one.
      device: where to put the result.

    Returns:
      An array of shape ``(n // 2 + 1,)``, ascending from zero.

    Raises:
      ValueError: if ``n`` or ``d`` is a sequence.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.rfftfreq(4).tolist()
      [0.0, 0.25, 0.5]

    Source: numpy.fft.rfftfreq.
    """
    return constrained(_frequencies("rfftfreq", n, d, dtype), device)


def _frequencies(name: str, n: int, d: ir.ArrayLike, dtype: ir.DTypeLike | None) -> ir.Array:
    for argument, value in (("n", n), ("d", d)):
        if isinstance(value, list | tuple):
            raise ValueError(f"{name}: {argument} must be one number, got {value!r}.")
    if np.ndim(n):
        raise ValueError(f"{name}: n must be one number, got an array of shape {np.shape(n)}.")
    (d,) = operands(name, d)
    if np.iscomplexobj(d):
        raise TypeError(f"{name}: d must be a real number, got {d!r}.")
    dtype = ir.python_scalar_dtype(float) if dtype is None else ir.explicit_dtype(dtype, name)
    # Numbers of the host are multiplied there, in double precision.
    on_host = isinstance(d, int | float | np.generic) and not ir.is_symbolic_dim(n)
    extent = d * n if on_host else multiply(d, n)
    if hasattr(extent, "dtype"):
        extent = scalar_or_array(extent, np.dtype(dtype), False)
    return _frequencies_of(extent, half=name == "rfftfreq", n=n, dtype=dtype)


@ir.inlined("fftfreq")
def _frequencies_of(extent: ir.ArrayLike, *, half: bool, n: int, dtype: ir.DTypeLike) -> ir.Array:
    count = arange if ir.is_symbolic_dim(n) else np.arange
    if half:
        places = count(0, n // 2 + 1)
    else:
        places = (count(0, n) + n // 2) % n - n // 2
    return convert(divide(places.astype(dtype), extent), dtype)


def _shifted(name: str, x: ir.ArrayLike, axes: int | Sequence[int] | None, sign: int) -> ir.Array:
    (x,) = operands(name, x)
    shape = np.shape(x)
    if axes is None:
        axes = range(len(shape))
    if isinstance(axes, int | np.integer):
        axes = (as_int(axes),)
    return roll(x, tuple(sign * (shape[axis] // 2) for axis in axes), tuple(axes))


def fftshift(x: ir.ArrayLike, axes: int | Sequence[int] | None = None) -> ir.Array:
    """Move the part of frequency zero to the middle.

    Args:
      x: an array.
      axes: the dimensions to do so along; all by default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if ``x`` is not an array.
      IndexError: if a dimension does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.fftshift(jnp.array([0, 1, 2, -2, -1])).tolist()
      [-2, -1, 0, 1, 2]

    Source: numpy.fft.fftshift.
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: ir.ArrayLike, axes: int | Sequence[int] | None = None) -> ir.Array:
    """The inverse of ``fftshift``.

    Args:
      x: an array.
      axes: the dimensions to do so along; all by default.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if ``x`` is not an array.
      IndexError: if a dimension does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1, 2])).tolist()
      [0, 1, 2, -2, -1]

    Source: numpy.fft.ifftshift.
    """
    return _shifted("ifftshift", x, axes, -1)
