"""Fourier transforms as functions of NumPy's signatures."""

from collections.abc import Sequence

from ricci_ir import Array, ArrayLike, dispatched
from ricci_lax import FftType

from ._dimensions import transform, transform_1d

__all__ = ["fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2"]
__all__ += ["irfftn", "rfft", "rfft2", "rfftn"]

# The sizes or the axes of a transform: those of the array without them.
type Dims = Sequence[int] | None


@dispatched("n", "axis", "norm")
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along one dimension.

    Args:
      a: an array.
      n: the length along the axis: the array is cut, or continued by zeros. By default the array's.
      axis: the dimension.
      norm: ``"backward"``, the default, divides the inverse transform by the length, ``"forward"``
        the other one, and ``"ortho"`` both by its square root.

    Returns:
      A complex array.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.fft(jnp.array([1.0, 2.0])).tolist()
      [(3+0j), (-1+0j)]

    Source: numpy.fft.fft.
    """
    return transform_1d("fft", FftType.FFT, a, n, axis, norm)


@dispatched("n", "axis", "norm")
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``fft``.

    Args:
      a: an array.
      n: the length along the axis: the array is cut, or continued by zeros. By default the array's.
      axis: the dimension.
      norm: see ``fft``.

    Returns:
      A complex array.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.ifft(jnp.array([3.0, -1.0])).tolist()
      [(1+0j), (2+0j)]

    Source: numpy.fft.ifft.
    """
    return transform_1d("ifft", FftType.IFFT, a, n, axis, norm)


@dispatched("n", "axis", "norm")
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform of real numbers along one dimension: the half that is not redundant.

    Args:
      a: a real array.
      n: the length along the axis: the array is cut, or continued by zeros. By default the array's.
      axis: the dimension.
      norm: see ``fft``.

    Returns:
      A complex array, of size ``n // 2 + 1`` along the axis.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or the array is complex or of 16-bit floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0])).shape
      (2,)

    Source: numpy.fft.rfft.
    """
    return transform_1d("rfft", FftType.RFFT, a, n, axis, norm)


@dispatched("n", "axis", "norm")
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``rfft``.

    Args:
      a: an array.
      n: the result's length along the axis; by default ``2 * (m - 1)``, where ``m`` is the array's.
      axis: the dimension.
      norm: see ``fft``.

    Returns:
      A real array, of size ``n`` along the axis.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.irfft(jnp.array([3.0, -1.0])).tolist()
      [1.0, 2.0]

    Source: numpy.fft.irfft.
    """
    return transform_1d("irfft", FftType.IRFFT, a, n, axis, norm)


@dispatched("n", "axis", "norm")
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform of a Hermitian signal: its second half is the conjugate of the first, reversed.

    Args:
      a: an array.
      n: the result's length along the axis; by default ``2 * (m - 1)``, where ``m`` is the array's.
      axis: the dimension.
      norm: see ``fft``.

    Returns:
      A real array, of size ``n`` along the axis.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.hfft(jnp.array([3.0, -1.0])).tolist()
      [2.0, 4.0]

    Source: numpy.fft.hfft.
    """
    return transform_1d("hfft", FftType.IRFFT, a, n, axis, norm, hermitian=True)


@dispatched("n", "axis", "norm")
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``hfft``.

    Args:
      a: a real array.
      n: the length along the axis: the array is cut, or continued by zeros. By default the array's.
      axis: the dimension.
      norm: see ``fft``.

    Returns:
      A complex array, of size ``n // 2 + 1`` along the axis.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or the array is complex or of 16-bit floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.ihfft(jnp.array([2.0, 4.0])).real.tolist()
      [3.0, -1.0]

    Source: numpy.fft.ihfft.
    """
    return transform_1d("ihfft", FftType.RFFT, a, n, axis, norm, hermitian=True)


@dispatched("s", "axes", "norm")
def fft2(
    a: ArrayLike, s: Dims = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The discrete Fourier transform along two dimensions.

    Args:
      a: an array.
      s: the lengths along the axes: the array is cut, or continued by zeros. By default the
        array's.
      axes: the dimensions; two of them.
      norm: see ``fft``.

    Returns:
      A complex array.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.fft2(jnp.ones((2, 2))).real.tolist()
      [[4.0, 0.0], [0.0, 0.0]]

    Source: numpy.fft.fft2.
    """
    return transform("fft2", FftType.FFT, a, s, axes, norm, only=2)


@dispatched("s", "axes", "norm")
def ifft2(
    a: ArrayLike, s: Dims = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The inverse of ``fft2``.

    Args:
      a: an array.
      s: the lengths along the axes: the array is cut, or continued by zeros. By default the
        array's.
      axes: the dimensions; two of them.
      norm: see ``fft``.

    Returns:
      A complex array.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.ifft2(jnp.ones((2, 2))).real.tolist()
      [[1.0, 0.0], [0.0, 0.0]]

    Source: numpy.fft.ifft2.
    """
    return transform("ifft2", FftType.IFFT, a, s, axes, norm, only=2)


@dispatched("s", "axes", "norm")
def rfft2(
    a: ArrayLike, s: Dims = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The transform of real numbers along two dimensions: half of the last one.

    Args:
      a: a real array.
      s: the lengths along the axes: the array is cut, or continued by zeros. By default the
        array's.
      axes: the dimensions; two of them.
      norm: see ``fft``.

    Returns:
      A complex array, of size ``s[-1] // 2 + 1`` along the last of the axes.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or the array is complex or of 16-bit floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.rfft2(jnp.ones((2, 4))).shape
      (2, 3)

    Source: numpy.fft.rfft2.
    """
    return transform("rfft2", FftType.RFFT, a, s, axes, norm, only=2)


@dispatched("s", "axes", "norm")
def irfft2(
    a: ArrayLike, s: Dims = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The inverse of ``rfft2``.

    Args:
      a: an array.
      s: the result's lengths along the axes; by default the array's, the last one twice it
        less 2.
      axes: the dimensions; two of them.
      norm: see ``fft``.

    Returns:
      A real array, of size ``s[-1]`` along the last of the axes.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.irfft2(jnp.ones((2, 3))).shape
      (2, 4)

    Source: numpy.fft.irfft2.
    """
    return transform("irfft2", FftType.IRFFT, a, s, axes, norm, only=2)


@dispatched("s", "axes", "norm")
def fftn(a: ArrayLike, s: Dims = None, axes: Dims = None, norm: str | None = None) -> Array:
    """The discrete Fourier transform along several dimensions.

    Args:
      a: an array.
      s: the lengths along the axes: the array is cut, or continued by zeros. By default the
        array's.
      axes: the dimensions; by default all, or as many of the last ones as ``s`` has.
      norm: see ``fft``.

    Returns:
      A complex array.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.fftn(jnp.ones((2, 2))).real.tolist()
      [[4.0, 0.0], [0.0, 0.0]]

    Source: numpy.fft.fftn.
    """
    return transform("fftn", FftType.FFT, a, s, axes, norm)


@dispatched("s", "axes", "norm")
def ifftn(a: ArrayLike, s: Dims = None, axes: Dims = None, norm: str | None = None) -> Array:
    """The inverse of ``fftn``.

    Args:
      a: an array.
      s: the lengths along the axes: the array is cut, or continued by zeros. By default the
        array's.
      axes: the dimensions; by default all, or as many of the last ones as ``s`` has.
      norm: see ``fft``.

    Returns:
      A complex array.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.ifftn(jnp.ones((2, 2))).real.tolist()
      [[1.0, 0.0], [0.0, 0.0]]

    Source: numpy.fft.ifftn.
    """
    return transform("ifftn", FftType.IFFT, a, s, axes, norm)


@dispatched("s", "axes", "norm")
def rfftn(a: ArrayLike, s: Dims = None, axes: Dims = None, norm: str | None = None) -> Array:
    """The transform of real numbers along several dimensions: half of the last one.

    Args:
      a: a real array.
      s: the lengths along the axes: the array is cut, or continued by zeros. By default the
        array's.
      axes: the dimensions; by default all, or as many of the last ones as ``s`` has.
      norm: see ``fft``.

    Returns:
      A complex array, of size ``s[-1] // 2 + 1`` along the last of the axes.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or the array is complex or of 16-bit floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.rfftn(jnp.ones((2, 4))).shape
      (2, 3)

    Source: numpy.fft.rfftn.
    """
    return transform("rfftn", FftType.RFFT, a, s, axes, norm)


@dispatched("s", "axes", "norm")
def irfftn(a: ArrayLike, s: Dims = None, axes: Dims = None, norm: str | None = None) -> Array:
    """The inverse of ``rfftn``.

    Args:
      a: an array.
      s: the result's lengths along the axes; by default the array's, the last one twice it
        less 2.
      axes: the dimensions; by default all, or as many of the last ones as ``s`` has.
      norm: see ``fft``.

    Returns:
      A real array, of size ``s[-1]`` along the last of the axes.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if a length is not positive, or an axis does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fft.irfftn(jnp.ones((2, 3))).shape
      (2, 4)

    Source: numpy.fft.irfftn.
    """
    return transform("irfftn", FftType.IRFFT, a, s, axes, norm)
