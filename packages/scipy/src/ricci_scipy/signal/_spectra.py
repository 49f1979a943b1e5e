"""Spectra of signals, by Fourier transforms of overlapping segments."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, inlined
from ricci_numpy.authoring import canonical_axis, check_choice, operands, promote_dtypes_inexact

from ._windows import Window, as_window
from ._windows import detrend as detrend_along

__all__ = ["csd", "istft", "stft", "welch"]

# The trend to subtract from segments: a kind of ``detrend``, a function of segments, or none.
Detrend = str | Callable[[Array], Array] | bool
_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


def _overlaps(name: str, nperseg: int, noverlap: int | None, nfft: int | None) -> tuple[int, int]:
    """The overlap of segments and the length of transforms, with their defaults."""
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    nfft = nperseg if nfft is None else int(nfft)
    if noverlap >= nperseg > 0:
        raise ValueError(f"{name}: noverlap={noverlap} must be less than nperseg={nperseg}.")
    if nfft < nperseg:
        raise ValueError(f"{name}: nfft={nfft} must not be less than nperseg={nperseg}.")
    return noverlap, nfft


def _extended(x: Array, n: int, boundary: str | None) -> Array:
    """``x`` with n more elements at both ends of its last axis."""
    if boundary is None or not n:
        return x
    if boundary == "zeros":
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)])
    if boundary == "constant":
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode="edge")
    # Even: mirrored without the end itself; odd: mirrored through the end's value.
    left, right = x[..., n:0:-1], x[..., -2 : -n - 2 : -1]
    if boundary == "odd":
        left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    return jnp.concatenate([left, x, right], -1)


def _segments(x: Array, nperseg: int, noverlap: int) -> Array:
    """The overlapping segments of the last axis, as two axes."""
    step = nperseg - noverlap
    starts = np.arange(0, x.shape[-1] - nperseg + 1, step)
    return x[..., starts[:, None] + np.arange(nperseg)]


def _detrended(x: Array, detrend: Detrend) -> Array:
    if isinstance(detrend, str):
        return detrend_along(x, -1, detrend)
    return detrend(x) if callable(detrend) else x


@inlined("spectrum")
def _spectrum(
    x: Array,
    y: Array | None,
    window: Array,
    fs: ArrayLike,
    *,
    noverlap: int,
    nfft: int,
    detrend: Detrend,
    onesided: bool,
    scaling: str,
    is_power: bool,
    boundary: str | None,
    padded: bool,
) -> Array:
    """Products of the transforms of the segments of ``x`` and ``y``, or those of ``x`` alone."""
    nperseg = window.shape[0]
    step = nperseg - noverlap

    def transform(v: Array) -> Array:
        v = _extended(v, nperseg // 2, boundary)
        if padded:
            missing = (-(v.shape[-1] - nperseg) % step) % nperseg
            v = jnp.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, missing)])
        parts = _detrended(_segments(v, nperseg, noverlap), detrend)
        parts = parts * jnp.broadcast_to(window, parts.shape)
        return jnp.fft.rfft(parts.real, nfft) if onesided else jnp.fft.fft(parts, nfft)

    if scaling == "density":
        scale = 1 / (fs * jnp.sum(window * window))
    else:
        scale = 1 / jnp.sum(window) ** 2
    transformed = transform(x)
    if not is_power:
        return jnp.swapaxes(transformed * jnp.sqrt(scale).astype(transformed.dtype), -1, -2)
    other = transformed if y is None else transform(y)
    result = jnp.conj(transformed) * other
    result = result * scale.astype(result.dtype)
    if onesided:
        # Positive frequencies get the power of negative ones, too; 0 and, for an even size, the
        # highest frequency have no negative one.
        last = result.shape[-1] - (nfft % 2 == 0)
        result = result.at[..., 1:last].multiply(2)
    return jnp.swapaxes(result, -1, -2)


def _checked_scaling(name: str, scaling: str) -> None:
    check_choice(name, "scaling", scaling, ("density", "spectrum"))


def _as_signals(name: str, axis: int, *args: ArrayLike) -> list[Array]:
    """The operands as arrays of one inexact dtype, with the axis of time moved to the end."""
    arrays = [jnp.asarray(v) for v in promote_dtypes_inexact(*operands(name, *args))]
    return [jnp.moveaxis(v, canonical_axis(axis, v.ndim), -1) for v in arrays]


def _frequencies(nfft: int, fs: ArrayLike, onesided: bool, dtype: np.dtype) -> Array:
    grid = np.fft.rfftfreq(nfft) if onesided else np.fft.fftfreq(nfft)
    return jnp.asarray(grid, dtype) * fs


def _is_onesided(name: str, requested: bool, *args: Array | None) -> bool:
    if requested and any(v is not None and jnp.iscomplexobj(v) for v in args):
        warnings.warn(
            f"{name}: the spectrum of complex values has two sides, so return_onesided=True is "
            "ignored.",
            stacklevel=4,
        )
        return False
    return bool(requested)


def _warn_of_length(name: str, nperseg: int | None, window: Window, size: int) -> None:
    if nperseg is not None and isinstance(window, str | tuple) and int(nperseg) > size:
        warnings.warn(
            f"{name}: nperseg={nperseg} exceeds the {size} elements of the signal; {size} is used.",
            stacklevel=3,
        )


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: the spectra of overlapping segments.

    Args:
      x: an array; integers are converted to the default float dtype.
      fs: the sampling frequency: elements per unit of time.
      window: a name, a tuple of a name and parameters, or a vector.
      nperseg: the length of segments.
      noverlap: how many elements adjacent segments share, by default half of them.
      nfft: the length to which segments are padded with zeros, by default their own.
      detrend: what to subtract from segments: ``"constant"``, ``"linear"``, a function, or
        ``False`` for nothing.
      return_onesided: whether to leave out negative frequencies, where ``x`` is real.
      boundary: how ``x`` is extended by half a segment at both ends: ``"zeros"``, ``"even"``,
        ``"odd"``, ``"constant"``, or ``None``.
      padded: whether zeros are added so that the last elements make a segment, too.
      axis: the axis of time.

    Returns:
      Frequencies of shape ``(f,)``, times of shape ``(t,)``, and the transform, with the
      frequencies along ``axis`` and the times along the last axis.

    Raises:
      TypeError: if ``x`` is not an array.
      ValueError: if lengths do not fit, or a name is unknown.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> f, t, z = signal.stft(np.ones(32, np.float32), nperseg=8)
      >>> f.shape, t.shape, z.shape
      ((5,), (9,), (5, 9))

    Source: scipy.signal.stft.
    """
    check_choice("stft", "boundary", boundary, _BOUNDARIES)
    (x,) = _as_signals("stft", axis, x)
    axis = canonical_axis(axis, x.ndim)
    _warn_of_length("stft", nperseg, window, x.shape[-1])
    window, nperseg = as_window("stft", window, nperseg, x.shape[-1], 256)
    noverlap, nfft = _overlaps("stft", nperseg, noverlap, nfft)
    if not x.size:
        empty = jnp.zeros(x.shape, jnp.result_type(float))
        return empty, empty, empty.astype(jnp.promote_types(x.dtype, "complex64"))
    onesided = _is_onesided("stft", return_onesided, x)
    spectrum = _spectrum(
        x,
        None,
        window.astype(x.real.dtype),
        fs,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        onesided=onesided,
        scaling="spectrum",
        is_power=False,
        boundary=boundary,
        padded=padded,
    )
    places = nperseg / 2 + np.arange(spectrum.shape[-1]) * (nperseg - noverlap)
    if boundary is not None:
        places = places - nperseg / 2
    times = jnp.asarray(places, x.real.dtype) / fs
    return _frequencies(nfft, fs, onesided, x.real.dtype), times, jnp.moveaxis(spectrum, -2, axis)


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross spectral density of two signals, by Welch's method.

    Args:
      x, y: arrays whose shapes broadcast, but for the axis of time; the shorter one is padded
        with zeros. ``None`` for ``y`` means ``x``.
      fs, window, noverlap, nfft, return_onesided: as for ``stft``.
      nperseg: the length of segments, by default that of the signals.
      detrend: what to subtract from segments, by default their mean.
      scaling: ``"density"`` for power per unit of frequency, ``"spectrum"`` for power.
      axis: the axis of time, and of frequencies in the result.
      average: how segments are averaged: ``"mean"``, or ``"median"``, corrected for its bias.

    Returns:
      Frequencies of shape ``(f,)`` and the spectrum, complex unless ``y`` is ``None``.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if shapes or lengths do not fit, or a name is unknown.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import signal
      >>> x = np.float32([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
      >>> f, p = signal.csd(x, x, nperseg=4)
      >>> f.tolist(), int(jnp.argmax(jnp.abs(p)))
      ([0.0, 0.25, 0.5], 2)

    Source: Welch, "The use of fast Fourier transform for the estimation of power spectra", 1967.
    """
    _checked_scaling("csd", scaling)
    is_real = y is None
    if y is x:  # one signal, whose spectrum has no imaginary part
        y = None
    signals = _as_signals("csd", axis, x, *([] if y is None else [y]))
    ndim = signals[0].ndim
    if y is not None:
        signals = _broadcast_signals(*signals)
    x, y = signals[0], signals[1] if y is not None else None
    _warn_of_length("csd", nperseg, window, x.shape[-1])
    window, size = as_window("csd", window, nperseg, x.shape[-1], x.shape[-1])
    noverlap, nfft = _overlaps("csd", size, noverlap, nfft)
    onesided = _is_onesided("csd", return_onesided, x, y)
    spectrum = _spectrum(
        x,
        y,
        window.astype(x.real.dtype),
        fs,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        onesided=onesided,
        scaling=scaling,
        is_power=True,
        boundary=None,
        padded=False,
    )
    spectrum_dtype = spectrum.dtype
    spectrum = _averaged(spectrum.real if y is None else spectrum, average)
    if not is_real:
        spectrum = spectrum.astype(spectrum_dtype)
    frequencies = _frequencies(nfft, fs, onesided, x.real.dtype)
    return frequencies, jnp.moveaxis(spectrum, -1, canonical_axis(axis, max(ndim, spectrum.ndim)))


def _broadcast_signals(x: Array, y: Array) -> list[Array]:
    """The signals with one shape, the shorter one padded with zeros."""
    try:
        lead = lax.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    except ValueError:
        raise ValueError(
            "csd: x and y do not broadcast against each other outside of the axis of time: the "
            f"shapes are {x.shape} and {y.shape}."
        ) from None
    size = max(x.shape[-1], y.shape[-1])
    filled = [jnp.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, size - v.shape[-1])]) for v in (x, y)]
    return [jnp.broadcast_to(v, (*lead, size)) for v in filled]


def _averaged(spectra: Array, average: str) -> Array:
    """The average over segments, which are the last axis."""
    count = spectra.shape[-1]
    if count <= 1:
        return spectra[..., 0]
    if average == "mean":
        return jnp.mean(spectra, -1)
    if average != "median":
        raise ValueError(f"csd: average={average!r} is unknown; it is 'mean' or 'median'.")
    # The median of a sum of two squares is less than its mean by this factor.
    even = 2 * np.arange(1, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (even + 1) - 1 / even)
    if not jnp.iscomplexobj(spectra):
        return jnp.median(spectra, -1) / bias
    return lax.complex(jnp.median(spectra.real, -1), jnp.median(spectra.imag, -1)) / bias


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectral density of a signal, by Welch's method.

    Args:
      x: an array; integers are converted to the default float dtype.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average: as for
        ``csd``.

    Returns:
      Frequencies of shape ``(f,)`` and the real spectrum.

    Raises:
      TypeError, ValueError: as ``csd``.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import signal
      >>> f, p = signal.welch(np.float32([1.0, -1.0] * 8), nperseg=4)
      >>> f.tolist(), int(jnp.argmax(p))
      ([0.0, 0.25, 0.5], 2)

    Source: Welch, "The use of fast Fourier transform for the estimation of power spectra", 1967.
    """
    return csd(
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The signal whose short-time Fourier transform is nearest to a given one.

    Args:
      Zxx: the last result of ``stft``.
      fs, window, noverlap: as they were given to ``stft``.
      nperseg: the length of segments, by default the one that the number of frequencies implies.
      nfft: the length of the inverse transforms, with the same default.
      input_onesided: whether negative frequencies were left out.
      boundary: whether the signal was extended at its ends; the extension is removed.
      time_axis, freq_axis: the axes of times and frequencies.

    Returns:
      Times of shape ``(n,)``, and the signal.

    Raises:
      TypeError: if ``Zxx`` is not an array.
      ValueError: if lengths or axes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import signal
      >>> x = np.float32([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
      >>> signal.istft(signal.stft(x, nperseg=4)[2])[1].round(4).tolist()
      [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]

    Source: Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984.
    """
    (z,) = (jnp.asarray(v) for v in promote_dtypes_inexact(*operands("istft", Zxx)))
    if z.ndim < 2:
        raise ValueError(f"istft: Zxx must have rank 2 at least, got shape {z.shape}.")
    axes = [canonical_axis(d, z.ndim) for d in (freq_axis, time_axis)]
    if axes[0] == axes[1]:
        raise ValueError(f"istft: time_axis and freq_axis must differ, but both are {time_axis}.")
    z = jnp.moveaxis(z.astype(jnp.promote_types(z.dtype, "complex64")), axes, (-2, -1))
    count = z.shape[-2]
    natural = 2 * (count - 1) if input_onesided else count
    window, size = as_window("istft", window, nperseg, None, natural)
    if nfft is None:
        is_odd = input_onesided and size == natural + 1
        nfft = size if is_odd else natural
    noverlap, nfft = _overlaps("istft", size, noverlap, nfft)
    settings = {"noverlap": noverlap, "nfft": nfft, "boundary": bool(boundary)}
    x = _istft(z, window.astype(z.real.dtype), onesided=bool(input_onesided), **settings)
    x = jnp.moveaxis(x, -1, min(axes)) if x.ndim > 1 else x
    times = jnp.arange(x.shape[min(axes) if x.ndim > 1 else 0], dtype=x.real.dtype) / fs
    return times, x


@inlined("istft")
def _istft(
    z: Array, window: Array, *, noverlap: int, nfft: int, boundary: bool, onesided: bool
) -> Array:
    nperseg = window.shape[0]
    step = nperseg - noverlap
    inverse: Callable[..., Array] = jnp.fft.irfft if onesided else jnp.fft.ifft
    parts = inverse(jnp.swapaxes(z, -1, -2), nfft)[..., :nperseg]
    parts = parts.astype(z.real.dtype if onesided else z.dtype)
    # The least-squares solution: each segment is weighted by the window again, and the sum divided
    # by that of the squared windows. The factor sum(window) undoes the scale of ``stft``. Where the
    # windows vanish both sums are about 0, and the denominator is replaced by 1.
    squares = jnp.broadcast_to(window * window, (parts.shape[-2], nperseg))
    scaled = jnp.broadcast_to(window * jnp.sum(window), parts.shape)
    x = _added(parts * scaled, step)
    norm = _added(squares, step)
    if boundary:
        edge = nperseg // 2
        x, norm = x[..., edge : x.shape[-1] - edge], norm[edge : norm.shape[-1] - edge]
    return x / jnp.broadcast_to(jnp.where(norm > 1e-10, norm, 1), x.shape)


def _added(parts: Array, step: int) -> Array:
    """The sum of overlapping segments (the last axis), each shifted by ``step`` from the last."""
    *lead, count, size = parts.shape
    # A segment is cut into blocks of ``step`` elements: the i-th block of each segment falls on the
    # grid, i places later. So the sum is one of ``blocks`` shifted arrays, without a scatter.
    blocks = -(-size // step)
    parts = jnp.pad(parts, [(0, 0)] * (len(lead) + 1) + [(0, blocks * step - size)])
    parts = parts.reshape(*lead, count, blocks, step)
    total = 0
    for i in range(blocks):
        around = [(0, 0)] * len(lead) + [(i, blocks - 1 - i), (0, 0)]
        total = total + jnp.pad(parts[..., i, :], around)
    flat: Any = total
    return flat.reshape(*lead, -1)[..., : (count - 1) * step + size]
