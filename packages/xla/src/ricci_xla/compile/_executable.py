"""Executables: compiled modules, with the types and placement of their arguments and results."""

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import HostChecks, ordered_among
from ricci_xla.arrays import ArrayImpl, Layout, check_not_deleted
from ricci_xla.arrays._layout import are_row_major, in_layout
from ricci_xla.devices._client import check_not_forked
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._registration import prepare_kernels
from ricci_xla.devices._runtime_types import CompileOptions, Device, DeviceList, LoadedExecutable
from ricci_xla.devices._topologies import cost_of_described
from ricci_xla.meshes import GSPMDSharding, Sharding, single_device_sharding

from ._effects import runtime_tokens, token_buffer
from ._sizes import fills_memory

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Executable", "deserialize", "result_shardings"]


class Executable:
    """A compiled module, with the types and shardings of its arguments and results.

    Args:
      loaded: jaxlib's executable, as returned by ``compile_text``.
      in_avals: the type of each argument, including unused ones.
      out_avals: the type of each result.
      in_shardings: the required sharding of each argument; by default the executable's one device.
      out_shardings: the sharding of each result; likewise.
      used_arguments: for each argument, whether it is passed to the executable; by default all are.
      committed: whether the results are committed to their devices.
      consts: arrays that are passed before the arguments in every call.
      effects: the side effects.
      in_layouts: for each used argument its layout, ``None`` for row-major; empty if all are.
      before_first_run: called once, before the first run.
      optimized: a future of the fully optimized executable, which replaces ``loaded`` when done.
      host_checks: the checks of the module, if it may have some.
      is_large: whether it may need more memory than there is; see ``may_fill_memory``.

    Attributes:
      has_extended_results: whether any result is a token, or of a dtype that jaxlib does not have,
        such as random keys.
    """

    __slots__ = (
        "before_first_run",
        "committed",
        "consts",
        "effects",
        "fills_memory",
        "host_checks",
        "handlers",
        "has_extended_results",
        "in_avals",
        "in_layouts",
        "in_shardings",
        "is_large",
        "loaded",
        "optimized",
        "ordered_effects",
        "out_avals",
        "out_shardings",
        "used_arguments",
    )

    in_avals: tuple[Any, ...]
    in_shardings: tuple[Sharding, ...]
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
        used_arguments: Sequence[bool] | None = None,
        committed: bool = False,
        consts: Sequence[ArrayImpl] = (),
        effects: frozenset[ir.Effect] = ir.no_effects,
        in_layouts: tuple[Layout | None, ...] = (),
        before_first_run: Callable[[], None] | None = None,
        optimized: "Future[LoadedExecutable] | None" = None,
        is_large: bool = True,
        host_checks: HostChecks | None = None,
    ):
        self.optimized: Future[LoadedExecutable] | None = optimized
        self.in_layouts: tuple[Layout | None, ...] = in_layouts
        self.before_first_run: Callable[[], None] | None = before_first_run
        self.loaded: LoadedExecutable = loaded
        self.is_large: bool = is_large
        self.fills_memory: bool = is_large and fills_memory(loaded)
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)
        if in_shardings is None or out_shardings is None:
            devices = loaded.local_devices()
            if len(devices) != 1:
                raise ValueError(
                    f"an executable on {len(devices)} devices needs in_shardings and out_shardings"
                )
            sharding = single_device_sharding(devices[0])
            if in_shardings is None:
                in_shardings = [sharding] * len(self.in_avals)
            if out_shardings is None:
                out_shardings = [sharding] * len(self.out_avals)
        self.in_shardings, self.out_shardings = tuple(in_shardings), tuple(out_shardings)
        if used_arguments is None:
            used_arguments = [True] * len(self.in_avals)
        self.used_arguments: list[bool] = list(used_arguments)
        self.committed: bool = committed
        # Constants are leading arguments, which the executable takes in row-major order.
        self.consts: list[ArrayImpl] = [in_layout(x, None) for x in consts]
        is_checked = host_checks is not None and host_checks.written
        self.host_checks: HostChecks | None = host_checks if is_checked else None
        self.effects: frozenset[ir.Effect] = effects
        self.ordered_effects: tuple[ir.Effect, ...] = ordered_among(effects)
        self.has_extended_results: bool = any(map(_is_extended, self.out_avals))
        self.handlers: list[Any] = [
            result_handler(aval, sharding, committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]

    @property
    def kept_var_indices(self) -> tuple[int, ...]:
        """The positions of the arguments that are passed to the executable."""
        return tuple(i for i, used in enumerate(self.used_arguments) if used)

    @property
    def is_loaded(self) -> bool:
        """Whether it can run; not if it was compiled for described devices."""
        return isinstance(self.loaded, LoadedExecutable)

    def arranged(self, arrays: list[ArrayImpl]) -> list[ArrayImpl]:
        """Return arguments in the required layouts; the same list if they have these already.

        Args:
          arrays: an array for each used argument, with the required sharding.
        """
        if not self.in_layouts and are_row_major(arrays):
            return arrays
        # Row-major unless a layout was asked for.
        layouts = self.in_layouts or repeat(None, len(arrays))
        moved = list(map(in_layout, arrays, layouts))
        return arrays if all(map(is_, moved, arrays)) else moved

    def execute(self, arrays: Sequence[ArrayImpl]) -> list[Any]:
        """Run the executable, asynchronously where the platform can.

        Args:
          arrays: an array for each used argument, with the required sharding and layout.

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
        # The replacement takes place between two runs, in the calling thread, so that no run sees
        # both.
        if self.optimized is not None and self.optimized.done():
            self._replace_loaded(self.optimized)
        if self.host_checks is not None:
            return self._run_checked(self.host_checks, [*self.consts, *arrays])
        if self.effects:
            return runtime_tokens.run(self, [*self.consts, *arrays])
        results = self.loaded.execute_sharded([*self.consts, *arrays])
        return results.consume_with_handlers(self.handlers)

    def _run_checked(self, checks: HostChecks, arrays: list[ArrayImpl]) -> list[Any]:
        """Run the executable to its end, and raise the failure of its checks."""
        if self.effects:
            results = runtime_tokens.run(self, arrays)
            runtime_tokens.wait()
        else:
            started = self.loaded.execute_sharded(arrays, with_tokens=True)
            started.consume_token().block_until_ready()
            results = started.consume_with_handlers(self.handlers)
        checks.raise_failure()
        return results

    def _replace_loaded(self, optimized: "Future[LoadedExecutable]") -> None:
        """Run the optimized executable from now on, unless compiling it failed."""
        self.optimized = None
        error = None if optimized.cancelled() else optimized.exception()
        if error is not None:
            ir.warn_user(
                f"the optimized compilation failed, so the quick one stays in use: {error}"
            )
        elif not optimized.cancelled():
            self.loaded = optimized.result()

    def as_text(self) -> str:
        """The HLO text after XLA's optimizations."""
        return "\n\n".join(module.to_string() for module in self.loaded.hlo_modules())

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's cost estimates: ``flops``, ``bytes accessed`` and more."""
        return self.loaded.cost_analysis() if self.is_loaded else cost_of_described(self.loaded)

    def memory_analysis(self) -> Any:
        """The sizes of arguments, results, temporary buffers and code, in bytes."""
        return self.loaded.get_compiled_memory_stats()

    def serialize(self) -> bytes:
        """The executable as bytes, for ``deserialize`` on a machine of the same kind."""
        loaded: Any = self.loaded
        return loaded.client.serialize_executable(loaded) if self.is_loaded else loaded.serialize()


def _is_extended(aval: object) -> bool:
    """Whether a type has no arrays in jaxlib: tokens, extended dtypes and ``float0``."""
    if aval is ir.abstract_token:
        return True
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, ir.ExtendedDType) or dtype == ir.float0


def buffer_rank(aval: ir.AbstractValue) -> int:
    """Return the rank of the buffers of a type.

    Random keys add the dimensions of a key's words; a token's buffer counts as a scalar.
    """
    return 0 if aval is ir.abstract_token else ir.physical_aval(aval).ndim


def result_handler(aval: Any, sharding: Sharding, committed: bool) -> Any:
    """Return jaxlib's handler that makes an array, a token or a key of a result's buffers."""
    if not _is_extended(aval):
        return runtime.array_result_handler(aval, sharding, committed)
    if aval is ir.abstract_token:
        return runtime.array_result_handler(token_buffer, sharding, committed).wrap(ir.Token)
    dtype = aval.dtype
    # XLA has no type without bits.
    if dtype == ir.float0:  # has no values: the executable returns Booleans instead
        booleans = ir.ShapedArray(aval.shape, np.dtype(bool))
        handler = runtime.array_result_handler(booleans, sharding, committed)
        return handler.wrap(lambda array: np.zeros(array.shape, ir.float0))
    handler = runtime.array_result_handler(ir.physical_aval(aval), sharding, committed)
    return handler.wrap(dtype.from_physical)


def deserialize(
    data: bytes, devices: Sequence[Device], options: CompileOptions | None = None
) -> LoadedExecutable:
    """Load an executable from the bytes of ``Executable.serialize``.

    Args:
      data: the bytes.
      devices: the devices to run on.
      options: the ``compile_options`` that it was compiled with; required for several devices.
    """
    devices = tuple(devices)
    loaded = devices[0].client.deserialize_executable(data, DeviceList(devices), options)
    prepare_kernels(loaded.get_hlo_text(), devices[0].platform)
    return loaded


def result_shardings(
    loaded: LoadedExecutable, devices: Sequence[Device]
) -> list[GSPMDSharding] | None:
    """Return the sharding that XLA chose for each result; ``None`` on one device."""
    tilings = loaded.get_output_shardings()
    if tilings is None:
        return None
    device_list = DeviceList(tuple(devices))
    return [GSPMDSharding(device_list, tiling) for tiling in tilings]
