"""Signals: the API of ``jax.scipy.signal``."""

from ._convolution import convolve as convolve
from ._convolution import convolve2d as convolve2d
from ._convolution import correlate as correlate
from ._convolution import correlate2d as correlate2d
from ._convolution import fftconvolve as fftconvolve
from ._detrending import detrend as detrend
from ._spectra import csd as csd
from ._spectra import istft as istft
from ._spectra import stft as stft
from ._spectra import welch as welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
