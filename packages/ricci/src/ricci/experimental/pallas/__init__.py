"""Kernels in Python over blocks of arrays. See ``ricci_kernels``."""

import typing as _typing

import ricci_kernels as _kernels
from ricci_ir import guard_public as _guard_public
from ricci_ir import lazy_names as _lazy_names
from ricci_kernels import *

# isort: split
if _typing.TYPE_CHECKING:
    from . import ops as ops
    from . import tpu as tpu
    from . import triton as triton

_guard_public(globals())

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    _modules = {name: f".{name}" for name in ("ops", "tpu", "triton")}
    _module, __dir__ = _lazy_names(globals(), _modules)

    def __getattr__(name):
        return _module(name) if name in _modules else _kernels.__getattr__(name)
