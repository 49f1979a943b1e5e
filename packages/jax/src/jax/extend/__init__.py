"""The names of ``ricci.extend``.

Written by tools/drop_in.py.
"""

from ricci.extend import *
from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

# isort: split
import jax.extend.core as core
import jax.extend.linear_util as linear_util

_export_names(globals(), "core", "linear_util")

__getattr__, __dir__ = _lazy_names(
    globals(),
    {
        "backend": ".backend",
        "random": ".random",
        "source_info_util": ".source_info_util",
    },
)
