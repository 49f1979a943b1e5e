"""Cosine transforms: the API of ``jax.scipy.fft``."""

from ._cosine import dct as dct
from ._cosine import dctn as dctn
from ._cosine import idct as idct
from ._cosine import idctn as idctn

__all__ = ["dct", "dctn", "idct", "idctn"]
