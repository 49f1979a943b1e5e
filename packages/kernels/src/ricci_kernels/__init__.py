"""Kernels in Python, functions of references to blocks of arrays: ``jax.experimental.pallas``."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from ricci_ir import export_names as _export_names

from . import _absent_reasons as _reasons
from . import triton as _triton
from . import triton_ir as _triton_ir
from ._absent import other_names as _other_names
from .blocks._integers import *
from .blocks._memory_spaces import *
from .blocks._programs import *
from .blocks._specs import *
from .body._control import *
from .body._copies import *
from .body._debugging import *
from .body._selected_refs import *
from .calls import _recorded_calls as _recorded_calls
from .calls._calls import *
from .calls._lowered_text import *
from .calls._meshes import *
from .calls._primitive import *
from .checks import _checking as _checking
from .primitives._accesses import masked_load as _masked_load
from .primitives._accesses import masked_store as _masked_store
from .primitives._accesses import view as _view
from .primitives._device_numbers import *


def _load(ref: _Any, idx: _Any, *, mask: _Any = None, other: _Any = None, **_: object) -> _Any:
    return _masked_load(_view(ref, idx), mask, other)


def _store(ref: _Any, idx: _Any, val: _Any, *, mask: _Any = None, **_: object) -> None:
    _masked_store(_view(ref, idx), val, mask)


_atomics = "add and cas max min or xchg xor"
__getattr__: _Callable[[str], _Any] = _other_names(
    __name__,
    _reasons.PALLAS,
    {
        "dot": ("jnp.dot, or plgpu.dot", _triton.dot),
        "load": ("ref[index], or plgpu.load(ref.at[index], mask=mask, other=other)", _load),
        "store": ("ref[index] = value, or plgpu.store(ref.at[index], value, mask=mask)", _store),
        **{
            f"atomic_{name}": (f"plgpu.atomic_{name}", getattr(_triton, f"atomic_{name}"))
            for name in _atomics.split()
        },
    },
)

_export_names(globals())
