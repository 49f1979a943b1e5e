"""Discrete Fourier transforms: the API of ``jax.numpy.fft``."""

from ._fft import fft as fft
from ._fft import fft2 as fft2
from ._fft import fftn as fftn
from ._fft import hfft as hfft
from ._fft import ifft as ifft
from ._fft import ifft2 as ifft2
from ._fft import ifftn as ifftn
from ._fft import ihfft as ihfft
from ._fft import irfft as irfft
from ._fft import irfft2 as irfft2
from ._fft import irfftn as irfftn
from ._fft import rfft as rfft
from ._fft import rfft2 as rfft2
from ._fft import rfftn as rfftn
from ._frequencies import fftfreq as fftfreq
from ._frequencies import fftshift as fftshift
from ._frequencies import ifftshift as ifftshift
from ._frequencies import rfftfreq as rfftfreq

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
