"""``vmap`` over BCOO and BCSR arrays: an example of a batch has one batch dimension less."""

from collections.abc import Callable
from typing import Any

from ricci_batching import register_vmappable

from .bcoo import BCOO
from .bcsr import BCSR


def _example(cont: Callable[..., Any], index: Any, batch: BCOO | BCSR, axis: int | None) -> Any:
    """One example of a batch of sparse arrays.

    Raises:
      ValueError: if the mapped axis is no batch dimension.
    """
    if axis is None:
        return batch
    name = type(batch).__name__
    if not isinstance(axis, int) or not 0 <= axis < batch.n_batch:
        raise ValueError(
            f"vmap: cannot map over axis {axis!r} of a {name} array with {batch.n_batch} batch "
            "dimensions: the mapped axis must be one of these. See update_layout."
        )
    parts, known = batch.tree_flatten()
    shape = batch.shape[:axis] + batch.shape[axis + 1 :]
    # A part of size 1 belongs to every example.
    found = [
        part.squeeze(axis) if part.shape[axis] == 1 != batch.shape[axis] else cont(part, axis)
        for part in parts
    ]
    return type(batch).tree_unflatten(known | {"shape": shape}, found)


def _batch(cont: Callable[..., Any], axis_size: Any, element: BCOO | BCSR, axis: int | None) -> Any:
    """The batch of a sparse array that a mapped function has returned.

    Raises:
      ValueError: if the new axis would stand among others than batch dimensions.
    """
    if axis is None:
        return element
    name = type(element).__name__
    if not isinstance(axis, int) or not 0 <= axis <= element.n_batch:
        raise ValueError(
            f"vmap: cannot put the mapped axis at {axis!r} of a {name} array with "
            f"{element.n_batch} batch dimensions: it must stand among these."
        )
    parts, known = element.tree_flatten()
    shape = (*element.shape[:axis], axis_size, *element.shape[axis:])
    found = [cont(axis_size, part, axis) for part in parts]
    return type(element).tree_unflatten(known | {"shape": shape}, found)


for _class in (BCOO, BCSR):
    register_vmappable(_class, int, int, _example, _batch, None)
