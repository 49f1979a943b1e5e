"""The persistent compilation cache: executables in a folder, for the next process.

The room is imported with the first compilation while ``jax_compilation_cache_dir`` is set.
"""

import typing as _typing

from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

from ._folder import *
from ._key import *
from ._persistent import *

_export_names(globals())
if _typing.TYPE_CHECKING:
    from ._command import main as main
else:  # the command alone reads arguments
    __getattr__, __dir__ = _lazy_names(globals(), {"main": "._command:main"})
