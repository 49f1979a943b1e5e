"""The names of ``ricci.nn``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.nn import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import initializers as initializers
else:
    import jax.nn.initializers as initializers

_export_names(globals(), "initializers")

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.nn import __dir__ as __dir__
    from ricci.nn import __getattr__ as __getattr__
