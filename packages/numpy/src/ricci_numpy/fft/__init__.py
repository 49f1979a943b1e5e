"""Discrete Fourier transforms: the API of ``jax.numpy.fft``."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._frequencies import *
    from ._transforms import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
