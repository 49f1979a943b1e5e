"""``vmap`` over BCOO and BCSR arrays: the mapped axis is one of their batch dimensions."""

from collections.abc import Callable
from typing import Any

from ricci_batching import register_vmappable

from .bcoo import BCOO
from .bcsr import BCSR


def _example(cont: Callable[..., Any], index: Any, batch: BCOO | BCSR, axis: int | None) -> Any:
    """Take one example of a batch of sparse arrays.

    Raises:
      ValueError: if the mapped axis is not a batch dimension.
    """
    if axis is None:
        return batch
    name = type(batch).__name__
    if not isinstance(axis, int) or not 0 <= axis < batch.n_batch:
        raise ValueError(
            f"vmap: cannot map over axis {axis!r} of a {name} array with {batch.n_batch} batch "
            "dimensions: the mapped axis must be one of these. See update_layout."
        )
    parts, aux = batch.tree_flatten()
    shape = batch.shape[:axis] + batch.shape[axis + 1 :]
    # A part of size 1 belongs to every example.
    examples = [
        part.squeeze(axis) if part.shape[axis] == 1 != batch.shape[axis] else cont(part, axis)
        for part in parts
    ]
    return type(batch).tree_unflatten(aux | {"shape": shape}, examples)


def _batch(cont: Callable[..., Any], axis_size: Any, element: BCOO | BCSR, axis: int | None) -> Any:
    """Batch a sparse array that a mapped function has returned.

    Raises:
      ValueError: if the new axis would not be a batch dimension.
    """
    if axis is None:
        return element
    name = type(element).__name__
    if not isinstance(axis, int) or not 0 <= axis <= element.n_batch:
        raise ValueError(
            f"vmap: cannot put the mapped axis at {axis!r} of a {name} array with "
            f"{element.n_batch} batch dimensions: it must stand among these."
        )
    parts, aux = element.tree_flatten()
    shape = (*element.shape[:axis], axis_size, *element.shape[axis:])
    batched = [cont(axis_size, part, axis) for part in parts]
    return type(element).tree_unflatten(aux | {"shape": shape}, batched)


for _class in (BCOO, BCSR):
    register_vmappable(_class, int, int, _example, _batch, None)
