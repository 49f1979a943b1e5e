"""The names of ``ricci.scipy.cluster``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.scipy.cluster import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import vq as vq
else:
    import jax.scipy.cluster.vq as vq

_export_names(globals(), "vq")
