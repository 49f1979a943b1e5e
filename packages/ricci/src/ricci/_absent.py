"""Advice for imports of modules of JAX that are left out, and for names of other namespaces."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from ricci_ir import api_boundary, explained, hide_frames, is_internal_module, similar_names

from . import _borrowed as _borrowed  # its finder comes before the one of this module

_KERNELS = (
    "experimental.pallas interprets kernels, and compiles them for TPUs and, by Triton, for NVIDIA "
    "GPUs. Write the operation so, or with lax or numpy, which XLA fuses, or call a compiled "
    "kernel with ffi.ffi_call"
)
_OPS = "experimental.pallas.ops has kernels for all devices, such as flash_attention and matmul"
# The replacement of a module, and of all modules inside of it. Programs written for earlier
# versions of JAX import some that it no longer has.
MODULES = {
    "abstract_arrays": "use core.ShapedArray",
    "api": "use the package itself",
    "collect_profile": "use profiler.trace(folder), or the command `python -m ricci.profile`",
    "experimental.ann": "use lax.approx_max_k and lax.approx_min_k",
    "experimental.array_api": "numpy follows the array API itself",
    "experimental.attrs": "use new_ref and the other functions of ref",
    "experimental.buffer_callback": "use pure_callback or io_callback, or ffi.ffi_call for buffers",
    "experimental.callback": "use pure_callback, io_callback, or debug.callback",
    "experimental.colocated_python": (
        "Python functions run in the process that drives the devices: use pure_callback"
    ),
    "experimental.djax": "use export.symbolic_shape, or ricci.bucketed",
    "experimental.export": "use export",
    "experimental.fused": "XLA fuses the operations of one jit; an annotation is not needed",
    "experimental.gda_serialization": "use experimental.array_serialization",
    "experimental.global_device_array": "an array may span devices: use make_array_from_callback",
    "experimental.host_callback": "use pure_callback, io_callback, or debug.callback",
    "experimental.jax2tf": (
        "use export.export(jit(f))(...), whose mlir_module() is StableHLO, which TensorFlow calls "
        "with XlaCallModule"
    ),
    "experimental.key_reuse": "use the option jax_debug_key_reuse, or ricci.check",
    "experimental.loops": "use lax.fori_loop, lax.while_loop and lax.cond",
    "experimental.maps": "use shard_map, or jit with shardings; set_mesh sets a mesh",
    "experimental.mosaic": _KERNELS,
    "experimental.optimizers": "use example_libraries.optimizers",
    "experimental.overlap": "XLA schedules communication: compiler options of jit steer it",
    "experimental.pallas.fuser": _KERNELS,
    "experimental.pallas.mosaic_gpu": _KERNELS,
    "experimental.pallas.ops.gpu": _OPS,
    "experimental.pallas.ops.tpu": _OPS,
    "experimental.pallas.tpu_sc": _KERNELS,
    "experimental.roofline": "use memory_plan and jit(f).lower(...).compile().cost_analysis()",
    "experimental.scheduling_groups": "use experimental.xla_metadata.set_xla_metadata",
    "experimental.sharding": "use sharding",
    "experimental.source_mapper": "use jit(f).lower(...).as_text(debug_info=True)",
    "experimental.sparse.test_util": "it is made for the tests of JAX itself",
    "experimental.stax": "use example_libraries.stax",
    "experimental.thunky": _KERNELS,
    "experimental.transfer": "use device_put, or distributed for several processes",
    "experimental.vectorize": "use numpy.vectorize",
    "experimental.x64_context": "use enable_x64",
    "extend.ifrt_programs": "programs for proxies are not supported",
    "interpreters.masking": "use export.symbolic_shape, or ricci.bucketed",
    "interpreters.sharded_jit": "use jit with shardings",
    "lax.control_flow": "use lax, which has its names",
    "lax.lax": "use lax, which has its names",
    "lax.parallel": "use lax, which has its names",
    "lax_linalg": "use lax.linalg",
    "lib": "use extend.backend, and the package jaxlib for what belongs to it",
    "linear_util": "use extend.linear_util",
    "numpy.lax_numpy": "use numpy, which has its names",
    "prng": "use random.key, and extend.random to define generators",
    "scipy.misc": "use scipy.special.logsumexp",
    "tools.jax_to_ir": "use jit(f).lower(...).as_text()",
    "tools.pgo_nsys_converter": "it converts profiles for a compiler flag, and needs JAX alone",
    "util": "use functools and itertools: safe_map and safe_zip are map and zip with strict=True",
    "version": "ricci.__version__ is Ricci's version",
}
# The namespaces in which a name is looked up that another namespace lacks.
_HOMES = ("numpy", "lax", "nn", "random", "tree", "numpy.linalg", "numpy.fft", "scipy.special", "")
_LOADED_LATER = ("nn", "scipy.special")  # at their first use


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
        error = _import_error(name, inside)
        if error is not None:
            try:
                raise error from None
            except ImportError:
                hide_frames(error)  # that of this function; Python leaves out those of importlib
                raise


def _import_error(name: str, inside: str) -> ImportError | None:
    """Return the error for the import of an absent module, or ``None`` without advice."""
    absent = next((m for m in MODULES if inside == m or inside.startswith(f"{m}.")), None)
    if absent is not None:
        # Without a name, or ``from`` would drop the error and report only that a name is missing.
        return ModuleNotFoundError(explained(f"{name} is not there: {MODULES[absent]}.", "modules"))
    parent, _, last = name.rpartition(".")
    package = sys.modules.get(parent)
    if package is None or last.startswith("_"):
        return None
    if last in dir(package):
        text = f"{name} is not a module. Write `from {parent} import {last}`."
        return ModuleNotFoundError(explained(text, "modules"), name=name)
    heir = _heir_of(parent.partition(".")[2], last)
    if heir is not None:
        heir = heir.replace("ricci.", f"{name.partition('.')[0]}.")
        text = f"{parent} has no {last}; in its place there is {heir}."
        return ModuleNotFoundError(explained(text, "modules"))
    home = _home_of(last)
    if home is not None:
        home = home.replace("ricci", name.partition(".")[0], 1)
        text = f"{parent} has no {last}; there is {home}."
        return ModuleNotFoundError(explained(text, "modules"))
    import pkgutil  # noqa: PLC0415 - lazy: only messages need it

    modules = [info.name for info in pkgutil.iter_modules(package.__path__)]
    near = similar_names(last, [n for n in modules if not n.startswith("_")])
    if not near:
        return None
    # With the name, so that ``from`` reports in its own way which name is missing.
    text = f"No module named {name!r}; there is {parent}.{near[0]}."
    return ModuleNotFoundError(explained(text, "modules"), name=name)


def _home_of(name: str) -> str | None:
    """Return the first namespace that has a name, as a path.

    While Ricci is being imported, only the loaded namespaces count.
    """
    for home in _HOMES:
        path = f"ricci.{home}".rstrip(".")
        if home not in _LOADED_LATER and path not in sys.modules:
            continue
        if home == "tree" and name.startswith("tree_"):
            name = name.removeprefix("tree_")
        module = import_module(path)
        if name in getattr(module, "__all__", ()):
            return f"{path}.{name}"
    return None


def _heir_of(inside: str, name: str) -> str | None:
    """Return what takes the place of a name that NumPy or JAX dropped, or ``None``."""
    from ._heirs import heir_of  # noqa: PLC0415 - lazy: only errors need it

    return heir_of(inside, name)


def _advice(module: str, name: str) -> str | None:
    """Return what to use instead of a name that a namespace lacks, or ``None``."""
    inside = module.partition(".")[2]
    heir = _heir_of(inside, name)
    if heir is not None:
        return f"in its place there is {heir}"
    absent = MODULES.get(f"{inside}.{name}".lstrip("."))
    if absent is not None:
        return absent
    home = None if name.startswith("_") else _home_of(name)
    return None if home is None else f"there is {home}"


_IMPORT_FROM = opmap["IMPORT_FROM"]


def _is_imported(frame: FrameType | None) -> bool:
    """Whether ``from`` asks for a name: Python drops the message of an ``AttributeError`` there.

    Args:
      frame: the frame that asks, or Ricci's frames in between.
    """
    while frame is not None and is_internal_module(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def or_advise(module: str, load: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a namespace, whose error names the namespace that has the name.

    Args:
      module: the namespace's name.
      load: finds the names that are imported at first use, or raises ``AttributeError``.
    """

    @api_boundary
    def __getattr__(name: str) -> object:
        if load is not None:
            try:
                return load(name)
            except AttributeError as error:
                # Of another object, it arose in the module that has the name.
                if error.name != name or error.obj is not sys.modules[module]:
                    raise
        advice = _advice(module, name)
        text = f"module {module!r} has no attribute {name!r}"
        if advice is not None:
            text = f"{text}; {advice}"
            if _is_imported(sys._getframe(1)):
                text = f"cannot import name {name!r} from {module!r}; {advice}"
                text = explained(text, "modules")
                error = ImportError(text, name=module)
                error.name_from = name
                raise error
        # With the name and the object, Python looks for similar names itself.
        raise AttributeError(text, name=name, obj=sys.modules[module])

    return __getattr__


sys.meta_path.append(AbsentModules())  # pyright: ignore[reportArgumentType]
