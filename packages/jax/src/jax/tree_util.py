"""The names of ``ricci.tree_util``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.tree_util import *
from ricci_ir import export_names as _export_names

_export_names(globals())

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.tree_util import __dir__ as __dir__
    from ricci.tree_util import __getattr__ as __getattr__
