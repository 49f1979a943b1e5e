"""Choices between variants of a function, such as the block sizes of a kernel, by their times.

The room is imported when ``autotune`` is first used.
"""

from ricci_ir import export_names as _export_names

from ._autotune import *
from ._choice import *

_export_names(globals())
