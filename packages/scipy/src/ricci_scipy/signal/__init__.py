"""Signals: the API of ``jax.scipy.signal``."""

from ricci_ir import export_names as _export_names

from ._convolution import *
from ._spectra import *
from ._windows import *

_export_names(globals())
