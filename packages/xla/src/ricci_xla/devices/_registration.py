"""Registration of our types with jaxlib, which looks them up in JAX's modules.

jaxlib creates some arrays and shardings itself. It takes the classes of their types from modules
named ``jax.core`` and ``jax._src...``, and from nowhere else. Without such modules the imports
fail, and the arrays have no type; with JAX installed, JAX would be imported and would put its own
methods on the array class. So modules with those names and our types exist while jaxlib looks.

``prepare_kernels`` initializes the kernels that an executable calls, before it runs.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from ricci_ir import ShapedArray
from ricci_stablehlo import installed_kernels

from ._jaxlib import runtime
from ._native import NATIVE
from ._runtime_types import Device

_lock = threading.RLock()


def _make_single_device_sharding(device: Device, *, memory_kind: str | None = None) -> object:
    return runtime.SingleDeviceSharding(device, memory_kind=memory_kind)


_array_types = {
    "jax.core": {"ShapedArray": ShapedArray},
    "jax._src.sharding_impls": {"make_single_device_sharding": _make_single_device_sharding},
}


@contextmanager
def shown_to_jaxlib(contents: dict[str, dict[str, Any]] = _array_types) -> Iterator[None]:
    """Put modules where jaxlib looks for types, for the duration of a ``with`` block.

    Modules that exist already are left alone.

    Args:
      contents: the modules' names, and the names in each; by default our types of arrays.
    """
    packages = {"jax": {"__path__": []}, "jax._src": {"__path__": []}}
    with _lock:
        added = []
        # A module that exists is another library's, and stays.
        for name, names in {**packages, **contents}.items():
            if name not in sys.modules:
                module = ModuleType(name)
                vars(module).update(names)
                sys.modules[name] = module
                parent, _, child = name.rpartition(".")
                if parent in added:
                    setattr(sys.modules[parent], child, module)
                added.append(name)
        try:
            yield
        finally:
            for name in added:
                sys.modules.pop(name, None)


def introduce_array_types(device: Device) -> None:
    """Make jaxlib look up the types of arrays, which it does once, with the first array."""
    aval = ShapedArray((), np.dtype(np.int32))
    sharding = runtime.SingleDeviceSharding(device)
    with shown_to_jaxlib():
        array = runtime.batched_device_put(
            aval, sharding, [np.zeros((), np.int32)], [device], enable_x64=True
        )
        array._single_device_array_to_np_array_did_copy()


def introduce_spec_check(check: Callable[[Any, Any], None], spec: object) -> None:
    """Make jaxlib look up the function that checks the spec of every new ``NamedSharding``.

    Args:
      check: takes the mesh and the spec, and raises an error if they do not fit.
      spec: any spec; jaxlib looks the function up with the first sharding.
    """

    class _NoMesh:
        size = 0
        axis_names = ()
        _name_to_type: dict[Any, Any] = {}
        _internal_device_list = None

    with shown_to_jaxlib({"jax._src.named_sharding": {"check_pspec": check}}):
        runtime.NamedSharding(_NoMesh(), spec)


def prepare_kernels(text: str | bytes, platform: str) -> None:
    """Initialize the kernels that a module calls; without this its executable would crash.

    Nothing is done for other modules, since initializing imports SciPy.

    Args:
      text: the module, as StableHLO or HLO.
      platform: the platform that it is to run on.
    """
    if _mentions("lapack_", text):
        from jaxlib import lapack  # noqa: PLC0415 - lazy: it imports SciPy when it is called

        lapack.prepare_lapack_call("getrf", "float32")
    if platform == "cpu" and _mentions(NATIVE, text):
        installed_kernels.call()
    if platform != "cpu" and _mentions("hybrid", text):
        from jaxlib import gpu_solver  # noqa: PLC0415 - lazy: it imports SciPy

        gpu_solver.initialize_hybrid_kernels()


def _mentions(kernel: str, text: str | bytes) -> bool:
    return kernel in text if isinstance(text, str) else kernel.encode() in text
