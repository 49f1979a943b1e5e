"""Compiling StableHLO text, and what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ricci_ir import (
    ExtendedDType,
    ShapedArray,
    Token,
    abstract_token,
    config,
    float0,
    no_effects,
)
from ricci_stablehlo import ordered_effects
from ricci_xla.arrays._array import check_not_deleted
from ricci_xla.arrays._sharding import GSPMDSharding, single_device_sharding
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._kernels import prepare_kernels

from ._effects import runtime_tokens, token_buffer
from ._host_callbacks import host_functions, parse_module

__all__ = [
    "compile_options",
    "compile_text",
    "CompilerEffortLevel",
    "deserialize",
    "Executable",
    "result_shardings",
]


class CompilerEffortLevel(Enum):
    """How hard the compiler tries; the values are XLA's ``EffortLevel``.

    The options ``jax_optimization_level`` and ``jax_memory_fitting_level`` take the names.
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


_optimization_level = config.state("jax_optimization_level")
_memory_fitting_level = config.state("jax_memory_fitting_level")


def compile_options(
    devices: Sequence[Any],
    *,
    num_replicas: int = 1,
    num_partitions: int = 1,
    options: Mapping[str, Any] | None = None,
    use_shardy: bool = True,
) -> Any:
    """jaxlib's options for compiling a program.

    Args:
      devices: one for each replica and partition, replicas outermost.
      num_replicas: how many copies of the program run, each on data of its own.
      num_partitions: how many devices share the work of each copy.
      options: XLA's flags by name, such as ``{"xla_cpu_enable_fast_math": True}``.
      use_shardy: whether partitioning follows ``sdy`` annotations, else ``mhlo.sharding``.

    Raises:
      ValueError: if there are not as many devices as replicas times partitions.
    """
    if len(devices) != num_replicas * num_partitions:
        raise ValueError(
            f"a program of {num_replicas} replicas and {num_partitions} partitions needs "
            f"{num_replicas * num_partitions} devices, got {len(devices)}"
        )
    found = runtime.CompileOptions()
    build = found.executable_build_options
    found.num_replicas = build.num_replicas = num_replicas
    found.num_partitions = build.num_partitions = num_partitions
    ids = np.array([device.id for device in devices], np.int32)
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
    if num_partitions > 1:
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = use_shardy
        build.allow_spmd_sharding_propagation_to_output = [True]
    if options:
        found.env_option_overrides = [(name, _flag(name, v)) for name, v in options.items()]
    return found


def _flag(name: str, value: Any) -> str | bool | int | float:
    if isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"compiler_options[{name!r}]: expected a bool, an int, a float or a string, got {value!r} "
        f"of type {type(value).__name__}"
    )


def compile_text(
    text: str | bytes,
    devices: Sequence[Any],
    *,
    num_replicas: int = 1,
    num_partitions: int = 1,
    compiler_options: Mapping[str, Any] | None = None,
    use_shardy: bool = True,
    host_callbacks: Sequence[Any] = (),
    configure: Callable[[Any], None] | None = None,
) -> Any:
    """Compile a StableHLO module for devices.

    Args:
      text: the module's assembly, with a public function ``main``; or its bytecode.
      devices: one for each replica and partition, of one platform.
      num_replicas, num_partitions: how the devices share the work; see ``compile_options``.
      compiler_options: XLA's flags by name.
      use_shardy: whether ``sdy`` annotations say how to partition.
      host_callbacks: the Python functions that the program calls, by index.
      configure: called with jaxlib's ``CompileOptions`` before compiling, to set the rest.

    Returns:
      jaxlib's ``LoadedExecutable``.

    Raises:
      JaxRuntimeError: if the text is no program or XLA cannot compile it.

    Example:
      >>> from ricci_xla import devices
      >>> text = '''
      ... func.func public @main(%x: tensor<f32>) -> tensor<f32> {
      ...   %y = stablehlo.add %x, %x : tensor<f32>
      ...   return %y : tensor<f32>
      ... }'''
      >>> compile_text(text, devices()[:1]).get_hlo_text().split()[0]
      'HloModule'
    """
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
    client, where = devices[0].client, runtime.DeviceList(devices)
    prepare_kernels(text, devices[0].platform)
    if host_callbacks:
        functions = host_functions(host_callbacks)
        return client.compile_and_load(parse_module(text), where, found, functions)
    return client.compile_and_load(text, where, found)


class Executable:
    """A compiled program with the types and places of its arguments and results.

    Args:
      loaded: what ``compile_text`` returned.
      in_avals: the type of each argument, dropped ones included.
      out_avals: the type of each result.
      in_shardings: where each argument must be; the single device of the program by default.
      out_shardings: where each result is; likewise.
      kept: for each argument whether the program takes it; all by default.
      committed: whether results are bound to their devices.
      consts: arrays passed before the arguments in every call.
      effects: the side effects of the program.

    ``has_extended_results`` is whether a result is a token, or of a dtype that jaxlib does not
    know.
    """

    __slots__ = (
        "committed",
        "consts",
        "effects",
        "handlers",
        "has_extended_results",
        "in_avals",
        "in_shardings",
        "kept",
        "loaded",
        "ordered_effects",
        "out_avals",
        "out_shardings",
    )

    def __init__(
        self,
        loaded: Any,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        *,
        in_shardings: Sequence[Any] | None = None,
        out_shardings: Sequence[Any] | None = None,
        kept: Sequence[bool] | None = None,
        committed: bool = False,
        consts: Sequence[Any] = (),
        effects: frozenset = no_effects,
    ):
        self.loaded = loaded
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
        self.consts = list(consts)
        self.effects = effects
        self.ordered_effects = ordered_effects(effects)
        self.has_extended_results = any(map(_is_extended, self.out_avals))
        self.handlers = [
            _result_handler(aval, sharding, committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]

    @property
    def kept_var_indices(self) -> tuple[int, ...]:
        """The numbers of the arguments that the program takes."""
        return tuple(i for i, kept in enumerate(self.kept) if kept)

    def execute(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program, asynchronously where the platform can.

        Args:
          arrays: an array for each argument that is kept, in its place already.

        Returns:
          An array for each result.

        Raises:
          RuntimeError: if an argument has been deleted or donated.
        """
        for array in arrays:
            if array.is_deleted():
                check_not_deleted(array)
        if self.effects:
            return runtime_tokens.run(self, [*self.consts, *arrays])
        results = self.loaded.execute_sharded([*self.consts, *arrays])
        return results.consume_with_handlers(self.handlers)

    def as_text(self) -> str:
        """The program as XLA optimized it, in HLO's own notation."""
        return "\n\n".join(module.to_string() for module in self.loaded.hlo_modules())

    def cost_analysis(self) -> dict[str, Any]:
        """What XLA thinks the program costs: ``flops``, ``bytes accessed`` and more."""
        return self.loaded.cost_analysis()

    def memory_analysis(self) -> Any:
        """How many bytes arguments, results, temporaries and code take."""
        return self.loaded.get_compiled_memory_stats()

    def serialize(self) -> bytes:
        """The compiled program as bytes for ``deserialize``, on the same kind of machine."""
        return self.loaded.client.serialize_executable(self.loaded)


def _is_extended(aval: Any) -> bool:
    if aval is abstract_token:
        return True
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, ExtendedDType) or dtype == float0


def _result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
    """What makes a result's buffers an array."""
    if not _is_extended(aval):
        return runtime.array_result_handler(aval, sharding, committed)
    if aval is abstract_token:
        return runtime.array_result_handler(token_buffer, sharding, committed).wrap(Token)
    dtype = aval.dtype
    if dtype == float0:  # nothing but a shape: the program gives Booleans in its place
        booleans = ShapedArray(aval.shape, np.dtype(bool))
        handler = runtime.array_result_handler(booleans, sharding, committed)
        return handler.wrap(lambda array: np.zeros(array.shape, float0))
    handler = runtime.array_result_handler(dtype.physical_aval(aval), sharding, committed)
    return handler.wrap(dtype.from_physical)


def deserialize(data: bytes, devices: Sequence[Any], options: Any = None) -> Any:
    """The loaded program behind what ``Executable.serialize`` returned.

    Args:
      data: the bytes.
      devices: the devices to run on.
      options: the ``compile_options`` it was compiled with, if others than for one device.
    """
    devices = tuple(devices)
    where = runtime.DeviceList(devices)
    loaded = devices[0].client.deserialize_executable(data, where, options)
    prepare_kernels(loaded.get_hlo_text(), devices[0].platform)
    return loaded


def result_shardings(loaded: Any, devices: Sequence[Any]) -> list[Any] | None:
    """Where XLA put each result of a partitioned program; ``None`` for one device's programs."""
    found = loaded.get_output_shardings()
    if found is None:
        return None
    where = runtime.DeviceList(tuple(devices))
    return [GSPMDSharding(where, form) for form in found]
