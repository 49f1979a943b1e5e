"""Distributions, each a module of its functions, and statistics of samples."""

from ricci_ir import export_names as _export_names

from . import _continuous, _discrete, _multivariate
from ._continuous import *
from ._descriptive import *
from ._discrete import *
from ._kernel_density import *
from ._multivariate import *

_export_names(globals(), *_continuous.__all__, *_discrete.__all__, *_multivariate.__all__)
