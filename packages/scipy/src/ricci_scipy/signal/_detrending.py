"""Removal of the mean or of straight lines from signals."""

from collections.abc import Sequence

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy.authoring import canonical_axis, convert, operands, promote_dtypes_inexact

__all__ = ["detrend"]


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: bool | None = None,
) -> Array:
    """Subtract the mean, or the straight lines that fit best, along an axis.

    Args:
      data: an array; integers are converted to the default float dtype.
      axis: the axis.
      type: ``"linear"`` for lines by least squares, ``"constant"`` for the mean.
      bp: for lines, the indices where another line begins: an integer or a sequence.
      overwrite_data: ignored; SciPy has it.

    Returns:
      An array of the shape of ``data``, of a float or complex dtype.

    Raises:
      TypeError: if ``data`` is not an array.
      ValueError: if the type is unknown, or an index lies outside of the data.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> signal.detrend(np.float32([1.0, 2.0, 3.0]), type="constant").tolist()
      [-1.0, 0.0, 1.0]

    Source: scipy.signal.detrend.
    """
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: type={type!r} is unknown; it is 'linear' or 'constant'.")
    (x,) = (jnp.asarray(v) for v in promote_dtypes_inexact(*operands("detrend", data)))
    axis = canonical_axis(axis, x.ndim)
    if type == "constant":
        return x - jnp.mean(x, axis, keepdims=True)
    size = x.shape[axis]
    places = sorted({0, size, *map(int, np.atleast_1d(np.asarray(bp)))})
    if places[0] < 0 or places[-1] > size:
        raise ValueError(f"detrend: bp must lie within the data's {size} elements, got {bp}.")
    return _less_lines(x, axis=axis, places=tuple(places))


@inlined("detrend")
def _less_lines(x: Array, *, axis: int, places: tuple[int, ...]) -> Array:
    x = jnp.moveaxis(x, axis, 0)
    parts = []
    for start, end in zip(places, places[1:], strict=False):
        part, n = x[start:end], end - start
        # The projection on an orthonormal basis of the lines is subtracted.
        lines = np.stack([np.arange(1, n + 1) / n, np.ones(n)], axis=1)
        u, s, _ = np.linalg.svd(lines, full_matrices=False)
        basis = convert(u[:, s > 1e-12], x.dtype, x.weak_type)
        inside = jnp.tensordot(basis, jnp.tensordot(basis.T, part, 1, precision="highest"), 1)
        parts.append(part - inside)
    return jnp.moveaxis(jnp.concatenate(parts, 0), 0, axis)
