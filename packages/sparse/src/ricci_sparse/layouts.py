"""Static properties, errors and mapping over batches, shared by BCOO and BCSR arrays."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci_batching import vmap
from ricci_ir import Array

__all__ = ["CuSparseEfficiencyWarning", "Shape", "SparseEfficiencyError", "SparseEfficiencyWarning"]
__all__ += ["SparseInfo", "broadcasting_vmap", "nfold_vmap"]

type Shape = tuple[int, ...]


class SparseEfficiencyError(ValueError):
    """An operation would store far more elements than its operand does."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores far more elements than its operand does."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation could use a kernel for GPUs if its operand had another layout."""


class SparseInfo(NamedTuple):
    """The static properties of a sparse array.

    Attributes:
      shape: the shape of the array that it represents.
      indices_sorted: whether the indices of each batch are in lexicographic order.
      unique_indices: whether no index of a batch occurs twice.
    """

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def broadcasting_vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0
) -> Callable[..., Any]:
    """``vmap`` that broadcasts arguments of size 1 along their mapped axis.

    Args:
      fun: a function of arrays.
      in_axes: the mapped axis of each argument, or one for all; ``None`` for an unmapped argument.
      out_axes: the mapped axis of the results.

    Returns:
      The mapped function.

    Raises:
      ValueError: when it is called, if the sizes are neither 1 nor the same.

    Example:
      >>> from ricci.experimental.sparse import util
      >>> import numpy as np
      >>> from ricci_lax import add
      >>> util.broadcasting_vmap(add)(np.ones((1, 2)), np.ones((3, 2))).shape
      (3, 2)
    """

    def mapped(*args: Any) -> Any:
        axes = tuple(in_axes) if isinstance(in_axes, list | tuple) else (in_axes,) * len(args)
        sizes = {x.shape[a] for x, a in zip(args, axes, strict=True) if a is not None}
        several = sorted(sizes - {1})
        if len(several) > 1:
            raise ValueError(f"broadcasting_vmap: the mapped axes have sizes {several}.")
        if several:
            operands, operand_axes = [], []
            for x, a in zip(args, axes, strict=True):
                one = a is not None and x.shape[a] == 1
                operands.append(x.squeeze(a) if one else x)
                operand_axes.append(None if one else a)
            args, axes = tuple(operands), tuple(operand_axes)
        return vmap(fun, in_axes=axes, out_axes=out_axes)(*args)

    return mapped


def nfold_vmap(
    fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: Any = 0
) -> Callable[..., Any]:
    """Map a function over ``N`` leading axes.

    Args:
      fun: a function of arrays.
      N: the number of axes.
      broadcasted: whether arguments of size 1 along an axis are broadcast.
      in_axes: ``None`` for arguments that are not mapped; or one entry for all.

    Returns:
      The mapped function.
    """
    transform = broadcasting_vmap if broadcasted else vmap
    for _ in range(N):
        fun = transform(fun, in_axes=in_axes)
    return fun


def over_batches(
    fun: Callable[..., Any], n_batch: int, *args: Array, in_axes: Sequence[int | None] | int = 0
) -> Any:
    """Apply ``fun(*args)`` to each batch; see ``nfold_vmap``."""
    return nfold_vmap(fun, n_batch, in_axes=in_axes)(*args)
