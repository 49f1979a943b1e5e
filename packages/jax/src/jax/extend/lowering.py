"""The names of ``ricci.extend.lowering``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.extend.lowering import *
from ricci_ir import export_names as _export_names

_export_names(globals())

if not _typing.TYPE_CHECKING:  # to which every name would be there
    from ricci.extend.lowering import __dir__ as __dir__
    from ricci.extend.lowering import __getattr__ as __getattr__
