"""Declared memory spaces of arrays, which ``pl.kernel`` reads, and those of references."""

import weakref
from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import HOST, MemorySpace, TPUMemorySpace
from ricci_lax.refs import TransformedRef

from ._accesses import Reference
from ._staged_operations import apply_staged, staged_operation

__all__: list[str] = []

type Space = MemorySpace | TPUMemorySpace

with_memory_space_constraint_p: ir.Primitive = staged_operation("with_memory_space_constraint")

_supported = (TPUMemorySpace.HBM, TPUMemorySpace.VMEM, TPUMemorySpace.SMEM, HOST)

# By the identity of an array or a tracer. Types of arrays have no memory space, so that those of
# programs without kernels cost nothing.
_declared: dict[int, tuple["weakref.ref[object]", Space]] = {}


def with_memory_space_constraint(x: ir.ArrayLike, memory_space: Space) -> ir.Array:
    """Declare in which memory ``pl.kernel`` gets an array.

    The reference to it is of that memory space instead of ``pl.ANY``: scalars in ``SMEM`` are read
    by the kernel without a copy. ``pallas_call`` has the memory space of a ``BlockSpec``.

    Args:
      x: the array.
      memory_space: ``pltpu.SMEM``, ``VMEM`` or ``HBM``, or ``pl.HOST``; ``pl.ANY`` declares none.

    Returns:
      An equal array. Results of operations on it have no declared memory space.

    Raises:
      NotImplementedError: for another memory space.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> @pl.kernel(
      ...     out_type=ricci.ShapeDtypeStruct((2,), np.float32),
      ...     mesh=pltpu.TensorCoreMesh(axis_name="core"),
      ...     interpret=True,
      ... )
      ... def scale(factor, x, out):
      ...     out[...] = x[...] * factor[0]
      >>> factor = pltpu.with_memory_space_constraint(np.float32([3]), pltpu.SMEM)
      >>> scale(factor, np.float32([1, 2]))
      Array([3., 6.], dtype=float32)
    """
    if memory_space is MemorySpace.ANY:
        return jnp.asarray(x)
    if memory_space not in _supported:
        raise NotImplementedError(
            "with_memory_space_constraint only supports HBM, VMEM, SMEM, and HOST. It is called "
            f"with {memory_space!r}."
        )
    result = apply_staged(
        with_memory_space_constraint_p, lambda x: x, jnp.asarray(x), memory_space=memory_space
    )
    key = id(result)
    forget = lambda _: _declared.pop(key, None)
    _declared[key] = weakref.ref(result, forget), memory_space
    return result


def declared_spaces(arrays: Sequence[object], default: Space) -> list[Space]:
    """The declared memory space of each array, or a default."""
    return [_declared[id(x)][1] if id(x) in _declared else default for x in arrays]


def has_memory_space(ref: Reference, memory_space: Space) -> ir.Array:
    """Whether an array that a kernel gets in ``pl.ANY`` lies in a memory space.

    The compiler places such arrays. Interpreted, they lie in the main memory, ``pltpu.HBM``.

    Args:
      ref: a reference in ``pl.ANY``, or a view of one.
      memory_space: the memory space.

    Returns:
      A boolean scalar.

    Raises:
      ValueError: if the reference is in another memory space.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def kernel(x, out):
      ...     out[0] = pltpu.has_memory_space(x, pltpu.HBM)
      >>> pl.pallas_call(
      ...     kernel,
      ...     ricci.ShapeDtypeStruct((1,), np.bool_),
      ...     in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
      ...     interpret=True,
      ... )(np.float32([1, 2]))
      Array([ True], dtype=bool)
    """
    whole = ref.ref if isinstance(ref, TransformedRef) else ref
    space = whole.aval.memory_space
    if space is not MemorySpace.ANY:
        raise ValueError(f"Ref must have pl.ANY memory space, but got {space}.")
    return has_memory_space_p.bind(whole, memory_space=memory_space)


def _has_space_discharge(ref: ir.Ref, *, memory_space: Space) -> ir.Array:
    return jnp.asarray(memory_space is TPUMemorySpace.HBM)


_inside = ir.unsupported("references exist in kernels only; discharge the jaxpr first")

has_memory_space_p: ir.Primitive = ir.define(
    "has_memory_space",
    abstract_eval=lambda *_, **params: ir.ShapedArray((), np.dtype(bool)),
    effects=lambda params: frozenset({ir.read_effect}),
    discharge=_has_space_discharge,
    sharding=ir.by_program,
    jvp=_inside,
    transpose=_inside,
    batch=_inside,
    lower=_inside,
)
