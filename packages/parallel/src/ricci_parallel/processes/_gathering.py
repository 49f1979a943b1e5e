"""Exchange of host values between all processes: gathering and broadcasting.

XLA's collectives carry the data, over one device of each process. The leaves of a pytree are sent
together, as bits, so that there is one executable for each size, whatever the dtypes.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import ricci_xla as xla
from ricci_ir import Array, PyTree, is_extended
from ricci_lax import reduce_sum
from ricci_parallel._device_put import device_put
from ricci_pytree import tree_flatten, tree_map

from ._agreement import by_value, collect, host_value, type_text

__all__ = ["broadcast_one_to_all", "process_allgather"]

_AXIS = "processes"


def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> PyTree:
    """Return the values of one process in every process, as NumPy arrays.

    Args:
      in_tree: a pytree of arrays and numbers, of the same types in every process.
      is_source: whether this process is the one; by default it is the first process.

    Returns:
      A pytree of NumPy arrays, the same in all processes.

    Raises:
      ValueError: if no process is the source, or several are, or their types differ.
      RuntimeError: if an array lies on devices of other processes.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.multihost_utils import broadcast_one_to_all
      >>> broadcast_one_to_all(np.float32(3))
      array(3., dtype=float32)
    """
    if xla.process_count() == 1:
        return tree_map(np.asarray, in_tree)
    if is_source is None:
        is_source = xla.process_index() == 0
    leaves, tree = tree_flatten(in_tree)
    words = list(map(_bits_of, leaves))
    _check_same_types("broadcast_one_to_all", leaves, is_source)
    if not leaves:
        return in_tree
    # All but the source send zeros, so that the sum of the rows is the source's row, to the bit.
    sent = _packed(words if is_source else list(map(np.zeros_like, words)))
    whole = np.asarray(_sum()(_by_process(sent)))
    return tree.unflatten([_like(x, b) for x, b in zip(leaves, _parted(whole, words), strict=True)])


def process_allgather(in_tree: PyTree, tiled: bool = False) -> PyTree:
    """Return the values of all processes in every process, as NumPy arrays.

    Args:
      in_tree: a pytree of arrays and numbers, of the same types in every process. An array over
        several processes is gathered unchanged, so that all have the whole.
      tiled: whether arrays are concatenated along their first axis instead of stacked along a new
        one. Scalars are always stacked. It must be true for arrays over several processes.

    Returns:
      A pytree of NumPy arrays, the same in all processes; stacked arrays have the number of
      processes as their first size.

    Raises:
      ValueError: if there is an array over several processes and ``tiled`` is false, or if types
        differ between processes.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.multihost_utils import process_allgather
      >>> process_allgather(np.ones(2)).shape
      (1, 2)
    """
    if xla.process_count() == 1:
        join = lambda x: np.asarray(x) if tiled and np.ndim(x) else np.asarray(x)[None]
        return tree_map(join, in_tree)
    leaves, tree = tree_flatten(in_tree)
    shared = [_is_shared(x) for x in leaves]
    if any(shared) and not tiled:
        raise ValueError(
            "process_allgather: an array over several processes is gathered whole, which has no "
            "axis of processes. Pass tiled=True."
        )
    words = [_bits_of(x) for x, is_shared in zip(leaves, shared, strict=True) if not is_shared]
    _check_same_types("process_allgather", leaves, False)
    # Values of this process become one row of a matrix; an array over several processes has all
    # values.
    rows: list[list[np.ndarray]] = []
    if words:
        gathered = np.asarray(device_put(_by_process(_packed(words)), _replicated(_one_of_each())))
        rows = [_parted(row, words) for row in gathered]
    results: list[Any] = []
    indices = iter(range(len(words)))
    for leaf, is_shared in zip(leaves, shared, strict=True):
        if is_shared:
            results.append(_whole(leaf))
            continue
        i = next(indices)
        # Tiled, the values are joined along their leading axis, which scalars do not have.
        join = np.concatenate if tiled and np.ndim(leaf) else np.stack
        results.append(_like(leaf, join([row[i] for row in rows])))
    return tree.unflatten(results)


def _check_same_types(user: str, leaves: Sequence[Any], is_source: bool) -> None:
    """Raise ``ValueError`` if the types of leaves differ between processes, or the source is not
    one process."""
    types = ", ".join(map(type_text, leaves)) or "no leaves"
    replies = [text.partition(" ") for text in collect(f"{int(is_source)} {types}")]
    all_types = [types for _, _, types in replies]
    if len(set(all_types)) > 1:
        text = by_value(range(len(all_types)), [types[:200] for types in all_types])
        raise ValueError(f"{user}: the types of the values differ between processes: {text}.")
    sources = [rank for rank, (flag, _, _) in enumerate(replies) if flag == "1"]
    if user == "broadcast_one_to_all" and len(sources) != 1:
        raise ValueError(
            f"{user}: is_source must be true in one process, and is in "
            f"{f'ranks {sources}' if sources else 'none'}."
        )


def _is_shared(x: object) -> bool:
    words = getattr(x, "physical", x)
    return not getattr(words, "is_fully_addressable", True)


def _whole(x: Any) -> Any:
    """Return an array over several processes with all of its values in this one."""
    words = getattr(x, "physical", x)
    if not xla.can_be_read(words):
        words = device_put(words, _replicated(words.sharding._device_assignment))
    return x.dtype.from_physical(words) if is_extended(x.dtype) else np.asarray(words)


def _bits_of(x: object) -> np.ndarray:
    """Return the values of a leaf, on the host; of random keys the words."""
    return host_value(getattr(x, "physical", x))


def _like(x: object, values: np.ndarray) -> Any:
    """Return values in the form of a leaf: as keys, or as a NumPy array."""
    dtype: Any = getattr(x, "dtype", None)
    return dtype.from_physical(device_put(values)) if is_extended(dtype) else values


def _packed(values: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate the bits of some arrays, in words of 32 bits."""
    data = b"".join(np.ascontiguousarray(x).tobytes() for x in values)
    # Filled up to whole words.
    return np.frombuffer(data + b"\0" * (-len(data) % 4), np.uint32)


def _parted(words: np.ndarray, like: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The inverse of ``_packed``, for arrays of known types."""
    data = words.tobytes()
    arrays, at = [], 0
    for x in like:
        part = np.frombuffer(data[at : at + x.nbytes], x.dtype).reshape(x.shape)
        arrays.append(part.copy())
        at += x.nbytes
    return arrays


def _one_of_each() -> tuple[xla.Device, ...]:
    """Return a device of each process, in the order of the processes."""
    first: dict[int, xla.Device] = {}
    for device in xla.devices():
        first.setdefault(device.process_index, device)
    return tuple(first[rank] for rank in sorted(first))


def _replicated(over: Sequence[xla.Device]) -> xla.NamedSharding:
    return xla.NamedSharding(xla.Mesh(np.array(over, dtype=object), (_AXIS,)), xla.PartitionSpec())


def _by_process(words: np.ndarray) -> Array:
    """Return an array with a row for each process, of which this one passes its own."""
    over = _one_of_each()
    mesh = xla.Mesh(np.array(over, dtype=object), (_AXIS,))
    mine = next(device for device in over if device.process_index == xla.process_index())
    row = device_put(words[None], mine)
    sharding = xla.NamedSharding(mesh, xla.PartitionSpec(_AXIS))
    return xla.make_array_from_single_device_arrays((len(over), words.size), sharding, [row])


@cache
def _sum() -> Callable[[Any], Any]:
    """Return a function that sums the rows, of which all but one are zero, in every process."""
    return xla.jit(lambda x: reduce_sum(x, (0,)), out_shardings=_replicated(_one_of_each()))
