"""Names for kernels on TPUs. See ``ricci_kernels.tpu``."""

import typing as _typing

from ricci_ir import guard_public as _guard_public
from ricci_kernels import tpu as _tpu
from ricci_kernels.tpu import *

_guard_public(globals())

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__ = _tpu.__getattr__
