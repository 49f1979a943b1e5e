"""The names of ``ricci.experimental.compilation_cache``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.experimental.compilation_cache import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import compilation_cache as compilation_cache
else:
    import jax.experimental.compilation_cache.compilation_cache as compilation_cache

_export_names(globals(), "compilation_cache")
