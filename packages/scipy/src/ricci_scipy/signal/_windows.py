"""Windows, the weights of a segment's elements, and removal of means or lines from signals."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy.authoring import (
    canonical_axis,
    check_choice,
    convert,
    operands,
    promote_dtypes_inexact,
)

__all__ = ["detrend"]

# A window's name, a tuple of a name and parameters, Kaiser's beta, or the window itself.
Window = str | tuple[Any, ...] | ArrayLike

# Sums of cosines: the coefficients of cos(0), cos(2πx), ..., for x from 0 to 1.
_COSINES: dict[str, tuple[float, ...]] = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_OTHER_NAMES = {
    "box": "boxcar",
    "ones": "boxcar",
    "rect": "boxcar",
    "rectangular": "boxcar",
    "hanning": "hann",
    "han": "hann",
    "hamm": "hamming",
    "ham": "hamming",
    "black": "blackman",
    "blk": "blackman",
    "nutt": "nuttall",
    "blackharr": "blackmanharris",
    "bkh": "blackmanharris",
    "flat": "flattop",
    "flt": "flattop",
    "bart": "bartlett",
    "brt": "bartlett",
    "tri": "triang",
    "triangle": "triang",
    "halfcosine": "cosine",
    "ksr": "kaiser",
    "gauss": "gaussian",
    "gss": "gaussian",
    "tuk": "tukey",
}


def _tukey(m: int, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(m)
    edge = np.minimum(np.arange(m), m - 1 - np.arange(m)) / max(m - 1, 1)
    return np.where(edge < alpha / 2, 0.5 * (1 - np.cos(2 * np.pi * edge / alpha)), 1.0)


def _triang(m: int) -> np.ndarray:
    n = np.minimum(np.arange(1, m + 1), np.arange(m, 0, -1))
    return 2 * n / (m + 1) if m % 2 else (2 * n - 1) / m


_SHAPES: dict[str, Callable[..., np.ndarray]] = {
    "bartlett": np.bartlett,
    "cosine": lambda m: np.sin(np.pi / m * (np.arange(m) + 0.5)),
    "gaussian": lambda m, std: np.exp(-0.5 * ((np.arange(m) - (m - 1) / 2) / std) ** 2),
    "kaiser": np.kaiser,
    "triang": _triang,
    "tukey": _tukey,
}


def get_window(window: str | tuple[Any, ...] | float, size: int) -> np.ndarray:
    """A periodic window: a symmetric one of ``size + 1`` elements without the last.

    Args:
      window: a name, a tuple of a name and parameters, or a number, Kaiser's beta.
      size: the number of elements.

    Raises:
      ValueError: if the name is unknown, or the parameters do not fit.
    """
    if isinstance(window, int | float):
        window = ("kaiser", float(window))
    name, *parameters = (window,) if isinstance(window, str) else window
    name = _OTHER_NAMES.get(name, name)
    if name in _COSINES and not parameters:
        x = 2 * np.pi * np.arange(size + 1) / max(size, 1)
        # The windows have their peak in the middle, where cos(k (x - π)) = (-1)^k cos(k x) is 1.
        terms = [(-1) ** k * c * np.cos(k * x) for k, c in enumerate(_COSINES[name])]
        return np.sum(terms, axis=0)[:size]
    if name not in _SHAPES:
        raise ValueError(
            f"window {window!r} is unknown; it is {', '.join(sorted({*_COSINES, *_SHAPES}))}, "
            "or an array."
        )
    try:
        # Windows are periodic: symmetric ones of one element more, without the last, which is the
        # first of the next period.
        return _SHAPES[name](size + 1, *parameters)[:size]
    except TypeError:
        raise ValueError(
            f"the window {name!r} does not take the parameters {parameters}."
        ) from None


def as_window(
    name: str, window: Window, nperseg: int | None, size: int | None, default: int
) -> tuple[Array, int]:
    """A window as a vector, and its length.

    Args:
      name: the calling function, for messages.
      window: an array, or an argument of ``get_window``.
      nperseg: the window's length as given by the user, or ``None``.
      size: the signal's length, which limits the window's, or ``None``.
      default: the length if none is given.

    Raises:
      ValueError: if the window is unknown or its length does not fit.
    """
    if nperseg is not None and int(nperseg) < 1:
        raise ValueError(f"{name}: nperseg must be positive, got {nperseg}.")
    if isinstance(window, str | tuple | int | float):
        length = default if nperseg is None else int(nperseg)
        length = length if size is None else min(length, size)
        return jnp.asarray(get_window(window, length), jnp.result_type(float)), length
    weights = jnp.asarray(window)
    if weights.ndim != 1:
        raise ValueError(f"{name}: window must be of rank 1, got shape {weights.shape}.")
    length = weights.shape[0]
    if size is not None and length > size:
        raise ValueError(f"{name}: the window has {length} elements, but the signal only {size}.")
    if nperseg is not None and int(nperseg) != length:
        raise ValueError(
            f"{name}: nperseg={nperseg} is not the window's length, which is {length}. Leave it "
            "out."
        )
    return weights, length


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
    check_choice("detrend", "type", type, ("linear", "constant"))
    (x,) = (jnp.asarray(v) for v in promote_dtypes_inexact(*operands("detrend", data)))
    axis = canonical_axis(axis, x.ndim)
    if type == "constant":
        return x - jnp.mean(x, axis, keepdims=True)
    size = x.shape[axis]
    places = sorted({0, size, *map(int, np.atleast_1d(np.asarray(bp)))})
    if places[0] < 0 or places[-1] > size:
        raise ValueError(f"detrend: bp must lie within the data's {size} elements, got {bp}.")
    if not size:
        return x
    return _less_lines(x, axis=axis, places=tuple(places))


@inlined("detrend")
def _less_lines(x: Array, *, axis: int, places: tuple[int, ...]) -> Array:
    x = jnp.moveaxis(x, axis, 0)
    parts = []
    for start, end in zip(places, places[1:], strict=False):
        part, n = x[start:end], end - start
        # The projection on an orthonormal basis of the lines is subtracted.
        lines = np.stack([np.arange(1, n + 1) / n, np.ones(n)], axis=1)
        basis, *_ = np.linalg.svd(lines, full_matrices=False)
        basis = convert(basis, x.dtype, x.weak_type)
        inside = jnp.tensordot(basis, jnp.tensordot(basis.T, part, 1, precision="highest"), 1)
        parts.append(part - inside)
    return jnp.moveaxis(jnp.concatenate(parts, 0), 0, axis)
