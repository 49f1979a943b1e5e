"""NumPy's functions on arrays that can be differentiated, batched and compiled."""

import typing as _typing

from ricci_ir import guard_public as _guard_public
from ricci_numpy import *
from ricci_numpy import __array_api_version__ as __array_api_version__
from ricci_numpy import __array_namespace_info__ as __array_namespace_info__
from ricci_numpy.authoring import array_namespaces as _array_namespaces

# isort: split
# Not ricci_numpy's modules of these names, which came with the star.
if _typing.TYPE_CHECKING:
    from . import fft as fft
    from . import linalg as linalg
else:
    import ricci.numpy.fft as fft
    import ricci.numpy.linalg as linalg

_guard_public(globals(), "fft", "linalg")
_array_namespaces.append(__name__)
