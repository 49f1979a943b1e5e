"""Compiling StableHLO text to an executable."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from ricci_ir import (
    AbstractValue,
    Effect,
    ExtendedDType,
    ShapedArray,
    Token,
    abstract_token,
    config,
    float0,
    no_effects,
    physical_aval,
    warn_user,
)
from ricci_stablehlo import HostCallback, ordered_among
from ricci_xla.arrays._array import check_not_deleted
from ricci_xla.arrays._array_impl import ArrayImpl
from ricci_xla.arrays._layout import Layout, are_row_major, relayout
from ricci_xla.devices._client import check_not_forked
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._kernels import prepare_kernels
from ricci_xla.devices._runtime_types import (
    Client,
    CompileOptions,
    Device,
    DeviceList,
    LoadedExecutable,
)
from ricci_xla.devices._topologies import cost_of_described, is_described
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import GSPMDSharding, Sharding
from ricci_xla.programs._remembered import memories

from ._effects import runtime_tokens, token_buffer
from ._host_callbacks import host_functions, parse_module
from ._sizes import fills_memory

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "compile_options",
    "compile_text",
    "CompilerEffortLevel",
    "deserialize",
    "Executable",
    "get_compile_options",
    "result_shardings",
]


class CompilerEffortLevel(Enum):
    """How much effort the compiler spends; the values are XLA's ``EffortLevel``.

    The names are the values of ``jax_optimization_level`` and ``jax_memory_fitting_level``.
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


_optimization_level = config.state("jax_optimization_level")
_memory_fitting_level = config.state("jax_memory_fitting_level")
_cache_folder = config.state("jax_compilation_cache_dir")
_cache_enabled = config.state("jax_enable_compilation_cache")


# The platform, the name and the stage of each function of the user's that changes programs while
# they are compiled. While there are some, programs are not taken from caches, nor put into them.
module_transformations: set[tuple[str, str, int]] = set()


def compile_options(
    devices: Sequence[Device],
    *,
    num_replicas: int = 1,
    num_partitions: int = 1,
    options: Mapping[str, Any] | None = None,
    use_shardy: bool = True,
) -> CompileOptions:
    """jaxlib's options for compiling a program.

    Args:
      devices: one for each replica and partition, replicas outermost.
      num_replicas: the number of copies of the program that run, each on its own data.
      num_partitions: the number of devices that share the work of each copy.
      options: XLA's flags by name, such as ``{"xla_cpu_enable_fast_math": True}``.
      use_shardy: whether shardings are annotated in the ``sdy`` dialect, else by
        ``mhlo.sharding``.

    Raises:
      ValueError: if the number of devices is not that of replicas times partitions.
    """
    if len(devices) != num_replicas * num_partitions:
        raise ValueError(
            f"a program of {num_replicas} replicas and {num_partitions} partitions needs "
            f"{num_replicas * num_partitions} devices, got {len(devices)}"
        )
    ids = np.array([device.id for device in devices], np.int32)
    found = _compile_options(num_replicas, num_partitions, ids, options)
    if num_partitions > 1:
        build = found.executable_build_options
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = use_shardy
        build.allow_spmd_sharding_propagation_to_output = [True]
    return found


def _compile_options(
    num_replicas: int,
    num_partitions: int,
    ids: np.ndarray | None,
    options: Mapping[str, Any] | None,
) -> CompileOptions:
    """The options for a number of devices with these ids, and what the settings say."""
    found = CompileOptions()
    build = found.executable_build_options
    found.num_replicas = build.num_replicas = num_replicas
    found.num_partitions = build.num_partitions = num_partitions
    if ids is not None:
        assignment = runtime.DeviceAssignment.create(ids.reshape(num_replicas, num_partitions))
        found.device_assignment = build.device_assignment = assignment
    build.optimization_level = CompilerEffortLevel[_optimization_level.value].value
    build.memory_fitting_level = CompilerEffortLevel[_memory_fitting_level.value].value
    found.profile_version = config.jax_xla_profile_version or 0
    debug = build.debug_options
    if config.jax_disable_most_optimizations:
        debug.xla_backend_optimization_level = 0
        debug.xla_llvm_disable_expensive_passes = True
        debug.xla_test_all_input_layouts = False
    if not config.jax_compiler_enable_remat_pass:
        debug.xla_disable_hlo_passes = "rematerialization"
    if options:
        found.env_option_overrides = [(name, _flag(name, v)) for name, v in options.items()]
    return found


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: object = None,
    env_options_overrides: Mapping[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Client | None = None,
) -> CompileOptions:
    """jaxlib's options for compiling a program by hand, with what Ricci's options say.

    Args:
      num_replicas, num_partitions: how many devices share the work; see ``compile_options``.
      device_assignment: the devices' ids, ``num_replicas`` rows of ``num_partitions``; a flat
        sequence if there is one partition.
      env_options_overrides: XLA's flags by name.
      fdo_profile: a profile of an earlier run, for the compiler.
      detailed_logging: whether XLA logs what it does.
      backend: not used: the options are the same for all clients.

    Returns:
      jaxlib's ``CompileOptions``.

    Raises:
      ValueError: if the device assignment is not for so many devices.

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
    found = _compile_options(num_replicas, num_partitions, ids, env_options_overrides)
    build = found.executable_build_options
    build.debug_options.xla_detailed_logging = detailed_logging
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    return found


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
      host_callbacks: the Python functions that the program calls, by index.
      configure: called with jaxlib's ``CompileOptions`` before compiling, to set further ones.
      cached: whether caches are asked for the program, and keep it.

    The program comes from the persistent compilation cache, if there is one that has it.

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
    found = compile_options(
        devices,
        num_replicas=num_replicas,
        num_partitions=num_partitions,
        options=compiler_options,
        use_shardy=use_shardy,
    )
    if configure is not None:
        configure(found)
    client, where = devices[0].client, DeviceList(devices)
    prepare_kernels(text, devices[0].platform)
    if is_described(devices[0]):
        compiler: Any = client
        return compiler.compile(parse_module(text), where, found)
    if host_callbacks:
        functions = host_functions(host_callbacks)
        return client.compile_and_load(parse_module(text), where, found, functions)
    compile = lambda options: client.compile_and_load(text, where, options)
    if not cached or module_transformations:
        return compile(found)
    if _cache_folder.value and _cache_enabled.value:
        cache = import_module("ricci_xla.cache")  # few programs have a folder for it
        compile = partial(cache.cached_compile, text, devices, compile=compile)
    if memories.programs is not None:
        return memories.programs.compiled(text, devices, found, compile)
    return compile(found)


def is_compiled(
    text: str | bytes, devices: Sequence[Device], compiler_options: Mapping[str, Any]
) -> bool:
    """Whether ``compile_text`` on one device would find the program in the persistent cache."""
    if not (_cache_folder.value and _cache_enabled.value):
        return False
    options = compile_options(devices, options=compiler_options)
    return import_module("ricci_xla.cache").is_cached(text, devices, options)


class Executable:
    """A compiled program, with the types and shardings of its arguments and results.

    Args:
      loaded: the program that ``compile_text`` returned.
      in_avals: the type of each argument, including those that the program does not use.
      out_avals: the type of each result.
      in_shardings: the sharding that each argument must have; by default the program's one device.
      out_shardings: the sharding of each result; likewise.
      kept: for each argument, whether the program takes it; by default all are taken.
      committed: whether the results are committed to their devices.
      consts: arrays that are passed before the arguments in every call.
      effects: the side effects of the program.
      in_layouts: for each argument that is kept its layout, where that is not the usual one; empty
        if all are.
      before_first_run: called once, before the program runs for the first time.
      better: the same program, compiled fully, which takes over when it is there.

    The attribute ``has_extended_results`` says whether any result is a token, or of a dtype that
    jaxlib does not know, such as random keys. C++ cannot make such results.
    """

    __slots__ = (
        "before_first_run",
        "better",
        "committed",
        "consts",
        "effects",
        "fills_memory",
        "handlers",
        "has_extended_results",
        "in_avals",
        "in_layouts",
        "in_shardings",
        "kept",
        "loaded",
        "ordered_effects",
        "out_avals",
        "out_shardings",
    )

    before_first_run: Callable[[], None] | None
    better: "Future[LoadedExecutable] | None"
    committed: bool
    consts: list[ArrayImpl]
    effects: frozenset[Effect]
    fills_memory: bool
    handlers: list[Any]
    has_extended_results: bool
    in_avals: tuple[Any, ...]
    in_layouts: tuple[Layout | None, ...]
    in_shardings: tuple[Sharding, ...]
    kept: list[bool]
    loaded: LoadedExecutable
    ordered_effects: tuple[Effect, ...]
    out_avals: tuple[Any, ...]
    out_shardings: tuple[Sharding, ...]

    def __init__(
        self,
        loaded: LoadedExecutable,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        *,
        in_shardings: Sequence[Sharding] | None = None,
        out_shardings: Sequence[Sharding] | None = None,
        kept: Sequence[bool] | None = None,
        committed: bool = False,
        consts: Sequence[ArrayImpl] = (),
        effects: frozenset[Effect] = no_effects,
        in_layouts: tuple[Layout | None, ...] = (),
        before_first_run: Callable[[], None] | None = None,
        better: "Future[LoadedExecutable] | None" = None,
    ):
        self.better = better
        self.in_layouts = in_layouts
        self.before_first_run = before_first_run
        self.loaded = loaded
        self.fills_memory = fills_memory(loaded)
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)
        if in_shardings is None or out_shardings is None:
            devices = loaded.local_devices()
            if len(devices) != 1:
                raise ValueError(
                    f"a program on {len(devices)} devices needs in_shardings and out_shardings"
                )
            here = single_device_sharding(devices[0])
            in_shardings = [here] * len(self.in_avals) if in_shardings is None else in_shardings
            out_shardings = [here] * len(self.out_avals) if out_shardings is None else out_shardings
        self.in_shardings, self.out_shardings = tuple(in_shardings), tuple(out_shardings)
        self.kept = [True] * len(self.in_avals) if kept is None else list(kept)
        self.committed = committed
        self.consts = [relayout.buffers(x, None) for x in consts]
        self.effects = effects
        self.ordered_effects = ordered_among(effects)
        self.has_extended_results = any(map(_is_extended, self.out_avals))
        self.handlers = [
            result_handler(aval, sharding, committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]

    @property
    def kept_var_indices(self) -> tuple[int, ...]:
        """The positions of the arguments that the program takes."""
        return tuple(i for i, kept in enumerate(self.kept) if kept)

    @property
    def is_loaded(self) -> bool:
        """Whether the program can run; not if it was compiled for devices that are described."""
        return isinstance(self.loaded, LoadedExecutable)

    def arranged(self, arrays: list[ArrayImpl]) -> list[ArrayImpl]:
        """Return arguments in the layouts that the program takes; the same list if they have them.

        Args:
          arrays: an array for each argument that is kept, with the sharding that it must have.
        """
        if not self.in_layouts and are_row_major(arrays):
            return arrays
        layouts = self.in_layouts or repeat(None, len(arrays))
        moved = list(map(relayout.buffers, arrays, layouts))
        return arrays if all(map(is_, moved, arrays)) else moved

    def execute(self, arrays: Sequence[ArrayImpl]) -> list[Any]:
        """Run the program, asynchronously where the platform can.

        Args:
          arrays: an array for each argument that is kept, with the sharding and layout that it must
            have.

        Returns:
          An array for each result.

        Raises:
          RuntimeError: if an argument was deleted or donated.
        """
        check_not_forked()
        for array in arrays:
            if array.is_deleted():
                check_not_deleted(array)
        if self.before_first_run is not None:
            self.before_first_run()
            self.before_first_run = None
        if self.better is not None and self.better.done():
            self._take_over(self.better)
        if self.effects:
            return runtime_tokens.run(self, [*self.consts, *arrays])
        results = self.loaded.execute_sharded([*self.consts, *arrays])
        return results.consume_with_handlers(self.handlers)

    def _take_over(self, better: "Future[LoadedExecutable]") -> None:
        """Run the program that was compiled fully from now on, if that could be done."""
        self.better = None
        error = None if better.cancelled() else better.exception()
        if error is not None:
            warn_user(f"compiling fully failed, so what was compiled quickly stays: {error}")
        elif not better.cancelled():
            self.loaded = better.result()

    def as_text(self) -> str:
        """The program after XLA's optimizations, in the notation of HLO."""
        return "\n\n".join(module.to_string() for module in self.loaded.hlo_modules())

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's estimates of what the program costs: ``flops``, ``bytes accessed`` and more."""
        return self.loaded.cost_analysis() if self.is_loaded else cost_of_described(self.loaded)

    def memory_analysis(self) -> Any:
        """The sizes of arguments, results, temporary buffers and code, in bytes."""
        return self.loaded.get_compiled_memory_stats()

    def serialize(self) -> bytes:
        """The compiled program as bytes, for ``deserialize`` on a machine of the same kind."""
        loaded: Any = self.loaded
        return loaded.client.serialize_executable(loaded) if self.is_loaded else loaded.serialize()


def _is_extended(aval: object) -> bool:
    """Whether jaxlib has no arrays of a type: tokens, extended dtypes and ``float0``."""
    if aval is abstract_token:
        return True
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, ExtendedDType) or dtype == float0


def buffer_rank(aval: AbstractValue) -> int:
    """The number of dimensions of the buffers that hold arrays of a type.

    Those of keys have the dimensions of a key's words as well; jaxlib's type of a token has none.
    """
    return 0 if aval is abstract_token else physical_aval(aval).ndim


def result_handler(aval: Any, sharding: Sharding, committed: bool) -> Any:
    """jaxlib's handler that makes an array, a token or a key of a result's buffers."""
    if not _is_extended(aval):
        return runtime.array_result_handler(aval, sharding, committed)
    if aval is abstract_token:
        return runtime.array_result_handler(token_buffer, sharding, committed).wrap(Token)
    dtype = aval.dtype
    if dtype == float0:  # has no values, so that the program returns Booleans in its place
        booleans = ShapedArray(aval.shape, np.dtype(bool))
        handler = runtime.array_result_handler(booleans, sharding, committed)
        return handler.wrap(lambda array: np.zeros(array.shape, float0))
    handler = runtime.array_result_handler(physical_aval(aval), sharding, committed)
    return handler.wrap(dtype.from_physical)


def deserialize(
    data: bytes, devices: Sequence[Device], options: CompileOptions | None = None
) -> LoadedExecutable:
    """Load the program that ``Executable.serialize`` wrote.

    Args:
      data: the bytes.
      devices: the devices to run on.
      options: the ``compile_options`` that it was compiled with; needed for several devices.
    """
    devices = tuple(devices)
    where = DeviceList(devices)
    loaded = devices[0].client.deserialize_executable(data, where, options)
    prepare_kernels(loaded.get_hlo_text(), devices[0].platform)
    return loaded


def result_shardings(
    loaded: LoadedExecutable, devices: Sequence[Device]
) -> list[GSPMDSharding] | None:
    """The sharding that XLA chose for each result; ``None`` for a program on one device."""
    found = loaded.get_output_shardings()
    if found is None:
        return None
    where = DeviceList(tuple(devices))
    return [GSPMDSharding(where, form) for form in found]
