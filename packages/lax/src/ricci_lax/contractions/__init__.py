"""Sums of products: dots, convolutions, Fourier transforms."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._convolution import *
    from ._convolution_forms import *
    from ._convolution_shape import *
    from ._dot import *
    from ._fft import *
    from ._precision import *
    from ._ragged_dot import *
    from ._ragged_dot_shape import *
    from ._scaled_dot import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
