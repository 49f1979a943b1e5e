"""Memory without values on CPUs: for large results of loops in huge pages, for stacks of rows.

XLA allocates each result by ``malloc``, which takes new pages from the system for one of 32 MiB or
more, and returns them when it is freed. Of 4 KiB each, their faults take most of the time of a loop
that computes little per element; pages of 2 MiB, as NumPy asks for, take a fifth of that.

A kernel of ``ricci_native`` asks for these pages for its own result, and does not write it. XLA
writes an elementwise operation to the memory of an operand that nothing else uses, so that
``select(never, memory, x)``, where a kernel returns ``never``, false, is computed in that memory.

The same kernel returns the memory of arrays that a loop writes row by row, which XLA would fill
first.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

import ricci_ir as ir

from ._lowering import Lowering
from ._native_kernels import NativeKernel, native_kernel
from ._operations import Region
from ._types import element_type, tensor_type
from ._values import Value

if TYPE_CHECKING:
    from ._single_loops import Node

__all__ = ["unwritten"]

_LEAST_BYTES = 1 << 25  # malloc keeps the memory of smaller arrays
_LEAST_UNWRITTEN = 1 << 17  # filling smaller arrays takes no longer than a call
_FLAG = ir.ShapedArray((1,), np.dtype(bool))
_WORDS = {element_type(dtype): dtype for dtype in map(np.dtype, ("uint32", "uint64"))}
_FIRST_NAME = 1_000_000  # of operations that are inserted into a complete function


def place_on_huge_pages(
    ctx: Lowering, region: Region, positions: Collection[int]
) -> Sequence[Value]:
    """Return the results of the public function, a single large one in huge pages.

    Of several large ones, XLA might give the memory for one to another, and need more. If the loop
    reads random words, which a barrier separates from it, these are in such pages as well.

    Args:
      ctx: the function's body.
      region: the same, complete.
      positions: the results whose memory is not determined.
    """
    results = region.results
    large = [i for i, x in enumerate(results) if _kernel_for(ctx, x.aval) is not None]
    if len(large) != 1 or large[0] not in positions:
        return results
    from ._single_loops import SingleLoops  # noqa: PLC0415 - lazy: few results are large

    loops = SingleLoops(ctx.module, region)
    if not loops.is_single(large[0]):
        return results
    barrier = loops.barrier_of(large[0])
    if barrier is not None:
        _place_operand(ctx, barrier)
    if loops.results[large[0]] is barrier:
        return results
    return [_on_huge_pages(ctx, x) if i in large else x for i, x in enumerate(results)]


def _place_operand(ctx: Lowering, barrier: "Node") -> None:
    """Have the operand of a barrier computed in huge pages, by operations ahead of the barrier."""
    operations, position = barrier.operations, barrier.position
    result, name, body, types, location, details = operations[position]
    words = Value(body.strip(), ir.ShapedArray((barrier.size,), _WORDS[barrier.element]))
    if tensor_type(words.aval) != types or _kernel_for(ctx, words.aval) is None:
        return
    inner = Lowering(ctx.module, [_FIRST_NAME])
    inner.location = location
    body = f" {_on_huge_pages(inner, words).name}"
    placed = (result, name, body, types, location, details)
    operations[position : position + 1] = [*inner.operations, placed]


def unwritten(ctx: Lowering, aval: ir.ShapedArray) -> Value | None:
    """Return an array without values, all of which are to be written before they are read.

    Args:
      ctx: the context of the operation.
      aval: the array's type.

    Returns:
      The array, or ``None`` where it is small or there is no kernel: it must be filled then.
    """
    kernel = _kernel_for(ctx, aval, _LEAST_UNWRITTEN)
    return None if kernel is None else _memory(ctx, kernel, aval)


def _kernel_for(
    ctx: Lowering, aval: ir.AbstractValue, least: int = _LEAST_BYTES
) -> NativeKernel | None:
    if not isinstance(aval, ir.ShapedArray) or isinstance(aval.dtype, ir.ExtendedDType):
        return None
    is_large = ir.is_static_shape(aval.shape) and aval.size * aval.dtype.itemsize >= least
    return native_kernel(ctx, "huge_pages", aval, 0) if is_large else None


def _memory(ctx: Lowering, kernel: NativeKernel, aval: ir.ShapedArray) -> Value:
    """Write a call that returns an array without values, which shares memory with no other."""
    # Equal calls would be one, whose memory only one value could have.
    ctx.module.huge_values += 1
    number = {"number": f"{ctx.module.huge_values} : i64"}
    return ctx.custom_call(kernel.target, [], [aval], backend_config=number)[0]


def _on_huge_pages(ctx: Lowering, x: Value) -> Value:
    """Return the value of an elementwise operation, computed in huge pages."""
    kernel, no = _kernel_for(ctx, x.aval), native_kernel(ctx, "never", _FLAG, 0)
    assert kernel is not None
    assert no is not None
    memory = _memory(ctx, kernel, x.aval)
    (never,) = ctx.custom_call(no.target, [], [_FLAG.resized(())])
    types = f"{tensor_type(never.aval)}, {tensor_type(x.aval)}"
    return ctx.emit("stablehlo.select", [never, memory, x], x.aval, types=types)
