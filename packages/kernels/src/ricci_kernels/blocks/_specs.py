"""The parts of a kernel call: blocks, index maps, grids, and their parameters."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ricci_ir as ir

__all__ = [
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "CompilerParams",
    "CostEstimate",
    "Element",
    "GridSpec",
    "Indirect",
    "RevisitMode",
    "Squeezed",
    "no_block_spec",
    "squeezed",
]


@dataclass(frozen=True)
class Blocked:
    """A dimension of a block, whose index counts blocks; the same as the int ``block_size``.

    Attributes:
      block_size: the number of elements.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.BlockSpec((pl.Blocked(8), 128), lambda i: (i, 0)).block_shape
      (Blocked(block_size=8), 128)
    """

    block_size: int


@dataclass(frozen=True)
class Squeezed:
    """A dimension of a block with one element, which the kernel's reference does not have.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.squeezed
      Squeezed()
    """


@dataclass(frozen=True)
class Element:
    """A dimension of a block, whose index counts elements.

    Attributes:
      block_size: the number of elements.
      padding: how many elements are added before and after the array's.

    Example:
      Windows of three elements around each:

      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def center(x, out):
      ...     out[0] = x[1] * 10
      >>> tenfold = pl.pallas_call(
      ...     center,
      ...     ricci.ShapeDtypeStruct((4,), np.float32),
      ...     grid=4,
      ...     in_specs=[pl.BlockSpec((pl.Element(3, padding=(1, 1)),), lambda i: (i,))],
      ...     out_specs=pl.BlockSpec((1,), lambda i: (i,)),
      ...     interpret=True,
      ... )
      >>> tenfold(np.float32([1, 2, 3, 4]))
      Array([10., 20., 30., 40.], dtype=float32)
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class BoundedSlice:
    """A dimension of a block whose index is a slice ``ds(start, size)``, for ``emit_pipeline``.

    Attributes:
      block_size: the largest size.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.BlockSpec((pl.BoundedSlice(8),), lambda i: (pl.ds(i * 8, i),)).block_shape
      (BoundedSlice(block_size=8),)
    """

    block_size: int


@dataclass(frozen=True)
class Indirect:
    """A dimension of a block whose index is an array of positions; not supported yet.

    Attributes:
      block_size: the number of elements.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.Indirect(8)
      Indirect(block_size=8)
    """

    block_size: int


type BlockDim = Blocked | Squeezed | Element | BoundedSlice | Indirect

squeezed: Squeezed = Squeezed()


class RevisitMode(enum.Enum):
    """When a block that is visited again is still in its buffer."""

    IMMEDIATE = "immediate"
    ANY = "any"


@dataclass(frozen=True)
class Buffered:
    """The number of buffers that a pipeline has for a block; of no effect when interpreted.

    Attributes:
      buffer_count: the number of buffers.
      use_lookahead: whether the pipeline looks for the next block that differs.
      revisit: see ``RevisitMode``.
      prefetched_count: the number of blocks that are there before the first step.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(2)).pipeline_mode
      Buffered(buffer_count=2, use_lookahead=False, revisit=None, prefetched_count=0)
    """

    buffer_count: int
    use_lookahead: bool = False
    revisit: RevisitMode | None = None
    prefetched_count: int = 0


@dataclass(frozen=True)
class BlockSpec:
    """The block of an array that each step of a kernel's grid reads or writes.

    Args:
      block_shape: for each dimension of the array its size in the block, or ``None`` (or
        ``squeezed``) for one element of a dimension that the kernel does not see, or an
        ``Element``. Without a shape, the block is the whole array.
      index_map: from the step's position in the grid to the block's, for each dimension in blocks
        (for an ``Element`` in elements). By default the first block.
      pipeline_mode: a ``Buffered``.
      memory_space: where the block is, such as ``pltpu.SMEM``.

    Example:
      Row ``i`` of a matrix, as a vector:

      >>> from ricci.experimental.pallas import BlockSpec
      >>> rows = BlockSpec((None, 128), lambda i: (i, 0))
      >>> rows.block_shape
      (None, 128)
    """

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    pipeline_mode: Buffered | None = None
    memory_space: Any = None

    def __post_init__(self) -> None:
        if self.index_map is not None and not callable(self.index_map):
            raise TypeError(
                f"BlockSpec: index_map is {self.index_map!r:.60}, which is not a function. The "
                "block's shape is the first argument, the index map the second."
            )
        if self.block_shape is not None:
            # Specs are parts of static parameters, which are hashed.
            object.__setattr__(self, "block_shape", tuple(self.block_shape))

    def replace(self, **changes: Any) -> "BlockSpec":
        """A copy with some of the attributes replaced."""
        names = ("block_shape", "index_map", "pipeline_mode", "memory_space")
        return BlockSpec(**{**{name: getattr(self, name) for name in names}, **changes})


class _NoBlockSpec:
    """The type of ``no_block_spec``, the default of an operand without a spec."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec: _NoBlockSpec = _NoBlockSpec()


class GridSpec:
    """A grid with the blocks of all operands; ``pallas_call`` takes them separately, too.

    Args:
      grid: the number of steps along each axis; an int for one axis. ``(name, size)`` names one.
      in_specs: a sequence of ``BlockSpec``, one for each input; by default whole arrays.
      out_specs: a ``BlockSpec``, or a pytree of them like ``out_shape``.
      scratch_shapes: the buffers that live through the whole grid.

    Example:
      >>> from ricci.experimental.pallas import GridSpec
      >>> GridSpec(grid=3).grid
      (3,)
    """

    grid: tuple[Any, ...]
    grid_names: tuple[Any, ...] | None
    in_specs: Any
    out_specs: Any
    scratch_shapes: Any
    num_scalar_prefetch: int = 0

    def __init__(
        self,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ):
        self.grid, self.grid_names = _grid_of(grid)
        self.in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        self.out_specs = tuple(out_specs) if isinstance(out_specs, list) else out_specs
        self.scratch_shapes = scratch_shapes
        if in_specs is not no_block_spec and not isinstance(in_specs, list | tuple):
            raise ValueError(f"`in_specs` must be a tuple or a list. Found: {in_specs!r:.200}")

    def __repr__(self) -> str:
        fields = ("grid", "grid_names", "in_specs", "out_specs", "scratch_shapes")
        text = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
        return f"{type(self).__name__}({text})"


class PrefetchScalarGridSpec(GridSpec):
    """A grid whose index maps read some of the kernel's operands.

    Args:
      num_scalar_prefetch: how many leading operands the index maps get as references, after the
        grid's indices. The kernel gets them whole.
      grid, in_specs, out_specs, scratch_shapes: see ``GridSpec``.

    Example:
      Block ``order[i]`` of an operand for step ``i``:

      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> spec = pltpu.PrefetchScalarGridSpec(
      ...     num_scalar_prefetch=1,
      ...     grid=(2,),
      ...     in_specs=[pl.BlockSpec((4,), lambda i, order: (order[i],))],
      ...     out_specs=pl.BlockSpec((4,), lambda i, order: (i,)),
      ... )
      >>> spec.num_scalar_prefetch
      1
    """

    def __init__(
        self,
        num_scalar_prefetch: int,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ):
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = num_scalar_prefetch


def _grid_of(grid: Any) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    """The sizes and the names of a grid's axes."""
    axes = grid if isinstance(grid, list | tuple) else (grid,)
    sizes, names = [], []
    # A sequence is the grid, a pair inside of it an axis with a name.
    for axis in axes:
        name, size = axis if isinstance(axis, list | tuple) else (None, axis)
        if not _is_size(size):
            raise ValueError(f"Grid must be a tuple of integers or jax.Array, got {grid!r:.200}")
        sizes.append(size if hasattr(type(size), "aval") else int(size))
        names.append(name)
    return tuple(sizes), tuple(names) if any(n is not None for n in names) else None


def _is_size(size: Any) -> bool:
    if hasattr(type(size), "aval"):
        return not size.shape and ir.issubdtype(size.dtype, np.integer)
    return hasattr(size, "__index__")


@dataclass(frozen=True)
class CostEstimate:
    """The cost of a kernel, for the compiler's schedule; of no effect when interpreted.

    Attributes:
      flops: the number of floating point operations.
      transcendentals: the number of transcendental functions.
      bytes_accessed: the bytes read and written.
      remote_bytes_transferred: the bytes sent to other devices.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> pl.CostEstimate(flops=100, transcendentals=0, bytes_accessed=64).flops
      100
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0


class CompilerParams:
    """The base of the compiler's parameters for a platform; of no effect when interpreted.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> isinstance(pltpu.CompilerParams(), pl.CompilerParams)
      True
    """


type Metadata = Mapping[str, str]
