"""Distributions, each a module of its functions, and statistics of samples."""

from . import _continuous, _descriptive, _discrete, _kernel_density, _multivariate
from ._continuous import *
from ._descriptive import *
from ._discrete import *
from ._kernel_density import *
from ._multivariate import *

__all__: list[str] = []
__all__ += _continuous.__all__
__all__ += _descriptive.__all__
__all__ += _discrete.__all__
__all__ += _kernel_density.__all__
__all__ += _multivariate.__all__
