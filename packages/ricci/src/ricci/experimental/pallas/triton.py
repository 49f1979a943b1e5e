"""Names for kernels on GPUs. See ``ricci_kernels.triton``."""

import typing as _typing

from ricci_ir import guard_public as _guard_public
from ricci_kernels import triton as _triton
from ricci_kernels.triton import *

_guard_public(globals())

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__ = _triton.__getattr__
