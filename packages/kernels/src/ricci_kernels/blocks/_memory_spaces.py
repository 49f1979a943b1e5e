"""Memory spaces, and the types of the buffers that kernels allocate in them."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ricci_ir as ir

__all__ = ["ANY", "HOST", "MemoryRef", "MemorySpace", "semaphore"]


class _Space(enum.Enum):
    """A memory space; called with a shape and a dtype it is the type of a buffer."""

    def __str__(self) -> str:
        return self.value

    def __call__(self, shape: Sequence[int], dtype: ir.DTypeLike) -> "MemoryRef":
        """The type of a buffer in this space."""
        return MemoryRef(ir.ShapedArray(tuple(shape), ir.canonicalize_dtype(dtype)), self)


class MemorySpace(_Space):
    """The memory spaces that all devices have.

    Example:
      >>> from ricci.experimental.pallas import MemorySpace
      >>> MemorySpace.ANY
      <MemorySpace.ANY: 'any'>
    """

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"
    HOST = "host"


class TPUMemorySpace(_Space):
    """The memory spaces of a TPU: vector memory, scalar memory, its main memory and others.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas.tpu import VMEM
      >>> VMEM((8, 128), np.float32)
      MemoryRef(inner_aval=ShapedArray(float32[8,128]), memory_space=vmem)
    """

    VMEM = "vmem"
    VMEM_SHARED = "vmem_shared"
    SMEM = "smem"
    CMEM = "cmem"
    SEMAPHORE = "semaphore_mem"
    HBM = "hbm"


ANY: MemorySpace = MemorySpace.ANY
HOST: MemorySpace = MemorySpace.HOST


@dataclass(frozen=True, repr=False)
class MemoryRef:
    """The type of a buffer that a kernel allocates.

    Attributes:
      inner_aval: the type of the array in it.
      memory_space: where it is.
      kind: the kind of the semaphores in it, or ``None``.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.SMEM((2,), np.int32).shape
      (2,)
    """

    inner_aval: ir.ShapedArray
    memory_space: Any
    kind: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The buffer's shape."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The buffer's dtype."""
        return self.inner_aval.dtype

    def get_ref_aval(self) -> ir.AbstractRef:
        """The type of the reference to the buffer."""
        return ir.AbstractRef(self.inner_aval, self.memory_space, self.kind)

    def __repr__(self) -> str:
        return f"MemoryRef(inner_aval={self.inner_aval!r}, memory_space={self.memory_space})"


class SemaphoreType(enum.Enum):
    """The kinds of semaphores; called with a shape, the type of an array of semaphores.

    An interpreter counts them in an array of integers.
    """

    REGULAR = "regular"
    DMA = "dma"
    BARRIER = "barrier"

    @property
    def element_name(self) -> str:
        """The name that printed types of references have for one semaphore of this kind."""
        return {"regular": "semaphore", "dma": "dma_sem"}.get(self.value, "barrier_semaphore")

    def __call__(self, shape: Sequence[int]) -> MemoryRef:
        """The type of an array of semaphores."""
        aval = ir.ShapedArray(tuple(shape), np.dtype("int32"))
        return MemoryRef(aval, TPUMemorySpace.SEMAPHORE, self)


semaphore = SemaphoreType.REGULAR
dma_semaphore = SemaphoreType.DMA


def buffer_type(x: Any, what: str) -> MemoryRef:
    """The type of the buffer that an entry of ``scratch_shapes`` describes.

    Raises:
      TypeError: if it describes none.
    """
    if isinstance(x, MemoryRef):
        return x
    # A kind of semaphores in place of a buffer is one semaphore.
    if isinstance(x, SemaphoreType):
        return x(())
    if isinstance(x, ir.AbstractRef):
        return MemoryRef(x.inner_aval, x.memory_space, x.kind)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return MemoryRef(ir.ShapedArray(tuple(x.shape), ir.canonicalize_dtype(x.dtype)), None)
    raise TypeError(
        f"{what} is {x!r:.60} of type {type(x).__name__}; it must be a buffer, such as "
        "pltpu.VMEM((8, 128), jnp.float32), or a semaphore, such as pltpu.SemaphoreType.DMA."
    )
