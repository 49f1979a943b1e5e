"""Executables: compiled modules, with the types and placement of their arguments and results."""

from collections.abc import Callable, Sequence
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
    float0,
    no_effects,
    physical_aval,
    warn_user,
)
from ricci_stablehlo import ordered_among
from ricci_xla.arrays._array import check_not_deleted
from ricci_xla.arrays._array_impl import ArrayImpl
from ricci_xla.arrays._layout import Layout, are_row_major, relayout
from ricci_xla.devices._client import check_not_forked
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._kernels import prepare_kernels
from ricci_xla.devices._runtime_types import (
    CompileOptions,
    Device,
    DeviceList,
    LoadedExecutable,
)
from ricci_xla.devices._topologies import cost_of_described
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import GSPMDSharding, Sharding

from ._effects import runtime_tokens, token_buffer
from ._sizes import fills_memory

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "deserialize",
    "Executable",
    "result_shardings",
]


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
