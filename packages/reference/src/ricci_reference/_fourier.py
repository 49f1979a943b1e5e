"""Rules of Fourier transforms, in double precision."""

from collections.abc import Callable

import numpy as np

from ._widening import Rule

_TRANSFORMS: tuple[Callable[..., np.ndarray], ...] = (
    np.fft.fftn,
    np.fft.ifftn,
    np.fft.rfftn,
    np.fft.irfftn,
)
_RFFT, _IRFFT = 2, 3


def _fft(x: np.ndarray, *, fft_type: int, fft_lengths: tuple[int, ...]) -> np.ndarray:
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    if fft_type == _IRFFT:
        dtype = np.abs(x[..., :0]).dtype
    else:
        dtype = (x[..., :0] + np.complex64(0)).dtype
    last = fft_lengths[-1] // 2 + 1 if fft_type == _RFFT else fft_lengths[-1]
    if 0 in fft_lengths or x.size == 0:
        # NumPy refuses transforms of length 0.
        return np.zeros((*x.shape[:-1], last), dtype)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return _TRANSFORMS[fft_type](wide, fft_lengths, axes).astype(dtype)


fourier_rules: dict[str, Rule] = {"fft": _fft}
