"""``BufferedRef``: the buffers of a block in a pipeline that a kernel writes out itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import SemaphoreType, TPUMemorySpace
from ricci_kernels.blocks._specs import BlockDim, Blocked, BlockSpec, BoundedSlice, Squeezed
from ricci_kernels.blocks._tpu_parameters import BufferType
from ricci_kernels.primitives._accesses import Reference
from ricci_lax.authoring import Window
from ricci_pytree import register_pytree_node

from ._copies import AsyncCopyDescriptor, make_async_copy

__all__: list[str] = []

_SLOTS = ("copy_in_slot", "wait_in_slot", "copy_out_slot", "wait_out_slot")
type _BlockType = ir.DTypeLike | ir.ShapedArray | ir.ShapeDtypeStruct

_LEAVES = ("window_ref", *_SLOTS, "sem_recvs", "sem_sends")
# The kinds of buffers that are copied in, and out.
_INPUTS = (BufferType.INPUT, BufferType.INPUT_OUTPUT)
_OUTPUTS = (BufferType.OUTPUT, BufferType.INPUT_OUTPUT)


# Fields that are not leaves of subclasses, which are registered by ``register_dataclass``.
_STATIC = {"static": True}


class BufferedRefBase:
    """The base of classes of buffers of a block in a pipeline.

    Attributes:
      spec: the block.
      buffer_type: the direction of the copies.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> issubclass(pltpu.BufferedRef, pltpu.BufferedRefBase)
      True
    """

    spec: BlockSpec
    buffer_type: BufferType

    @property
    def block_shape(self) -> Sequence[BlockDim | int | None] | None:
        """The shape of the block."""
        return self.spec.block_shape

    @property
    def is_input(self) -> bool:
        """Whether blocks are copied in."""
        return self.buffer_type in _INPUTS

    @property
    def is_output(self) -> bool:
        """Whether blocks are copied out."""
        return self.buffer_type in _OUTPUTS

    @property
    def is_input_output(self) -> bool:
        """Whether blocks are copied in and out."""
        return self.buffer_type is BufferType.INPUT_OUTPUT

    @property
    def is_manual(self) -> bool:
        """Whether the kernel copies blocks itself."""
        return self.buffer_type is BufferType.MANUAL

    def compute_index(self, *grid_indices: ir.ArrayLike) -> object:
        """The index of the block at a position in the grid."""
        index_map = self.spec.index_map
        if index_map is None:
            return (0,) * len(self.spec.block_shape or ())
        return index_map(*grid_indices)


@dataclass(frozen=True)
class BufferedRef(BufferedRefBase):
    """The buffers of a block, with the slots that are copied to and from.

    ``run_scoped`` allocates it, as it does other buffers. Then ``copy_in`` starts a copy of a block
    to the slot of ``copy_in_slot``, ``wait_in`` waits for the slot of ``wait_in_slot``, and so for
    copies out; ``advance_…`` moves to the next slot, in a new ``BufferedRef``. A subclass may copy
    otherwise; ``emit_pipeline`` calls its methods, if it is among the ``allocations``.

    Attributes:
      spec: the block.
      buffer_type: the direction of the copies.
      counts: the number of slots for copies in and for copies out.
      grid_rank: the number of axes of the pipeline's grid, if it is given.
      window_ref: the reference to all slots, or the type of that buffer.
      copy_in_slot, wait_in_slot, copy_out_slot, wait_out_slot: how often each was advanced.
      sem_recvs, sem_sends: the semaphores of copies in and out, one for each slot.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> block = pl.BlockSpec((2,), lambda i: (i,))
      >>> def kernel(x, out):
      ...     def run(buffer):
      ...         buffer = buffer.initialize_slots()
      ...         buffer.copy_in(x, (1,))
      ...         buffer.wait_in(x, (1,))
      ...         out[...] = buffer.current_ref[...]
      ...     pl.run_scoped(run, pltpu.BufferedRef.input(block, np.float32))
      >>> second = pl.pallas_call(kernel, ricci.ShapeDtypeStruct((2,), np.float32), interpret=True)
      >>> second(np.float32([1, 2, 3, 4]))
      Array([3., 4.], dtype=float32)
    """

    spec: BlockSpec = field(metadata=_STATIC)
    buffer_type: BufferType = field(metadata=_STATIC)
    counts: tuple[int, int] = field(metadata=_STATIC)
    grid_rank: int | None = field(default=None, metadata=_STATIC)
    window_ref: Any = None
    copy_in_slot: Any = None
    wait_in_slot: Any = None
    copy_out_slot: Any = None
    wait_out_slot: Any = None
    sem_recvs: Any = None
    sem_sends: Any = None

    @classmethod
    def create(
        cls,
        spec: BlockSpec,
        dtype_or_type: _BlockType,
        buffer_type: BufferType,
        buffer_count: int | tuple[int, int],
        grid_rank: int | None = None,
        **options: object,
    ) -> "BufferedRef":
        """Describe the buffers of a block.

        Args:
          spec: the block.
          dtype_or_type: its dtype, or an array type or a reference with it.
          buffer_type: the direction of the copies.
          buffer_count: the number of slots; of ``INPUT_OUTPUT`` also a pair of those in and out.
          grid_rank: the number of axes of the pipeline's grid.
          options: of no effect.
        """
        del options
        is_input, is_output = buffer_type in _INPUTS, buffer_type in _OUTPUTS
        pair = buffer_count if isinstance(buffer_count, tuple) else (buffer_count, buffer_count)
        counts = (pair[0] if is_input else 0, pair[1] if is_output else 0)
        is_dtype = isinstance(dtype_or_type, type | str | np.dtype)
        dtype = dtype_or_type if is_dtype else dtype_or_type.dtype  # pyright: ignore
        sizes = [_size(dim) for dim in spec.block_shape or () if not _is_squeezed(dim)]
        # Copies in and out share the slots: there are as many as the larger of the two needs.
        slots = max(*counts, 1)
        window = TPUMemorySpace.VMEM((slots, *sizes), dtype)
        semaphores = SemaphoreType.DMA((slots,))
        return cls(
            spec,
            buffer_type,
            counts,
            grid_rank,
            window,
            sem_recvs=semaphores if is_input else None,
            sem_sends=semaphores if is_output else None,
        )

    @classmethod
    def input(
        cls,
        spec: BlockSpec,
        dtype_or_type: _BlockType,
        buffer_count: int = 2,
        grid_rank: int | None = None,
        **options: object,
    ) -> "BufferedRef":
        """Describe the buffers of a block that is read; see ``create``."""
        return cls._created(spec, dtype_or_type, BufferType.INPUT, buffer_count, grid_rank, options)

    @classmethod
    def output(
        cls,
        spec: BlockSpec,
        dtype_or_type: _BlockType,
        buffer_count: int = 2,
        grid_rank: int | None = None,
        **options: object,
    ) -> "BufferedRef":
        """Describe the buffers of a block that is written; see ``create``."""
        return cls._created(
            spec, dtype_or_type, BufferType.OUTPUT, buffer_count, grid_rank, options
        )

    @classmethod
    def input_output(
        cls,
        spec: BlockSpec,
        dtype_or_type: _BlockType,
        buffer_count: int | tuple[int, int] = (2, 1),
        grid_rank: int | None = None,
        **options: object,
    ) -> "BufferedRef":
        """Describe the buffers of a block that is read and written; see ``create``."""
        return cls._created(
            spec, dtype_or_type, BufferType.INPUT_OUTPUT, buffer_count, grid_rank, options
        )

    @classmethod
    def _created(
        cls,
        spec: BlockSpec,
        dtype_or_type: _BlockType,
        buffer_type: BufferType,
        buffer_count: int | tuple[int, int],
        grid_rank: int | None,
        options: Mapping[str, object],
    ) -> "BufferedRef":
        # A subclass has a ``create`` of its own, perhaps without a rank.
        named = dict(options) if grid_rank is None else {**options, "grid_rank": grid_rank}
        return cls.create(spec, dtype_or_type, buffer_type, buffer_count, **named)  # pyright: ignore

    @property
    def is_buffered(self) -> bool:
        """Whether there is more than one slot."""
        return self.buffer_count > 1

    @property
    def buffer_count(self) -> int:
        """The number of slots."""
        return max(*self.counts, 1)

    @property
    def in_buffer_count(self) -> int:
        """The number of slots for copies in."""
        return self.counts[0]

    @property
    def out_buffer_count(self) -> int:
        """The number of slots for copies out."""
        return self.counts[1]

    @property
    def current_copy_in_slot(self) -> ir.Array:
        """The slot that the next block is copied to."""
        return self._slot("copy_in_slot")

    @property
    def current_wait_in_slot(self) -> ir.Array:
        """The slot whose copy is waited for next."""
        return self._slot("wait_in_slot")

    @property
    def current_copy_out_slot(self) -> ir.Array:
        """The slot that the next block is copied from."""
        return self._slot("copy_out_slot")

    @property
    def current_wait_out_slot(self) -> ir.Array:
        """The slot whose copy out is waited for next."""
        return self._slot("wait_out_slot")

    @property
    def current_ref(self) -> Reference:
        """The block that is computed with now."""
        # A block that is read is in the slot whose copy was waited for. One that is only written is
        # in the slot that will be copied out.
        slot = self.current_wait_in_slot if self.is_input else self.current_copy_out_slot
        return self.window_ref.at[slot]

    def initialize_slots(self) -> "BufferedRef":
        """A copy that begins with the first slots."""
        zero = jnp.uint32(0)
        used = _SLOTS[:2] * self.is_input + _SLOTS[2:] * self.is_output
        return replace(self, **dict.fromkeys(used, zero))

    def advance_copy_in_slot(self, predicate: bool | ir.Array = True) -> "BufferedRef":
        """A copy whose next block is copied to the next slot, if the predicate holds."""
        return self._advanced("copy_in_slot", predicate)

    def advance_wait_in_slot(self, predicate: bool | ir.Array = True) -> "BufferedRef":
        """A copy that waits for the next slot, if the predicate holds."""
        return self._advanced("wait_in_slot", predicate)

    def advance_copy_out_slot(self, predicate: bool | ir.Array = True) -> "BufferedRef":
        """A copy whose next block is copied from the next slot, if the predicate holds."""
        return self._advanced("copy_out_slot", predicate)

    def advance_wait_out_slot(self, predicate: bool | ir.Array = True) -> "BufferedRef":
        """A copy that waits for the copy out of the next slot, if the predicate holds."""
        return self._advanced("wait_out_slot", predicate)

    def with_slot_index(
        self,
        copy_in_slot: ir.ArrayLike | None = None,
        copy_out_slot: ir.ArrayLike | None = None,
        wait_in_slot: ir.ArrayLike | None = None,
        wait_out_slot: ir.ArrayLike | None = None,
    ) -> "BufferedRef":
        """A copy with some of the slots replaced, such as those that a loop carries."""
        slots = {
            "copy_in_slot": copy_in_slot,
            "copy_out_slot": copy_out_slot,
            "wait_in_slot": wait_in_slot,
            "wait_out_slot": wait_out_slot,
        }
        return replace(self, **{name: x for name, x in slots.items() if x is not None})

    def with_spec(self, spec: BlockSpec) -> "BufferedRef":
        """A copy with another block."""
        return replace(self, spec=spec)

    def compute_slice(self, grid_indices: Sequence[Any]) -> tuple[Any, ...]:
        """The part of the array that is the block at a position in the grid."""
        index: Any = self.compute_index(*grid_indices)
        places = index if isinstance(index, list | tuple) else (index,)
        # A squeezed dimension is indexed by a number, which removes it from the part.
        return tuple(
            [
                _part(dim, place)
                for place, dim in zip(places, self.spec.block_shape or (), strict=True)
            ]
        )

    def copy_in(self, src_ref: Reference, grid_indices: Sequence[Any]) -> None:
        """Start to copy the block at a position in the grid to the current slot."""
        self._copy(src_ref, grid_indices, "copy_in_slot", is_in=True).start()

    def wait_in(self, src_ref: Reference, grid_indices: Sequence[Any]) -> None:
        """Wait for the copy to the current slot."""
        self._copy(src_ref, grid_indices, "wait_in_slot", is_in=True).wait()

    def copy_out(self, dst_ref: Reference, grid_indices: Sequence[Any]) -> None:
        """Start to copy the current slot to the block at a position in the grid."""
        self._copy(dst_ref, grid_indices, "copy_out_slot", is_in=False).start()

    def wait_out(self, dst_ref: Reference, grid_indices: Sequence[Any]) -> None:
        """Wait for the copy from the current slot."""
        self._copy(dst_ref, grid_indices, "wait_out_slot", is_in=False).wait()

    def _copy(
        self, ref: Reference, grid_indices: Sequence[Any], kind: str, is_in: bool
    ) -> AsyncCopyDescriptor:
        for dim, length in zip(self.spec.block_shape or (), ref.shape, strict=True):
            if isinstance(dim, BoundedSlice):
                raise NotImplementedError(
                    f"BufferedRef: copies of blocks of {self.spec.block_shape} have a size that "
                    "the grid determines. Let emit_pipeline copy them, or use make_async_copy."
                )
            if length % _size(dim):
                raise NotImplementedError(
                    f"BufferedRef: blocks of {self.spec.block_shape} do not divide an array of "
                    f"shape {tuple(ref.shape)}. Pad the array, or copy the last block by "
                    "make_async_copy."
                )
        slot = self._slot(kind)
        block, window = ref.at[self.compute_slice(grid_indices)], self.window_ref.at[slot]
        if is_in:
            return make_async_copy(block, window, self.sem_recvs.at[slot])
        return make_async_copy(window, block, self.sem_sends.at[slot])

    def _slot(self, kind: str) -> ir.Array:
        value = getattr(self, kind)
        if value is None:
            raise ValueError(
                f"BufferedRef: {kind} is not set. Call initialize_slots() inside of run_scoped "
                "first; only inputs are copied in, and outputs out."
            )
        # Counters only grow, and a slot is a remainder: to advance under a predicate is to add it,
        # as 0 or 1. The counts are those of copies in and of copies out.
        return jnp.asarray(value, np.uint32) % np.uint32(self.counts["out" in kind])

    def _advanced(self, kind: str, predicate: bool | ir.Array) -> "BufferedRef":
        value = getattr(self, kind)
        if value is None:
            return self
        return replace(self, **{kind: value + jnp.asarray(predicate).astype(np.uint32)})


def _is_squeezed(dim: BlockDim | int | None) -> bool:
    return dim is None or isinstance(dim, Squeezed)


def _part[T: (int, ir.Array)](dim: BlockDim | int | None, place: T) -> T | Window:
    """The part of a dimension that is a block, at an index of the block."""
    if _is_squeezed(dim) or isinstance(dim, BoundedSlice):
        return place
    return Window(place * _size(dim), _size(dim))  # pyright: ignore


def _size(dim: BlockDim | int | None) -> int:
    if _is_squeezed(dim):
        return 1
    if isinstance(dim, Blocked | BoundedSlice):
        return dim.block_size
    if isinstance(dim, int):
        return dim
    raise NotImplementedError(
        f"BufferedRef: a dimension {dim!r} of a block is not supported. Write an int or None."
    )


def _flatten(ref: BufferedRef) -> tuple[list[Any], Any]:
    static = (ref.spec, ref.buffer_type, ref.counts, ref.grid_rank)
    return [getattr(ref, name) for name in _LEAVES], static


def _unflatten(
    static: tuple[BlockSpec, BufferType, tuple[int, int], int | None], leaves: Sequence[Any]
) -> BufferedRef:
    return BufferedRef(*static, **dict(zip(_LEAVES, leaves, strict=True)))


register_pytree_node(BufferedRef, _flatten, _unflatten)
