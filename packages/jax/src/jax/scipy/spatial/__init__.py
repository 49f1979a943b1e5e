"""The names of ``ricci.scipy.spatial``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.scipy.spatial import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import transform as transform
else:
    import jax.scipy.spatial.transform as transform

_export_names(globals(), "transform")
