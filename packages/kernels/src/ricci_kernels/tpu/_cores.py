"""Cores of a device, notes for its compiler and profiler, and convolutions in kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.body._control import when
from ricci_kernels.body._copies import semaphore_signal, semaphore_wait
from ricci_kernels.calls._compiled_calls import Refused as LoweringException
from ricci_kernels.primitives._accesses import Reference
from ricci_kernels.primitives._copies import statement

__all__ = [
    "LoweringException",
    "PipelineStep",
    "annotate",
    "conv",
    "core_barrier",
    "run_on_first_core",
    "trace_value",
]


@dataclass(frozen=True)
class PipelineStep:
    """A step of a pipeline.

    Attributes:
      index: the position in the pipeline's grid.
      local_index: the number of the step among those of this core.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.PipelineStep((1, 2), 5).index
      (1, 2)
    """

    index: tuple[ir.ArrayLike, ...]
    local_index: ir.ArrayLike


def annotate(
    ref: Reference,
    *,
    no_store: bool = False,
    no_bank_conflict: bool = False,
    no_hazard: bool = False,
    no_hazard_no_deps: bool = False,
) -> Reference:
    """Declare properties of the accesses to a reference; of no effect.

    Args:
      ref: the reference, or a view of one.
      no_store, no_bank_conflict, no_hazard, no_hazard_no_deps: the properties.

    Returns:
      The reference.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.annotate(ricci.new_ref(np.int32(3)), no_store=True)
      Ref(3, dtype=int32)
    """
    del no_store, no_bank_conflict, no_hazard, no_hazard_no_deps
    return ref


# The operand is the value.
trace_value_p: ir.Primitive = statement("trace_value", lambda value, *, label: [])


def trace_value(label: str, value: ir.Array) -> None:
    """Write a scalar into the profile of a kernel; of no effect when interpreted.

    Args:
      label: its name there.
      value: an int32 or float32 scalar.

    Raises:
      ValueError: for another type.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(x, out):
      ...     pltpu.trace_value("first", x[0])
      ...     out[...] = x[...]
      >>> x = np.int32([3, 4])
      >>> pl.pallas_call(kernel, ricci.ShapeDtypeStruct((2,), np.int32), interpret=True)(x)
      Array([3, 4], dtype=int32)
    """
    aval: Any = ir.get_aval(value)
    if aval.dtype not in (np.int32, np.float32) or aval.shape:
        raise ValueError(f"trace_value requires i32 or f32 scalars, got {aval.str_short()}")
    if ir.context.trace.records_references:
        trace_value_p.bind(value, label=label)


def run_on_first_core(core_axis_name: str) -> Callable[[Callable[[], None]], None]:
    """Make a decorator that runs a function at once, on the first core of a mesh only.

    Args:
      core_axis_name: the name of the axis of cores.

    Returns:
      A function that runs a function without arguments.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> @pl.kernel(
      ...     out_type=ricci.ShapeDtypeStruct((), np.int32),
      ...     mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=2),
      ...     scratch_types=[pltpu.SMEM((), np.int32)],
      ...     interpret=True,
      ... )
      ... def count(out, counter):
      ...     @pltpu.run_on_first_core("core")
      ...     def _():
      ...         counter[...] = np.int32(0)
      ...     counter[...] += np.int32(1)
      ...     out[...] = counter[...]
      >>> count()
      Array(2, dtype=int32)
    """
    return when(ir.axis_position.call((core_axis_name,)) == 0)


def core_barrier(sem: Reference, *, core_axis_name: str) -> None:
    """Wait until all cores of a mesh have come here.

    Args:
      sem: a regular semaphore that is used for nothing else.
      core_axis_name: the name of the axis of cores.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> @pl.kernel(
      ...     out_type=ricci.ShapeDtypeStruct((), np.int32),
      ...     mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=2),
      ...     scratch_types=[pltpu.SemaphoreType.REGULAR],
      ...     interpret=True,
      ... )
      ... def kernel(out, sem):
      ...     pltpu.core_barrier(sem, core_axis_name="core")
      ...     out[...] = pl.semaphore_read(sem)
      >>> kernel()
      Array(0, dtype=int32)
    """
    count = ir.axis_size(core_axis_name)
    for core in range(count):
        semaphore_signal(sem, 1, core_index=core)
    semaphore_wait(sem, count)


def conv(
    lhs: ir.Array,
    rhs: ir.Array,
    acc: ir.Array | None = None,
    *,
    dimension_numbers: tuple[str, str, str],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
) -> ir.Array:
    """Convolve arrays in a kernel, and add the result to an accumulator.

    Args:
      lhs, rhs: the array and the filter.
      acc: the accumulator.
      dimension_numbers: their dimensions and the result's, such as ``("NHWC", "HWIO", "NHWC")``.
      window_strides, padding: of the window; by default 1 and ``"VALID"``.
      lhs_dilation, rhs_dilation: the distance of elements, as in ``lax.conv_general_dilated``.
      feature_group_count, batch_group_count: how many groups there are, by default one.
      precision, preferred_element_type: of the products, and of their sums.
      window_reversal: for each spatial dimension, whether the filter is reversed.

    Returns:
      An array of the result's dimensions.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> x, filters = np.ones((1, 4, 4, 2), np.float32), np.ones((3, 3, 2, 5), np.float32)
      >>> pltpu.conv(x, filters, dimension_numbers=("NHWC", "HWIO", "NHWC")).shape
      (1, 2, 2, 5)
    """
    letters = dimension_numbers[1]
    spatial = [i for i, letter in enumerate(letters) if letter not in "IO"]
    if window_reversal is not None:
        flipped = [i for i, flag in zip(spatial, window_reversal, strict=True) if flag]
        rhs = lax.rev(rhs, flipped)
    result = lax.conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(spatial) if window_strides is None else window_strides,
        "VALID" if padding is None else padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        feature_group_count,
        batch_group_count,
        precision,
        preferred_element_type,
    )
    return result if acc is None else lax.add(acc, result)
