"""Blocks of a kernel on a TPU: their alignment, their dtypes, and the memory that they take."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping
from ricci_kernels.blocks._specs import Blocked, Element
from ricci_kernels.calls._compiled_calls import KernelCall

from ._writer import UNSUPPORTED, bits_of, space_name

# A vector register of 32-bit elements has 8 sublanes of 128 lanes; narrower elements are packed, so
# that a tile has 16 or 32 rows.
LANES, SUBLANES = 128, 8
_MIB = 2**20
# The memory for the blocks of one kernel that a compiler allows by default, by a part of the kind.
_limits = {"v6": 32 * _MIB, "v5": 16 * _MIB, "v4": 16 * _MIB}


class Buffer(ir.TupleRecord):
    """The memory of a block or of a scratch buffer.

    Attributes:
      origin: its name in messages.
      shape: its shape, as the kernel sees it or with squeezed dimensions.
      dtype: its dtype.
      space: the name of its memory space.
      copies: 2 where the next block is fetched while one is computed with.
      size: the bytes of all copies, in whole tiles.
    """

    origin: str
    shape: tuple[int, ...]
    dtype: Any
    space: str
    copies: int
    size: int


def block_space(mapping: BlockMapping) -> str:
    """The name of the memory space of a block: a scalar is in scalar memory."""
    return space_name(mapping.memory_space, "vmem" if mapping.block_shape else "smem")


def is_windowed(mapping: BlockMapping) -> bool:
    """Whether a block is a window that moves with the grid, instead of a whole array."""
    return block_space(mapping) in ("vmem", "smem")


def is_sliced(mapping: BlockMapping) -> bool:
    """Whether the kernel gets a whole array, of which its reference is the part in the block.

    Arrays that are not fetched block by block are whole, and so are those in scalar memory whose
    blocks are not whole tiles, such as the examples that ``vmap`` maps over.
    """
    if mapping.sizes == mapping.array_aval.shape or _has_elements(mapping):
        return False
    if not is_windowed(mapping):
        return True
    # The words of a key are whole dimensions behind those of its block.
    if ir.is_extended(mapping.array_aval.dtype):
        return False
    return block_space(mapping) == "smem" and _aligned(mapping) != mapping.sizes


def whole_block(mapping: BlockMapping) -> BlockMapping:
    """The block that is the whole array in every step."""
    shape = mapping.array_aval.shape
    zeros = [np.int32(0)] * len(shape)
    maps = mapping.index_map_jaxpr
    jaxpr = ir.trace_to_jaxpr(lambda *_: zeros, maps.in_avals, maps.debug_info)
    sizes = tuple([Blocked(n) for n in shape])
    return mapping._replace(block_shape=sizes, index_map_jaxpr=jaxpr)


def _has_elements(mapping: BlockMapping) -> bool:
    return any(isinstance(dim, Element) for dim in mapping.block_shape)


def buffer_count(mapping: BlockMapping, steps: int | None) -> int:
    """The number of copies of a block."""
    mode = mapping.pipeline_mode
    # Pipelined blocks have two buffers: one is computed on while the other is copied.
    return 1 if steps == 1 or (mode is not None and mode.buffer_count == 1) else 2


def plan(call: KernelCall) -> list[Buffer]:
    """The memory of each block and scratch buffer of a call."""
    buffers = []
    for m in call.blocks:
        space = block_space(m)
        copies = buffer_count(m, call.num_steps) if is_windowed(m) else 0
        buffers.append(_buffer(m.origin, m.sizes, m.array_aval.dtype, space, copies))
    for i, ref in enumerate(call.scratch):
        space = space_name(ref.memory_space)
        buffers.append(_buffer(f"scratch_shapes[{i}]", ref.shape, ref.dtype, space, 1))
    return buffers


def _buffer(
    origin: str, shape: tuple[int, ...], dtype: np.dtype, space: str, copies: int
) -> Buffer:
    if ir.is_extended(dtype):
        stored = ir.physical_aval(ir.ShapedArray(shape, dtype))
        shape, dtype = stored.shape, stored.dtype
    # Booleans are stored as int32.
    bits = 32 if dtype == np.bool_ else bits_of(dtype)
    padded = list(shape)
    # In vector memory the last two dimensions are padded to whole tiles.
    if space == "vmem" and padded:
        tile = [SUBLANES * max(32 // bits, 1), LANES][-len(padded) :]
        for i, n in enumerate(tile, len(padded) - len(tile)):
            # A few rows take a tile of as many, rounded up to a power of 2.
            n = min(n, 1 << max(padded[i] - 1, 0).bit_length()) if n != LANES else n
            padded[i] = -(-padded[i] // n) * n
    return Buffer(origin, shape, dtype, space, copies, copies * prod(padded) * bits // 8)


def check_blocks(call: KernelCall, devices: Sequence[Any]) -> None:
    """Check dtypes and blocks before a compiler sees them.

    Raises:
      ValueError: for a block that is not aligned, or if blocks need more memory than there is.
      NotImplementedError: for an unsupported dtype.
    """
    for m in call.blocks:
        _check_dtype(call, m.origin, m.array_aval.dtype)
        _check_alignment(call, m)
        mode = m.pipeline_mode
        if mode is not None and mode.buffer_count not in (1, 2):
            raise NotImplementedError(
                f"the block of {m.origin} in {call.name} has pipeline_mode={mode}. Only single (1) "
                "and double (2) buffering are supported: write pl.Buffered(2)."
            )
        for axis, dim in enumerate(m.block_shape):
            if isinstance(dim, Element) and dim.padding[0]:
                raise NotImplementedError(
                    f"the block of {m.origin} in the kernel {call.name} has {dim} as dimension "
                    f"{axis}. Elements are not added before an array on a TPU: pad it before the "
                    "call, and write pl.Element without padding."
                )
    for i, ref in enumerate(call.scratch):
        if space_name(ref.memory_space) != "semaphore_mem":
            _check_dtype(call, f"scratch_shapes[{i}]", ref.dtype)
    _check_memory(call, devices)


def _check_dtype(call: KernelCall, origin: str, dtype: np.dtype) -> None:
    if ir.is_extended(dtype):  # what reads keys checks where they are
        return
    replacement = UNSUPPORTED.get(np.dtype(dtype).name)
    if replacement is not None:
        raise NotImplementedError(
            f"{origin} of the kernel {call.name} has the dtype {np.dtype(dtype)}, which kernels on "
            f"TPUs do not support. Use {replacement}."
        )


def _least_row(mapping: BlockMapping) -> int:
    """The least size of a block of rank 1: a row of lanes."""
    return LANES * 32 // bits_of(mapping.array_aval.dtype)


def _aligned(mapping: BlockMapping) -> tuple[int, ...]:
    """The nearest block that consists of whole tiles, or is whole; the same one, if it is such."""
    block, shape = mapping.sizes, mapping.array_aval.shape
    if block == shape or not block:
        return block
    if len(block) == 1:
        (size,) = block
        least = _least_row(mapping)
        # 1024 elements are a whole tile of 8 by 128.
        is_aligned = size % 1024 == 0 or (size >= least and not size & (size - 1))
        return block if is_aligned else (max(1024, least),)
    # The whole dimension if that is shorter than a tile, else rounded up to tiles.
    last = [
        b if b == n or b % t == 0 else n if n < t else -(-b // t) * t
        for b, n, t in zip(block[-2:], shape[-2:], (SUBLANES, LANES), strict=True)
    ]
    return (*block[:-2], *last)


def _check_alignment(call: KernelCall, m: BlockMapping) -> None:
    shape, block = m.array_aval.shape, m.sizes
    space = block_space(m)
    if not is_windowed(m):
        sizes = enumerate(zip(block, shape, strict=True))
        if any(b != n and axis not in m.squeezed_dims for axis, (b, n) in sizes):
            raise ValueError(
                f"the block of {m.origin} in the kernel {call.name} has the shape {block}, the "
                f"array {shape}, and it is in memory_space={m.memory_space}. There the kernel gets "
                "the whole array: leave out block_shape, and copy parts of it with "
                "pltpu.make_async_copy."
            )
        if block and block[-1] != shape[-1]:
            raise ValueError(
                f"the block of {m.origin} in the kernel {call.name} is a part along the last "
                f"dimension of an array of shape {shape} in memory_space={m.memory_space}. Lanes "
                "are not copied one by one: map over another dimension (in_axes of vmap), or "
                "transpose the array."
            )
        return
    if space == "smem" or ir.is_extended(m.array_aval.dtype):
        return
    remedy = _aligned(m)
    if remedy == block:
        return
    if len(block) == 1:
        raise ValueError(
            f"the block of {m.origin} in the kernel {call.name} has the shape {block}, the "
            f"array {shape}. A block of rank 1 on a TPU is the whole array, a multiple of "
            f"1024, or a power of 2 of at least {_least_row(m)}: write {remedy}."
        )
    squeezed = [d for d in m.squeezed_dims if d >= len(block) - 2]
    hint = (
        f" Dimension {squeezed[0]} is squeezed, which is a block of 1: move it to the front."
        if squeezed
        else ""
    )
    raise ValueError(
        f"the block of {m.origin} in the kernel {call.name} has the shape {block}, the array "
        f"{shape}. On a TPU the last two dimensions of a block are divisible by 8 and 128, or "
        f"equal to those of the array: write {remedy}.{hint}"
    )


def memory_limit(call: KernelCall, devices: Sequence[Any]) -> int | None:
    """The bytes of vector memory for a kernel's blocks; ``None`` where the device is unknown."""
    limit = getattr(call.compiler_params, "vmem_limit_bytes", None)
    if limit is not None:
        return limit
    kind = kind_of_devices(devices)
    return next((size for name, size in _limits.items() if name in kind), None)


def kind_of_devices(devices: Sequence[Any]) -> str:
    """The kind of the devices that a module is for; empty if they are unknown."""
    return str(getattr(devices[0], "device_kind", "")) if len(devices) else ""


def _check_memory(call: KernelCall, devices: Sequence[Any]) -> None:
    buffers = [b for b in plan(call) if b.space == "vmem"]
    limit, total = memory_limit(call, devices), sum(b.size for b in buffers)
    if limit is None or total <= limit:
        return
    largest = sorted(buffers, key=lambda b: -b.size)[:6]
    rows = "\n".join(
        f"  {b.origin}: {np.dtype(b.dtype)}{list(b.shape)}, "
        f"{'2 buffers' if b.copies == 2 else '1 buffer'}, {b.size / _MIB:.2f} MiB"
        for b in largest
    )
    raise ValueError(
        f"the blocks of the kernel {call.name} need {total / _MIB:.2f} MiB of vector memory, and "
        f"it has {limit / _MIB:.2f} MiB:\n{rows}\nMake blocks smaller, pass "
        "pipeline_mode=pl.Buffered(1) to a block that does not change, or raise vmem_limit_bytes "
        "of pltpu.CompilerParams."
    )
