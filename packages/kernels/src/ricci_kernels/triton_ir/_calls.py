"""A kernel call as XLA's custom call of a Triton kernel."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping
from ricci_kernels.blocks._specs import Element, Squeezed
from ricci_kernels.calls._compiled_calls import KernelCall
from ricci_kernels.triton import CompilerParams
from ricci_stablehlo import Lowering, string
from ricci_stablehlo import Value as Operand

from . import _contractions as _contractions
from . import _references as _references
from . import _shapes as _shapes
from . import _sorting as _sorting
from ._addresses import pointer_element, strides_of
from ._control_flow import local_buffer
from ._rules import Dim, Reference, evaluate
from ._writer import Value, Writer

__all__ = ["kernel_text", "triton_call"]

_TARGET = "__gpu$xla.gpu.triton"
# The most programs along the axes x, y and z of a device's grid.
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_MOST_WARPS = 32
_MOST_STAGES = 16


def triton_call(ctx: Lowering, call: KernelCall, operands: Sequence[Operand]) -> list[Operand]:
    """Lower a kernel call for NVIDIA GPUs.

    Args:
      ctx: where to write it.
      call: the call.
      operands: the scalars that index maps read, then the inputs.

    Raises:
      ValueError: if the grid, the parameters or the blocks are not possible on a GPU.
      NotImplementedError: if an operation of the kernel is not.
    """
    warps, stages = _compiler_params(call)
    grid = _device_grid(call)
    config = {
        "debug": "false",
        **{f"grid_{axis}": f"{size} : i32" for axis, size in zip("xyz", grid, strict=True)},
        "ir": string(kernel_text(call)),
        "name": string(symbol(call.name)),
        "num_stages": f"{stages} : i32",
        "num_warps": f"{warps} : i32",
    }
    text = ", ".join([f"{name} = {value}" for name, value in config.items()])
    layout = lambda rank: tuple(range(rank))[::-1]
    return ctx.custom_call(
        _TARGET,
        operands,
        call.out_avals,
        backend_config="",
        api_version=1,
        operand_layouts=[layout(len(x.aval.shape)) for x in operands],  # pyright: ignore
        result_layouts=[layout(aval.ndim) for aval in call.out_avals],
        output_operand_aliases={out: operand for operand, out in call.aliases},
        annotations=f"mhlo.backend_config = {{{text}}}",
    )


def symbol(name: str) -> str:
    """A kernel's name as a symbol of the device's code."""
    return "".join([c if c.isascii() and c.isalnum() else "_" for c in name]) or "kernel"


def _compiler_params(call: KernelCall) -> tuple[int, int]:
    """The numbers of warps and of stages."""
    params = call.compiler_params
    if params is not None and not isinstance(params, CompilerParams):
        raise ValueError(
            f"the kernel {call.name} has compiler_params of type {type(params).__module__}."
            f"{type(params).__qualname__}, and is compiled for an NVIDIA GPU. Pass "
            "plgpu.CompilerParams(num_warps=..., num_stages=...) of jax.experimental.pallas.triton."
        )
    warps = 4 if params is None or params.num_warps is None else params.num_warps
    stages = 3 if params is None or params.num_stages is None else params.num_stages
    if warps not in (1, 2, 4, 8, 16, _MOST_WARPS):
        raise ValueError(
            f"the kernel {call.name} has num_warps={warps}. A power of 2 from 1 to {_MOST_WARPS} "
            "is possible."
        )
    if not 1 <= stages <= _MOST_STAGES:
        raise ValueError(
            f"the kernel {call.name} has num_stages={stages}. From 1 to {_MOST_STAGES} are "
            "possible."
        )
    return warps, stages


def _device_grid(call: KernelCall) -> tuple[int, int, int]:
    """The number of programs along x, y and z: the grid itself if it fits, or all along x."""
    sizes = [size for size in call.grid if size is not None]
    if len(sizes) < len(call.grid):
        raise ValueError(
            f"the kernel {call.name} has the grid {call.grid}, in which a size is traced. On an "
            "NVIDIA GPU the grid is compiled into the program: pass the size as an int."
        )
    total = prod(sizes)
    if not 0 < total <= _GRID_LIMITS[0]:
        raise ValueError(
            f"the kernel {call.name} has the grid {call.grid} with {total} steps; from 1 to "
            f"{_GRID_LIMITS[0]} are possible on an NVIDIA GPU."
        )
    # The axes of a device's grid differ in their limits; what does not fit is numbered along x.
    x, y, z = (*sizes, 1, 1, 1)[:3]
    fits = all(n <= most for n, most in zip((x, y, z), _GRID_LIMITS, strict=True))
    return (x, y, z) if fits and len(sizes) <= 3 else (total, 1, 1)


def _positions(writer: Writer, call: KernelCall) -> list[Value]:
    """The position of a program along each axis of the grid."""
    grid = [size or 0 for size in call.grid]
    device = _device_grid(call)
    along = lambda axis: writer.op("tt.get_program_id", [], (), "i32", f"axis = {axis} : i32")
    if (*grid, 1, 1, 1)[: max(3, len(grid))] == device:
        return [along(axis) for axis in range(len(grid))]
    # The linear number, taken apart in the mixed radix of the grid, the last axis fastest.
    linear, positions = along(0), []
    for size in reversed(grid):
        width = writer.constant(size, "i32")
        positions.insert(0, writer.binary("arith.remsi", linear, width))
        linear = writer.binary("arith.divsi", linear, width)
    return positions


def kernel_text(call: KernelCall) -> str:
    """The text of a kernel call in Triton IR.

    Args:
      call: the call.
    """
    if call.scratch and call.num_steps != 1:
        raise ValueError(
            f"the kernel {call.name} has scratch_shapes. On an NVIDIA GPU the steps of the grid "
            "run at the same time and share no buffer: loop inside of the kernel, where "
            "pl.run_scoped allocates one."
        )
    writer = Writer()
    scalars = [ref.inner_aval for ref in call.scalars]
    arrays = [*scalars, *[m.array_aval for m in call.blocks]]
    pointers = [Value(f"%arg{i}", (), pointer_element(aval.dtype)) for i, aval in enumerate(arrays)]
    positions = _positions(writer, call)
    prefetched = [
        _whole(pointer, aval, f"scalars[{i}]")
        for i, (pointer, aval) in enumerate(zip(pointers, scalars, strict=False))
    ]
    # An input may be written where an output has its buffer.
    aliased = {operand - len(scalars) for operand, _ in call.aliases}
    first_out = call.mapping.num_inputs
    references = [
        _block(writer, call, mapping, pointer, positions, prefetched)._replace(
            is_writable=i >= first_out or i in aliased
        )
        for i, (mapping, pointer) in enumerate(
            zip(call.blocks, pointers[len(scalars) :], strict=True)
        )
    ]
    buffers = [local_buffer(writer, ref) for ref in call.scratch]
    evaluate(writer, call.jaxpr, [*positions, *prefetched, *references, *buffers])
    _check_order(call, writer, references)
    # XLA aligns buffers, which allows vectorized loads; pointers are multiples of 16 bytes.
    attribute = "{tt.divisibility = 16 : i32}"
    arguments = ", ".join([f"{p.name}: {p.element} {attribute}" for p in pointers])
    return "\n".join(
        [
            "module {",
            f"  tt.func public @{symbol(call.name)}({arguments}) {{",
            *writer.lines,
            "    tt.return",
            "  }",
            "}",
            "",
        ]
    )


def _check_order(call: KernelCall, writer: Writer, references: Sequence[Reference]) -> None:
    """Refuse a kernel whose steps add to a block one after the other.

    Raises:
      ValueError: if it reads and writes the same part of a block in several steps.
    """
    for ref in references:
        if ref.origin in writer.reads & writer.writes:
            raise ValueError(
                f"the kernel {call.name} reads and writes the same block of {ref.origin} in each "
                f"step along axis {ref.shared} of the grid {call.grid}. On an NVIDIA GPU steps run "
                "at the same time, in no order: loop over that axis inside of the kernel with "
                "lax.fori_loop, or use plgpu.atomic_add."
            )


def _shared_axis(call: KernelCall, jaxpr: ir.Jaxpr) -> int | None:
    """An axis of several steps on which an index map does not depend, or ``None``."""
    # By data flow: the axes of the grid that each variable depends on.
    axes: dict[Any, set[int]] = {v: {i} for i, v in enumerate(jaxpr.invars[: len(call.grid)])}
    of = lambda atoms: set().union(*[axes.get(v, ()) for v in atoms if type(v) is not ir.Literal])
    for eqn in jaxpr.eqns:
        axes.update(dict.fromkeys(eqn.outvars, of(eqn.invars)))
    used = of(jaxpr.outvars)
    shared = [i for i, size in enumerate(call.grid) if size != 1 and i not in used]
    return shared[0] if shared else None


def _index_element(shape: Sequence[int]) -> str:
    """The integers in which positions in an array are computed."""
    return "i32" if prod(shape) <= np.iinfo(np.int32).max else "i64"


def _whole(pointer: Value, aval: ir.ShapedArray, origin: str) -> Reference:
    """The reference to a whole operand."""
    dims = [Dim(n, stride) for n, stride in zip(aval.shape, strides_of(aval.shape), strict=True)]
    index = _index_element(aval.shape)
    return Reference(pointer, tuple(dims), aval.dtype, index, origin, False)


def _block(
    writer: Writer,
    call: KernelCall,
    mapping: BlockMapping,
    pointer: Value,
    positions: Sequence[Value],
    scalars: Sequence[Reference],
) -> Reference:
    """The reference to the block of an operand, whose index map is applied to the position."""
    shape = mapping.array_aval.shape
    index = _index_element(shape)
    map_jaxpr = mapping.index_map_jaxpr
    numbers = evaluate(writer, map_jaxpr, [*positions, *scalars])
    dims = []
    for i, (number, size, stride) in enumerate(
        zip(numbers, mapping.sizes, strides_of(shape), strict=True)
    ):
        dim, length = mapping.block_shape[i], shape[i]
        # Most blocks begin at 0 along most dimensions: no arithmetic is written for these.
        out = map_jaxpr.outvars[i]
        is_first = type(out) is ir.Literal and int(out.val) == 0  # pyright: ignore
        low, high = dim.padding if isinstance(dim, Element) else (0, 0)
        start: Value | None = None
        if not is_first or low:
            start = writer.resized(number, index)
            start = writer.scaled(start, 1 if isinstance(dim, Element) else size)
            if low:
                start = writer.add(start, writer.like(start, -low))
            offset = writer.scaled(start, stride)
            pointer = writer.op("tt.addptr", [pointer, offset], (), pointer.element)
        if isinstance(dim, Squeezed):
            continue
        # A block of whole multiples ends inside of the array; one at a free element may not.
        is_partial = bool(size and length % size) or bool(low or high) or isinstance(dim, Element)
        dims.append(Dim(size, stride, start, length if is_partial else None, bool(low)))
    return Reference(
        pointer,
        tuple(dims),
        mapping.array_aval.dtype,
        index,
        mapping.origin,
        False,
        _shared_axis(call, map_jaxpr),
    )
