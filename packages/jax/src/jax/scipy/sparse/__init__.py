"""The names of ``ricci.scipy.sparse``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.scipy.sparse import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import linalg as linalg
else:
    import jax.scipy.sparse.linalg as linalg

_export_names(globals(), "linalg")
