"""The persistent compilation cache: compiled programs in a folder, for the next process.

The room is imported when the first program is compiled while ``jax_compilation_cache_dir`` is set.
"""

from ricci_ir import export_names as _export_names

from ._command import *
from ._entry import *
from ._folder import *
from ._key import *
from ._persistent import *

_export_names(globals())
