"""Advice where a module of JAX is left out, or a name is in another namespace."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from ricci_ir import api_boundary, explained, hide_frames

_KERNELS = (
    "kernels written in Python are not supported. Write the operation with lax or numpy, which XLA "
    "fuses, or call a compiled kernel with ffi.ffi_call"
)
_BINDINGS = (
    "programs are StableHLO text here, with no objects of MLIR: jit(f).lower(...).as_text() gives "
    "it, .compiler_ir() the module that jaxlib parses from it"
)
# What to use instead of a module, and of all modules inside of it.
MODULES = {
    "collect_profile": "use profiler.trace(folder), or the command `python -m ricci.profile`",
    "experimental.buffer_callback": "use pure_callback or io_callback, or ffi.ffi_call for buffers",
    "experimental.colocated_python": (
        "Python functions run in the process that drives the devices: use pure_callback"
    ),
    "experimental.fused": "XLA fuses what is in one jit; there is no annotation for it",
    "experimental.hijax": (
        "values made of several arrays are pytrees here: tree_util.register_dataclass"
    ),
    "experimental.jax2tf": (
        "use export.export(jit(f))(...), whose mlir_module() is StableHLO, which TensorFlow calls "
        "with XlaCallModule"
    ),
    "experimental.key_reuse": "use the option jax_debug_key_reuse, or ricci.check",
    "experimental.mosaic": _KERNELS,
    "experimental.overlap": "XLA schedules communication: compiler options of jit steer it",
    "experimental.pallas": _KERNELS,
    "experimental.roofline": "use memory_plan and jit(f).lower(...).compile().cost_analysis()",
    "experimental.scheduling_groups": "use experimental.xla_metadata.set_xla_metadata",
    "experimental.source_mapper": "use jit(f).lower(...).as_text(debug_info=True)",
    "experimental.sparse.test_util": "it is made for the tests of JAX itself",
    "experimental.transfer": "use device_put, or distributed for several processes",
    "extend.ifrt_programs": "programs for proxies are not supported",
    "extend.mlir.ir": _BINDINGS,
    "extend.mlir.passmanager": _BINDINGS,
    "lib": "use extend.backend, and the package jaxlib for what belongs to it",
    "tools.jax_to_ir": "use jit(f).lower(...).as_text()",
    "tools.pgo_nsys_converter": "it converts profiles for a compiler flag, and needs JAX alone",
    "version": "ricci.__version__ is Ricci's version",
}
# Where a name is looked for that another namespace lacks.
_HOMES = ("numpy", "lax", "nn", "random", "tree", "numpy.linalg", "numpy.fft", "scipy.special", "")


class AbsentModules:
    """Raises an error with advice when an absent module is imported: a finder of Python's imports.

    ``importlib.util.find_spec`` finds nothing, as of any module that is not there. The names under
    ``jax`` are those of the drop-in.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Raise ``ModuleNotFoundError`` for the import of an absent module."""
        root, _, inside = name.partition(".")
        if root not in ("ricci", "jax"):
            return
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":  # the import statement's
            return
        found = next((m for m in MODULES if inside == m or inside.startswith(f"{m}.")), None)
        if found is not None:
            try:
                # Without a name, or ``from`` would drop the error and say only that one is missing.
                raise ModuleNotFoundError(
                    explained(f"{name} is not there: {MODULES[found]}.", "modules")
                ) from None
            except ModuleNotFoundError as error:
                hide_frames(error)  # that of this function; Python leaves out those of importlib
                raise


def _elsewhere(name: str) -> str | None:
    """Where a name is that a namespace lacks: a namespace that is loaded and has it."""
    for home in _HOMES:
        path = f"ricci.{home}".rstrip(".")
        if home != "scipy.special" and path not in sys.modules:
            continue
        if home == "tree" and name.startswith("tree_"):
            name = name.removeprefix("tree_")
        module = import_module(path)
        if name in getattr(module, "__all__", ()):
            return f"{path}.{name}"
    return None


def or_advise(module: str, load: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a namespace, whose error says where a name is that it lacks.

    Args:
      module: the namespace's name.
      load: finds the names that are imported at first use, or raises ``AttributeError``.
    """

    @api_boundary
    def __getattr__(name: str) -> object:
        if load is not None:
            try:
                return load(name)
            except AttributeError:
                pass
        text = f"module {module!r} has no attribute {name!r}"
        home = None if name.startswith("_") else _elsewhere(name)
        if home is not None:
            text = f"{text}; there is {home}"
        # With the name and the object, Python looks for similar names itself.
        raise AttributeError(text, name=name, obj=sys.modules[module])

    return __getattr__


sys.meta_path.append(AbsentModules())  # pyright: ignore[reportArgumentType]
