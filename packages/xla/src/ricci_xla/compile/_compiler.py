"""XLA's compiler: its options, and compilation of StableHLO modules."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from ricci_ir import config, warn_user
from ricci_stablehlo import HostCallback
from ricci_xla.devices import Client, Device, DeviceList, is_described, processor_flags
from ricci_xla.devices._client import check_not_forked
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._registration import prepare_kernels
from ricci_xla.devices._runtime_types import CompileOptions, LoadedExecutable
from ricci_xla.tracing._warm_start_hook import warm_start_hooks

from ._effects import host_functions, parse_module

__all__ = ["CompilerEffortLevel", "compile_options", "compile_text", "get_compile_options"]


class CompilerEffortLevel(Enum):
    """The compiler's effort levels; the values are XLA's ``EffortLevel``.

    The names are the values of ``jax_optimization_level`` and ``jax_memory_fitting_level``.
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


# Options of compilation that are not flags of XLA, and the settings that are their defaults.
_EFFORT_LEVELS = {
    "optimization_level": config.state("jax_optimization_level"),
    "memory_fitting_level": config.state("jax_memory_fitting_level"),
}
_cache_folder = config.state("jax_compilation_cache_dir")
_cache_enabled = config.state("jax_enable_compilation_cache")


# The platform, name and stage of each of the user's functions that change modules while they are
# compiled. While there are any, executables are neither read from caches nor written to them.
module_transformations: set[tuple[str, str, int]] = set()


def compile_options(
    devices: Sequence[Device],
    *,
    num_replicas: int = 1,
    num_partitions: int = 1,
    options: Mapping[str, Any] | None = None,
    use_shardy: bool = True,
    text: str | bytes | None = None,
) -> CompileOptions:
    """Return jaxlib's options for compiling a module.

    Args:
      devices: one for each replica and partition, replicas outermost.
      num_replicas: the number of copies that run, each on other data.
      num_partitions: the number of devices that share the work of each copy.
      options: XLA's flags by name, such as ``{"xla_cpu_enable_fast_math": True}``; and
        ``optimization_level``, ``memory_fitting_level`` and ``fdo_profile``.
      use_shardy: whether shardings are annotated in the ``sdy`` dialect, else by
        ``mhlo.sharding``.
      text: the module, which flags for the processor depend on.

    Raises:
      ValueError: if the number of devices is not that of replicas times partitions.
    """
    if len(devices) != num_replicas * num_partitions:
        raise ValueError(
            f"a program of {num_replicas} replicas and {num_partitions} partitions needs "
            f"{num_replicas * num_partitions} devices, got {len(devices)}"
        )
    ids = np.array([device.id for device in devices], np.int32)
    flags = {**processor_flags(devices[0], text), **(options or {})}
    jaxlib_options = _compile_options(num_replicas, num_partitions, ids, flags)
    if num_partitions > 1:
        build = jaxlib_options.executable_build_options
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = use_shardy
        # XLA chooses the shardings of results that have none; one element applies to all results.
        build.allow_spmd_sharding_propagation_to_output = [True]
    return jaxlib_options


def _compile_options(
    num_replicas: int,
    num_partitions: int,
    ids: np.ndarray | None,
    options: Mapping[str, Any] | None,
) -> CompileOptions:
    """Return the options for devices with these ids, with Ricci's settings applied."""
    jaxlib_options = CompileOptions()
    build = jaxlib_options.executable_build_options
    jaxlib_options.num_replicas = build.num_replicas = num_replicas
    jaxlib_options.num_partitions = build.num_partitions = num_partitions
    if ids is not None:
        assignment = runtime.DeviceAssignment.create(ids.reshape(num_replicas, num_partitions))
        jaxlib_options.device_assignment = build.device_assignment = assignment
    flags = dict(options or {})
    for name, setting in _EFFORT_LEVELS.items():
        setattr(build, name, _effort_level(name, flags.pop(name, setting.value)).value)
    jaxlib_options.profile_version = config.jax_xla_profile_version or 0
    debug = build.debug_options
    if config.jax_disable_most_optimizations:
        debug.xla_backend_optimization_level = 0
        debug.xla_llvm_disable_expensive_passes = True
        debug.xla_test_all_input_layouts = False
    if not config.jax_compiler_enable_remat_pass:
        debug.xla_disable_hlo_passes = "rematerialization"
    if "fdo_profile" in flags:
        build.fdo_profile = flags.pop("fdo_profile")
    if flags:
        overrides = [(name, _flag(name, v)) for name, v in flags.items()]
        jaxlib_options.env_option_overrides = overrides
    return jaxlib_options


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: object = None,
    env_options_overrides: Mapping[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Client | None = None,
) -> CompileOptions:
    """Return jaxlib's options for compiling a module by hand, with Ricci's settings applied.

    Args:
      num_replicas, num_partitions: how many devices share the work; see ``compile_options``.
      device_assignment: the devices' ids, ``num_replicas`` rows of ``num_partitions``; a flat
        sequence if there is one partition.
      env_options_overrides: XLA's flags by name.
      fdo_profile: a profile of an earlier run, for the compiler.
      detailed_logging: whether XLA logs what it does.
      backend: unused, since the options are the same for all clients.

    Returns:
      jaxlib's ``CompileOptions``.

    Raises:
      ValueError: if the device assignment has another number of devices.

    Example:
      >>> from ricci.extend.backend import get_compile_options
      >>> get_compile_options(1, 1, device_assignment=[0]).num_replicas
      1
    """
    ids = None if device_assignment is None else np.asarray(device_assignment, np.int32)
    if ids is not None and ids.size != num_replicas * num_partitions:
        raise ValueError(
            f"get_compile_options: device_assignment has {ids.size} devices, but {num_replicas} "
            f"replicas of {num_partitions} partitions need {num_replicas * num_partitions}"
        )
    options = _compile_options(num_replicas, num_partitions, ids, env_options_overrides)
    build = options.executable_build_options
    build.debug_options.xla_detailed_logging = detailed_logging
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    return options


def _effort_level(name: str, value: object) -> CompilerEffortLevel:
    """Return an effort level, which may be passed by its name or its number."""
    if isinstance(value, CompilerEffortLevel):
        return value
    if isinstance(value, str) and value in CompilerEffortLevel.__members__:
        return CompilerEffortLevel[value]
    levels = [level for level in CompilerEffortLevel if level.value == value]
    if not levels or isinstance(value, bool):
        names = ", ".join(CompilerEffortLevel.__members__)
        raise ValueError(f"compiler_options[{name!r}]: expected one of {names}, got {value!r}.")
    return levels[0]


def _flag(name: str, value: object) -> str | bool | int | float:
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"compiler_options[{name!r}]: expected a bool, an int, a float or a string, got {value!r} "
        f"of type {type(value).__name__}"
    )


def compile_text(
    text: str | bytes,
    devices: Sequence[Device],
    *,
    num_replicas: int = 1,
    num_partitions: int = 1,
    compiler_options: Mapping[str, Any] | None = None,
    use_shardy: bool = True,
    host_callbacks: Sequence[HostCallback] = (),
    configure: Callable[[CompileOptions], None] | None = None,
    cached: bool = True,
) -> LoadedExecutable:
    """Compile a StableHLO module for devices.

    Args:
      text: the module's assembly, with a public function ``main``; or its bytecode.
      devices: one for each replica and partition, of one platform.
      num_replicas, num_partitions: how the devices share the work; see ``compile_options``.
      compiler_options: XLA's flags by name.
      use_shardy: whether shardings are annotated in the ``sdy`` dialect.
      host_callbacks: the Python functions that the module calls, by index.
      configure: called with jaxlib's ``CompileOptions`` before compiling, to set further ones.
      cached: whether to look the executable up in the persistent compilation cache and the warm
        start's bundle, and to store it there.

    Returns:
      jaxlib's ``LoadedExecutable``; its ``Executable``, which cannot run, for a topology's devices.

    Raises:
      JaxRuntimeError: if the text does not parse, or XLA cannot compile it.

    Example:
      >>> import ricci
      >>> from ricci_xla import compile_text
      >>> text = '''
      ... func.func public @main(%x: tensor<f32>) -> tensor<f32> {
      ...   %y = stablehlo.add %x, %x : tensor<f32>
      ...   return %y : tensor<f32>
      ... }'''
      >>> compile_text(text, ricci.devices()[:1]).get_hlo_text().split()[0]
      'HloModule'
    """
    check_not_forked()
    devices = tuple(devices)
    options = compile_options(
        devices,
        num_replicas=num_replicas,
        num_partitions=num_partitions,
        options=compiler_options,
        use_shardy=use_shardy,
        text=text,
    )
    if configure is not None:
        configure(options)
    client, device_list = devices[0].client, DeviceList(devices)
    prepare_kernels(text, devices[0].platform)
    # Such clients compile and cannot load, so that caches of loaded executables are not for them.
    if is_described(devices[0]):
        compiler: Any = client
        return compiler.compile(parse_module(text), device_list, options)
    # A serialized executable has no pointers to this process's Python functions.
    if host_callbacks:
        functions = host_functions(host_callbacks, client)
        return client.compile_and_load(parse_module(text), device_list, options, functions)
    compile = lambda options: client.compile_and_load(text, device_list, options)
    if not cached or module_transformations:
        return compile(options)
    room = _persistent_cache() if _cache_folder.value and _cache_enabled.value else None
    if room is not None:
        compile = partial(room.cached_compile, text, devices, compile=compile)
    if warm_start_hooks.compile is not None:
        return warm_start_hooks.compile.load_or_compile(text, devices, options, compile)
    return compile(options)


def is_compiled(
    text: str | bytes, devices: Sequence[Device], compiler_options: Mapping[str, Any]
) -> bool:
    """Whether the persistent cache has the executable of a module on one device."""
    room = _persistent_cache() if _cache_folder.value and _cache_enabled.value else None
    if room is None:
        return False
    options = compile_options(devices, options=compiler_options, text=text)
    return room.is_cached(text, devices, options)


@cache
def _persistent_cache() -> ModuleType | None:
    """The package of the persistent cache, or ``None`` where it cannot be imported.

    It is imported when a folder is set. Its library may be missing in a checkout on the path.
    """
    try:
        from ricci_xla import cache as persistent  # noqa: PLC0415 - lazy: it needs msgspec
    except ModuleNotFoundError as error:
        if error.name != "msgspec":
            raise
        warn_user(
            "the compilation cache is off, since the package msgspec is not installed: each "
            "process compiles its programs anew. Install it with `pip install msgspec`."
        )
        return None
    return persistent
