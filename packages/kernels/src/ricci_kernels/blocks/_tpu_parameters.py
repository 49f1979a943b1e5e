"""Parameters of kernels for TPUs; of no effect when interpreted."""

import enum
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ricci_ir as ir

from ._specs import CompilerParams as _CompilerParams

__all__ = [
    "ARBITRARY",
    "CORE_PARALLEL",
    "PARALLEL",
    "SUBCORE_PARALLEL",
    "BufferType",
    "CompilerParams",
    "CoreType",
    "GridDimensionSemantics",
    "InterpretParams",
    "SideEffectType",
    "Tiling",
    "force_tpu_interpret_mode",
    "reset_tpu_interpret_mode_state",
    "set_tpu_interpret_mode",
]


class GridDimensionSemantics(enum.Enum):
    """The dependence between steps along an axis of the grid."""

    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


PARALLEL = GridDimensionSemantics.PARALLEL
CORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL
SUBCORE_PARALLEL = GridDimensionSemantics.SUBCORE_PARALLEL
ARBITRARY = GridDimensionSemantics.ARBITRARY


class BufferType(enum.Enum):
    """The use of a buffer by a pipeline."""

    INPUT = 1
    OUTPUT = 2
    INPUT_OUTPUT = 3
    MANUAL = 4


class SideEffectType(enum.Enum):
    """The effects that a compiler must preserve."""

    PURE = "pure"
    DATAFLOW_SIDE_EFFECTING = "dataflow_side_effecting"
    SIDE_EFFECTING = "side_effecting"


class CoreType(enum.Enum):
    """The kinds of cores."""

    TC = "tc"
    SC_SCALAR_SUBCORE = "sc_scalar_subcore"
    SC_VECTOR_SUBCORE = "sc_vector_subcore"


class Tiling(enum.Enum):
    """The layouts of blocks in memory."""

    COMPACT = 1
    SPARSE_CORE = 2


@dataclass(frozen=True)
class CompilerParams(_CompilerParams):
    """Parameters of the compiler for TPUs; of no effect when interpreted.

    Args:
      dimension_semantics: for each axis of the grid ``"parallel"`` or ``"arbitrary"``.
      allow_input_fusion, vmem_limit_bytes, collective_id, has_side_effects: as in JAX.
      flags, internal_scratch_in_bytes, serialization_format: as in JAX.
      disable_bounds_checks, disable_semaphore_checks, skip_device_barrier: as in JAX.
      allow_collective_id_without_custom_barrier, shape_invariant_numerics: as in JAX.
      use_tc_tiling_on_sc, needs_layout_passes: as in JAX.
      fuse_transposed_lhs_in_matmul, opt_level: as in JAX.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.CompilerParams(dimension_semantics=["parallel"]).dimension_semantics
      ('parallel',)
    """

    dimension_semantics: Sequence[Any] | None = None
    allow_input_fusion: Sequence[bool] | None = None
    vmem_limit_bytes: int | None = None
    collective_id: int | None = None
    has_side_effects: bool | SideEffectType = False
    flags: Mapping[str, Any] | None = None
    internal_scratch_in_bytes: int | None = None
    serialization_format: int = 1
    disable_bounds_checks: bool = False
    disable_semaphore_checks: bool = False
    skip_device_barrier: bool = False
    allow_collective_id_without_custom_barrier: bool = False
    shape_invariant_numerics: bool = True
    use_tc_tiling_on_sc: bool | None = None
    needs_layout_passes: bool = True
    fuse_transposed_lhs_in_matmul: bool = False
    opt_level: int | None = None

    def __post_init__(self) -> None:
        for name in ("dimension_semantics", "allow_input_fusion"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, tuple(value))

    def __hash__(self) -> int:
        # ``flags`` may be a dict, which has no hash. A few fields are enough: equal parameters
        # agree in them.
        return hash((self.dimension_semantics, self.vmem_limit_bytes, self.collective_id))


@dataclass(frozen=True, kw_only=True)
class InterpretParams:
    """Options of an interpreter that simulates a TPU.

    Given as ``interpret``, a kernel is interpreted as with ``interpret=True``, except that
    ``prng_random_bits`` are zeros, and that later steps read what a step has written to prefetched
    scalars, as on a TPU. Nothing is simulated: the options are of no effect.

    Args:
      detect_races, on_race, out_of_bounds_reads, skip_floating_point_ops: as in JAX.
      uninitialized_memory, num_cores_or_threads, vector_clock_size: as in JAX.
      logging_mode, dma_execution_mode, random_seed, grid_point_recorder: as in JAX.
      allow_hbm_allocation_in_run_scoped, buffer_bounds: as in JAX.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.InterpretParams(detect_races=True).detect_races
      True
    """

    detect_races: bool = False
    on_race: str = "raise"
    out_of_bounds_reads: str = "raise"
    skip_floating_point_ops: bool = False
    uninitialized_memory: str = "nan"
    num_cores_or_threads: int = 1
    vector_clock_size: int | None = None
    logging_mode: Any = None
    dma_execution_mode: str = "on_wait"
    random_seed: int | None = None
    grid_point_recorder: Any = None
    allow_hbm_allocation_in_run_scoped: bool = False
    buffer_bounds: str = "logical"


# The interpretation of kernels that do not ask for one.
forced_interpretation: ir.State = ir.define_context("force_tpu_interpret_mode")


@contextmanager
def force_tpu_interpret_mode(params: InterpretParams = InterpretParams()) -> Any:
    """Interpret all kernels that are called inside a ``with`` block.

    Args:
      params: as ``interpret`` of ``pallas_call``.

    Returns:
      A context manager.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def double(x, out):
      ...     out[...] = x[...] * 2
      >>> run = pl.pallas_call(double, ricci.ShapeDtypeStruct((2,), np.float32))
      >>> with pltpu.force_tpu_interpret_mode():
      ...     run(np.float32([1, 2]))
      Array([2., 4.], dtype=float32)
    """
    with forced_interpretation(params):
        yield


def set_tpu_interpret_mode(params: InterpretParams | None = InterpretParams()) -> None:
    """Interpret all kernels that this process calls from now on.

    Args:
      params: as ``interpret`` of ``pallas_call``; ``None`` ends it.

    Raises:
      TypeError: if ``params`` is neither.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def double(x, out):
      ...     out[...] = x[...] * 2
      >>> run = pl.pallas_call(double, ricci.ShapeDtypeStruct((2,), np.float32))
      >>> pltpu.set_tpu_interpret_mode()
      >>> run(np.float32([1, 2]))
      Array([2., 4.], dtype=float32)
      >>> pltpu.set_tpu_interpret_mode(None)
    """
    if not (params is None or isinstance(params, InterpretParams)):
        raise TypeError(
            "set_tpu_interpret_mode: params must be an InterpretParams or None, got a "
            f"{type(params).__name__}."
        )
    forced_interpretation.set_global(params)


def interpretation(interpret: Any) -> Any:
    """The mode of a call: its own, or the one that is forced."""
    return interpret or forced_interpretation.value or False


def reset_tpu_interpret_mode_state() -> None:
    """Forget the state of an interrupted simulation; of no effect.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.reset_tpu_interpret_mode_state()
    """
