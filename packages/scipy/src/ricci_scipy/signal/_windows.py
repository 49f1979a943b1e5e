"""Windows: the weights of the elements of a segment of a signal."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike

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


def _kaiser(m: int, beta: float) -> np.ndarray:
    return np.kaiser(m, beta)


def _gaussian(m: int, std: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.arange(m) - (m - 1) / 2) / std) ** 2)


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
    "gaussian": _gaussian,
    "kaiser": _kaiser,
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
        terms = [(-1) ** k * c * np.cos(k * x) for k, c in enumerate(_COSINES[name])]
        return np.sum(terms, axis=0)[:size]
    if name not in _SHAPES:
        raise ValueError(
            f"window {window!r} is unknown; it is {', '.join(sorted({*_COSINES, *_SHAPES}))}, "
            "or an array."
        )
    try:
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
