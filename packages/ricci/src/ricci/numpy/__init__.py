"""NumPy's functions on arrays that can be differentiated, batched and compiled."""

import typing as _typing

import ricci_numpy as _source
from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_lazily as _guard_lazily
from ricci_numpy import __array_api_version__ as __array_api_version__
from ricci_numpy import __array_namespace_info__ as __array_namespace_info__
from ricci_numpy.authoring import array_namespaces as _array_namespaces

if _typing.TYPE_CHECKING:
    from ricci_numpy import *

    # isort: split
    # Not ricci_numpy's modules of these names, which came with the star.
    from . import fft as fft
    from . import linalg as linalg
else:
    import ricci.numpy.fft as fft
    import ricci.numpy.linalg as linalg

    __all__ = ["fft", "linalg"]
    _load, __dir__ = _guard_lazily(
        globals(),
        {_source.__name__: _source.__all__},
        unlisted={"PathInfo", *(name for name in _source.__all__ if name.endswith("Result"))},
    )
    __getattr__ = _or_advise(__name__, _load)

_array_namespaces.append(__name__)
