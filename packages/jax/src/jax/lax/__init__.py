"""The names of ``ricci.lax``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.lax import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import linalg as linalg
else:
    import jax.lax.linalg as linalg

_export_names(globals(), "linalg")

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.lax import __dir__ as __dir__
    from ricci.lax import __getattr__ as __getattr__
