"""Lookup of executables before compilation, and storage of compiled ones.

If the folder is unusable, modules are compiled, with a warning that names the path. With
``jax_raise_persistent_cache_errors`` it is an error instead.
"""

import logging
import os
from collections.abc import Callable, Sequence
from time import perf_counter

import ricci_ir as ir
from ricci_xla.devices._runtime_types import (
    CompileOptions,
    Device,
    DeviceList,
    JaxRuntimeError,
    LoadedExecutable,
)
from ricci_xla.files import FileError

from ._explain import explain_miss
from ._folder import CacheFolder, read_entry, write_entry
from ._key import ProgramKey, program_key

__all__ = ["cached_compile", "is_cached", "report_fault", "reset_cache", "set_cache_dir"]
__all__ += ["usable_folder", "use_xla_caches"]

_folder = ir.config.state("jax_compilation_cache_dir")
_raises = ir.config.state("jax_raise_persistent_cache_errors")
_with_names = ir.config.state("jax_compilation_cache_include_metadata_in_key")
_min_seconds = ir.config.state("jax_persistent_cache_min_compile_time_secs")
_min_bytes = ir.config.state("jax_persistent_cache_min_entry_size_bytes")
_max_bytes = ir.config.state("jax_compilation_cache_max_size")
_xla_caches = ir.config.state("jax_persistent_cache_enable_xla_caches")

_log = logging.getLogger("ricci.compilation_cache")

# Operations that call Python functions during compilation.
_CALLS_OF_THE_COMPILER = ("@CustomSPMDPartitioning", "@InspectSharding")
_GPUS = ("cuda", "gpu", "rocm")
# XLA's own caches, which are files and folders inside of the cache's, by the name of the flag.
_XLA_CACHES = ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir")


class _State:
    """The use of the cache and the warnings given since the last ``reset_cache``."""

    __slots__ = ("used", "warned")

    def __init__(self):
        self.used = False
        self.warned: set[tuple[str, str]] = set()


_state = _State()


def reset_cache() -> None:
    """Reset the record of warnings that were given; the folder and its files stay.

    Example:
      >>> from ricci.experimental.compilation_cache import compilation_cache
      >>> compilation_cache.reset_cache()
    """
    _state.__init__()


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Set the folder of the compilation cache: the option ``jax_compilation_cache_dir``.

    Args:
      path: the folder.

    Example:
      >>> import tempfile
      >>> import ricci
      >>> from ricci.experimental.compilation_cache import compilation_cache
      >>> before = ricci.config.jax_compilation_cache_dir
      >>> compilation_cache.set_cache_dir(tempfile.gettempdir())
      >>> ricci.config.jax_compilation_cache_dir == tempfile.gettempdir()
      True
      >>> ricci.config.update("jax_compilation_cache_dir", before)
    """
    ir.config.update("jax_compilation_cache_dir", os.fspath(path))


def cached_compile(
    text: str | bytes,
    devices: Sequence[Device],
    options: CompileOptions,
    compile: Callable[[CompileOptions], LoadedExecutable],
) -> LoadedExecutable:
    """Load a module's executable from the cache, else compile it and cache it if that took long.

    Args:
      text: the StableHLO module.
      devices: the devices that it is compiled for.
      options: the options of compilation.
      compile: compiles it with options.
    """
    folder = usable_folder()
    if folder is None or not is_cacheable(text):
        return compile(options)
    if not _state.used:
        _state.used = True
        ir.record_event("/jax/compilation_cache/tasks_using_cache")
    ir.record_event("/jax/compilation_cache/compile_requests_use_cache")
    start = perf_counter()
    key = program_key(text, devices, options, with_names=_with_names.value)
    if not options.executable_build_options.debug_options.xla_dump_to:  # a hit would write nothing
        loaded = _load(folder, key, devices, options, start)
        if loaded is not None:
            return loaded
    if ir.explain_cache_misses.value:
        _explain(folder, key)
    # After the key was computed: these paths depend on the machine, and the executable does not on
    # them.
    use_xla_caches(options, devices[0].platform, folder.path)
    start = perf_counter()
    loaded = compile(options)
    _store(folder, key, devices, loaded, perf_counter() - start)
    return loaded


def is_cached(text: str | bytes, devices: Sequence[Device], options: CompileOptions) -> bool:
    """Whether the cache has an entry for a module."""
    folder = usable_folder()
    if folder is None or not is_cacheable(text):
        return False
    key = program_key(text, devices, options, with_names=_with_names.value)
    return os.path.exists(folder.path_of(key))


def usable_folder() -> CacheFolder | None:
    """The folder of the cache; ``None``, with a warning, if it is an address."""
    path = _folder.value
    if "://" in path:
        report_fault(
            f"jax_compilation_cache_dir={path!r} is an address, but the compilation cache needs a "
            "local folder. Mount the storage, and name the folder where it is mounted.",
            path,
            ValueError,
        )
        return None
    return CacheFolder(path)


def is_cacheable(text: str | bytes) -> bool:
    """Whether a module means the same in every process: its compiler calls no Python."""
    if isinstance(text, bytes):
        return not any(name.encode() in text for name in _CALLS_OF_THE_COMPILER)
    return not any(name in text for name in _CALLS_OF_THE_COMPILER)


def _load(
    folder: CacheFolder,
    key: ProgramKey,
    devices: Sequence[Device],
    options: CompileOptions,
    start: float,
) -> LoadedExecutable | None:
    path = folder.path_of(key)
    try:
        data = folder.read(key)
        if data is None:
            return None
        entry = read_entry(data, path, key)
        client = devices[0].client
        loaded = client.deserialize_executable(
            entry.program(path), DeviceList(tuple(devices)), options
        )
    except FileError as error:
        report_fault(f"{error} {key.name} is compiled instead.", path, cause=error)
        return None
    except (OSError, JaxRuntimeError) as error:
        report_fault(
            f"{path}: the entry of the compilation cache cannot be read: {error}. {key.name} is "
            "compiled instead.",
            path,
            cause=error,
        )
        return None
    took = perf_counter() - start
    ir.record_event("/jax/compilation_cache/cache_hits")
    ir.record_event_duration_secs(
        "/jax/compilation_cache/compile_time_saved_sec", entry.seconds - took
    )
    ir.record_event_duration_secs("/jax/compilation_cache/cache_retrieval_time_sec", took)
    _log.debug("%s was found in the compilation cache: %s", key.name, path)
    return loaded


def _store(
    folder: CacheFolder,
    key: ProgramKey,
    devices: Sequence[Device],
    loaded: LoadedExecutable,
    seconds: float,
) -> None:
    if seconds < _min_seconds.value or _max_bytes.value == 0:
        return
    processes = {device.process_index for device in devices}
    # The executables of all processes are equal; writing them once saves the others' time.
    if devices[0].client.process_index() != min(processes):
        return  # one of the processes that share an executable writes it
    path = folder.path_of(key)
    try:
        program = _serialized(loaded)
    except (JaxRuntimeError, NotImplementedError) as error:
        report_fault(
            f"{key.name} cannot be stored in the compilation cache: the runtime does not "
            f"serialize it: {error}",
            f"{folder.path}: not serialized",
            cause=error,
        )
        return
    if len(program) < _min_bytes.value:
        return
    try:
        if not folder.write(key, write_entry(key, program, seconds), _max_bytes.value):
            return
    except OSError as error:
        report_fault(
            f"{path}: {key.name} cannot be stored in the compilation cache: {error}. It runs, and "
            "the next process compiles it again.",
            f"{folder.path}: not written",
            cause=error,
        )
        return
    ir.record_event("/jax/compilation_cache/cache_misses")
    _log.debug("%s was written to the compilation cache: %s", key.name, path)


def _serialized(loaded: LoadedExecutable) -> bytes:
    return loaded.client.serialize_executable(loaded)


def report_fault(
    message: str, what: str, kind: type[Exception] = RuntimeError, cause: Exception | None = None
) -> None:
    """Warn once of a fault of the folder or a file, or raise it as an error.

    Args:
      message: the fault, and what is done instead.
      what: the folder or file, of which one warning is given.
      kind: the class of the error, if there is no ``cause``.
      cause: the error that the fault was noticed by.
    """
    if _raises.value:
        raise cause if cause is not None else kind(message)
    # A folder that cannot be written would warn in each compilation.
    if (what, kind.__name__) not in _state.warned:
        _state.warned.add((what, kind.__name__))
        ir.warn_user(message)


def _explain(folder: CacheFolder, key: ProgramKey) -> None:
    _log.warning("%s", explain_miss(folder, key))


def use_xla_caches(options: CompileOptions, platform: str, folder: str) -> None:
    """Set the paths of XLA's own caches for GPUs, unless ``XLA_FLAGS`` sets them."""
    if platform not in _GPUS:
        return
    enabled = (_xla_caches.value or "none").replace(" ", "").split(",")
    debug = options.executable_build_options.debug_options
    for name in _XLA_CACHES:
        if (name in enabled or "all" in enabled) and getattr(debug, name, None) == "":
            setattr(debug, name, os.path.join(folder, name))
