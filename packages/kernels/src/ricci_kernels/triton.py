"""Names for kernels on NVIDIA GPUs: ``jax.experimental.pallas.triton``."""

from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from dataclasses import dataclass as _dataclass
from typing import Any as _Any

import ricci_lax as _lax
import ricci_numpy as _jnp
from ricci_ir import Array as _Array
from ricci_ir import ArrayLike as _ArrayLike
from ricci_ir import context as _context
from ricci_ir import export_names as _export_names

from ._absent import other_names as _other_names
from ._devices import is_gpu_device as is_gpu_device
from ._gpu_info import GpuInfo as GpuInfo
from ._gpu_info import GpuVersion as GpuVersion
from ._gpu_info import get_gpu_info as get_gpu_info
from ._gpu_info import get_gpu_info_from_version as get_gpu_info_from_version
from .blocks._specs import CompilerParams as _CompilerParams
from .primitives._accesses import Reference as _Reference
from .primitives._accesses import atomic_add as atomic_add
from .primitives._accesses import atomic_and as atomic_and
from .primitives._accesses import atomic_cas as atomic_cas
from .primitives._accesses import atomic_max as atomic_max
from .primitives._accesses import atomic_min as atomic_min
from .primitives._accesses import atomic_or as atomic_or
from .primitives._accesses import atomic_xchg as atomic_xchg
from .primitives._accesses import atomic_xor as atomic_xor
from .primitives._accesses import masked_load as _masked_load
from .primitives._accesses import masked_store as _masked_store
from .primitives._copies import debug_barrier_p as _debug_barrier_p
from .primitives._inline_assembly import elementwise_inline_asm as elementwise_inline_asm

CUSTOM_CALL_TARGET_NAME: str = "triton_kernel_call"


@_dataclass(frozen=True)
class CompilerParams(_CompilerParams):
    """Parameters of the compiler for GPUs; of no effect when interpreted.

    Args:
      num_warps: the number of warps of a program, a power of 2 up to 32; by default 4.
      num_stages: the number of stages of its pipelines, up to 16; by default 3.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> plgpu.CompilerParams(num_warps=4).num_warps
      4
    """

    num_warps: int | None = None
    num_stages: int | None = None


def load(
    ref: _Reference,
    *,
    mask: _ArrayLike | None = None,
    other: _ArrayLike | None = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> _Array:
    """Read a reference, or a view of one.

    Args:
      ref: the reference, or ``ref.at[index]``.
      mask: which elements are read; the others may be out of bounds.
      other: the value of those.
      cache_modifier, eviction_policy, volatile: for the compiler; of no effect when interpreted.

    Returns:
      An array of the reference's shape.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> ref = ricci.new_ref(np.float32([1, 2, 3]))
      >>> plgpu.load(ref, mask=np.array([True, True, False]), other=-1.0)
      Array([ 1.,  2., -1.], dtype=float32)
    """
    return _masked_load(
        ref,
        mask,
        other,
        cache_modifier=cache_modifier,
        eviction_policy=eviction_policy,
        volatile=volatile,
    )


def store(
    ref: _Reference,
    val: _ArrayLike,
    *,
    mask: _ArrayLike | None = None,
    eviction_policy: str | None = None,
) -> None:
    """Write to a reference, or to a view of one.

    Args:
      ref: the reference, or ``ref.at[index]``.
      val: an array of its shape and dtype.
      mask: which elements are written; the others may be out of bounds.
      eviction_policy: for the compiler; of no effect when interpreted.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> ref = ricci.new_ref(np.float32([1, 2]))
      >>> plgpu.store(ref, np.float32([7, 8]), mask=np.array([False, True]))
      >>> ref
      Ref([1., 8.], dtype=float32)
    """
    _masked_store(ref, val, mask, eviction_policy=eviction_policy)


def dot(
    a: _Array,
    b: _Array,
    trans_a: bool = False,
    trans_b: bool = False,
    allow_tf32: bool | None = None,
    precision: _Any = None,
) -> _Array:
    """The product of two matrices, in float32 for floats of fewer bits.

    Args:
      a, b: the matrices.
      trans_a, trans_b: whether each is transposed first.
      allow_tf32: whether a device may round float32 to fewer bits, in place of ``precision``.
      precision: see ``lax.dot_general``.

    Returns:
      A matrix.

    Raises:
      ValueError: if a rank is not 2, or both ``allow_tf32`` and ``precision`` are specified.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> plgpu.dot(np.float32([[1, 2]]), np.float32([[3, 4]]), trans_b=True)
      Array([[11.]], dtype=float32)
    """
    if allow_tf32 is not None:
        if precision is not None:
            raise ValueError("Only one of `allow_tf32` and `precision` can be specified.")
        precision = None if allow_tf32 else _lax.Precision.HIGHEST
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("`a` and `b` must be 2D arrays.")
    a, b = (x.T if flag else x for x, flag in ((a, trans_a), (b, trans_b)))
    kind = _jnp.int32 if _jnp.issubdtype(a.dtype, _jnp.integer) else _jnp.float32
    wide = None if a.dtype == _jnp.float64 else kind
    return _jnp.dot(a, b, precision=precision, preferred_element_type=wide)


def approx_tanh(x: _ArrayLike) -> _Array:
    """The hyperbolic tangent; a device may compute it with less precision.

    Args:
      x: an array of floats.

    Returns:
      An array of the same shape and dtype.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> float(plgpu.approx_tanh(0.0))
      0.0
    """
    return _lax.tanh(x)


def debug_barrier() -> None:
    """Wait for all threads of a program; of no effect when interpreted.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> plgpu.debug_barrier()
    """
    if _context.trace.records_references:
        _debug_barrier_p.bind()


def max_contiguous[T](x: T, values: _Sequence[int] | int) -> T:
    """Declare how many consecutive elements indices have, for the compiler.

    Args:
      x: the indices.
      values: the numbers; not checked.

    Returns:
      ``x``.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> plgpu.max_contiguous(16, 8)
      16
    """
    del values
    return x


__getattr__: _Callable[[str], _Any] = _other_names(
    __name__, {}, {"TritonCompilerParams": ("plgpu.CompilerParams", CompilerParams)}
)

_export_names(globals())
