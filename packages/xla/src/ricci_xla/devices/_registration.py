"""Tells jaxlib of the types it is to make for arrays and shardings of its own making.

jaxlib looks them up by name in modules of JAX, and takes them from no other place. Where ``jax``
is missing each look-up is a failing import, and arrays come out without a type; where JAX itself is
installed it would be imported, and would put its own methods on the array class. So while jaxlib
looks, modules of those names exist that hold our types.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from ricci_ir import ShapedArray

from ._jaxlib import runtime

_lock = threading.RLock()


def _make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    return runtime.SingleDeviceSharding(device, memory_kind=memory_kind)


_array_types = {
    "jax.core": {"ShapedArray": ShapedArray},
    "jax._src.sharding_impls": {"make_single_device_sharding": _make_single_device_sharding},
}


@contextmanager
def shown_to_jaxlib(contents: dict[str, dict[str, Any]] = _array_types) -> Iterator[None]:
    """Within this block jaxlib finds modules with these contents, by default our array types.

    Modules that exist already are left alone.
    """
    packages = {"jax": {"__path__": []}, "jax._src": {"__path__": []}}
    with _lock:
        added = []
        for name, names in {**packages, **contents}.items():
            if name not in sys.modules:
                module = ModuleType(name)
                vars(module).update(names)
                sys.modules[name] = module
                added.append(name)
        try:
            yield
        finally:
            for name in added:
                sys.modules.pop(name, None)


def introduce_array_types(device: Any) -> None:
    """Make jaxlib look up the type of arrays, which it does once; before any other array."""
    aval = ShapedArray((), np.dtype(np.int32))
    here = runtime.SingleDeviceSharding(device)
    with shown_to_jaxlib():
        array = runtime.batched_device_put(
            aval, here, [np.zeros((), np.int32)], [device], enable_x64=True
        )
        array._single_device_array_to_np_array_did_copy()


def introduce_spec_check(check: Any, spec: Any) -> None:
    """Make jaxlib look up ``check(mesh, spec)``, which it calls for every ``NamedSharding``."""

    class _NoMesh:
        size = 0
        axis_names = ()
        _internal_device_list = None

    with shown_to_jaxlib({"jax._src.named_sharding": {"check_pspec": check}}):
        runtime.NamedSharding(_NoMesh(), spec)
