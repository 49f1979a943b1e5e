"""The names of ``ricci.numpy``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.numpy import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import fft as fft
    from . import linalg as linalg
else:
    import jax.numpy.fft as fft
    import jax.numpy.linalg as linalg

_export_names(globals(), "fft", "linalg")

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.numpy import __dir__ as __dir__
    from ricci.numpy import __getattr__ as __getattr__
