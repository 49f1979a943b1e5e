"""Discrete Fourier transforms: the API of ``jax.numpy.fft``."""

from ._frequencies import fftfreq as fftfreq
from ._frequencies import fftshift as fftshift
from ._frequencies import ifftshift as ifftshift
from ._frequencies import rfftfreq as rfftfreq
from ._transforms import fft as fft
from ._transforms import fft2 as fft2
from ._transforms import fftn as fftn
from ._transforms import hfft as hfft
from ._transforms import ifft as ifft
from ._transforms import ifft2 as ifft2
from ._transforms import ifftn as ifftn
from ._transforms import ihfft as ihfft
from ._transforms import irfft as irfft
from ._transforms import irfft2 as irfft2
from ._transforms import irfftn as irfftn
from ._transforms import rfft as rfft
from ._transforms import rfft2 as rfft2
from ._transforms import rfftn as rfftn

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
