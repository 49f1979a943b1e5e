"""Exchange of small values between processes, and checks that all have the same.

They go through the key-value store of jaxlib's coordination service: the first of the processes
that take part collects the value of each, and stores all of them for the others to read.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_xla as xla
from ricci_ir import PyTree, ShapedArray, canonicalize_dtype, get_aval, is_extended
from ricci_parallel._cluster import cluster
from ricci_pytree import keystr, tree_flatten_with_path
from ricci_xla import JaxRuntimeError

__all__ = ["assert_equal", "sync_global_devices"]

# The wait of one request, in milliseconds. In between, the watch can interrupt this thread.
_POLL_MS = 500


def wait_for[T](get: Callable[[str, int], T], key: str) -> T:
    """Wait for the value of a key, without a time limit: that is the watch's.

    Args:
      get: the client's blocking request, for text or for bytes.
      key: the key.
    """
    while True:
        try:
            return get(key, _POLL_MS)
        except JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise


_PREVIEW = 60  # characters of a value in an error

# The number of exchanges of each group of processes, which is the same in each of them.
_rounds: dict[tuple[int, ...], int] = {}


def collect(value: str, ranks: Sequence[int] | None = None) -> list[str]:
    """Exchange a value between some processes, and return the values of all.

    Args:
      value: this process's value.
      ranks: the processes that take part, all of which must call this; by default all.

    Returns:
      Their values, in the order of the ranks.

    Raises:
      RuntimeError: if there are several processes which ``initialize`` did not join.
    """
    rank = xla.process_index()
    group = tuple(range(xla.process_count()) if ranks is None else sorted(ranks))
    if group == (rank,):
        return [value]
    client = cluster.client
    if client is None:
        raise RuntimeError(
            f"there are {xla.process_count()} processes, but distributed.initialize was not "
            "called, so that they cannot exchange values. Call it at the start of the program."
        )
    # Every member of a group takes part in all of its exchanges, so the numbers agree without
    # communication.
    number = _rounds[group] = _rounds.get(group, 0) + 1
    folder = f"ricci/values/{','.join(map(str, group))}"
    first = group[0]
    with cluster.waiting():
        if rank != first:
            client.key_value_set(f"{folder}/{number}/{rank}", value)
            return json.loads(wait_for(client.blocking_key_value_get, f"{folder}/{number}/all"))
        values = [value]
        for other in group[1:]:
            key = f"{folder}/{number}/{other}"
            values.append(wait_for(client.blocking_key_value_get, key))
            client.key_value_delete(key)
        # All are in this round, so that they have read the values of the round before.
        client.key_value_delete(f"{folder}/{number - 1}/all")
        client.key_value_set(f"{folder}/{number}/all", json.dumps(values))
    return values


def by_value(ranks: Sequence[int], values: Sequence[str]) -> str:
    """Group ranks by value as text, such as ``rank 0 has 1; ranks 1, 2 have 2``."""
    groups: dict[str, list[int]] = {}
    for rank, value in zip(ranks, values, strict=True):
        groups.setdefault(value, []).append(rank)
    return "; ".join(
        f"rank{'s' if len(who) > 1 else ''} {', '.join(map(str, who))} "
        f"{'have' if len(who) > 1 else 'has'} {value}"
        for value, who in groups.items()
    )


def sync_global_devices(name: str) -> None:
    """Wait until every process has reached this call, and its devices have done their work.

    Args:
      name: the name of this synchronization point.

    Raises:
      AssertionError: if other processes are at a point of another name.

    Example:
      >>> from ricci.experimental.multihost_utils import sync_global_devices
      >>> sync_global_devices("the data is loaded")
    """
    if xla.process_count() == 1:
        return
    for array in xla.live_arrays():
        if not array.is_deleted() and not array.is_ready():
            array.block_until_ready()
    names = collect(name)
    if len(set(names)) > 1:
        at = by_value(range(len(names)), [f"reached {n!r}" for n in names])
        raise AssertionError(
            f"sync_global_devices({name!r}): the names differ between processes: "
            f"{at.replace(' has ', ' ').replace(' have ', ' ')}. Every process must come to the "
            "same points in the same order."
        )


def assert_equal(in_tree: PyTree, fail_message: str = "") -> None:
    """Raise an error in every process if the values differ between them.

    Arrays over several processes count as equal, if they have one type. The bits of numbers are
    compared, so that a NaN equals itself; zeros are equal whatever their sign.

    Args:
      in_tree: a pytree of arrays and scalars.
      fail_message: the beginning of the error.

    Raises:
      AssertionError: if a leaf, or the structure, is not the same. The error names the leaf and the
        ranks that differ.
      TypeError: if a leaf is not an array.

    Example:
      >>> from ricci.experimental.multihost_utils import assert_equal
      >>> assert_equal({"step": 3})
    """
    leaves, tree = tree_flatten_with_path(in_tree)
    if xla.process_count() > 1:
        names = [keystr(path) for path, _ in leaves]
        require_equal(
            fail_message or "assert_equal", names, [x for _, x in leaves], str(tree), None
        )


def require_equal(
    message: str,
    names: Sequence[str],
    leaves: Sequence[Any],
    structure: str,
    ranks: Sequence[int] | None,
) -> None:
    """Raise ``AssertionError`` unless some processes have the same leaves.

    Args:
      message: the beginning of the error.
      names: the name of each leaf.
      leaves: the leaves.
      structure: a text that must be equal as well.
      ranks: the processes that take part; by default all.
    """
    digests = [_digest(x) for x in leaves]
    whole = hashlib.blake2b("\n".join([structure, *names, *digests]).encode(), digest_size=16)
    if len(set(collect(whole.hexdigest(), ranks))) == 1:
        return
    group = range(xla.process_count()) if ranks is None else sorted(ranks)
    # The usual exchange is one digest. Only a difference needs the details, in further rounds; all
    # processes see it, so all of them take part.
    structures = [json.loads(text) for text in collect(json.dumps([structure, *names]), ranks)]
    if any(k != structures[0] for k in structures):
        text = by_value(group, [k[0][:300] for k in structures])
        raise AssertionError(f"{message}: the structure differs between processes: {text}")
    described = [f"{digest} {_preview(x)}" for digest, x in zip(digests, leaves, strict=True)]
    previews = [json.loads(text) for text in collect(json.dumps(described), ranks)]
    lines = [
        f"  {name or 'the value'}: "
        + by_value(group, [values[i].partition(" ")[2] for values in previews])
        for i, name in enumerate(names)
        if len({values[i] for values in previews}) > 1
    ]
    more = [f"  and {len(lines) - 8} more leaves"] if len(lines) > 8 else []
    raise AssertionError(
        "\n".join([f"{message}: the values differ between processes.", *lines[:8], *more])
    )


def host_value(x: object) -> np.ndarray:
    """Return a leaf as a NumPy array of the dtype that an array of it would have.

    Raises:
      TypeError: if it is not an array or number.
    """
    get_aval(x)
    value = np.asarray(x)
    return value.astype(canonicalize_dtype(value.dtype), copy=False)


def _digest(x: Any) -> str:
    physical = getattr(x, "physical", x)
    if hasattr(physical, "is_fully_addressable") and not xla.can_be_read(physical):
        return f"{type_text(x)} over several processes"
    value = host_value(physical)
    if np.issubdtype(value.dtype, np.inexact) or value.dtype.kind == "V":
        value = value + np.zeros((), value.dtype)  # -0.0 becomes 0.0
    data = np.ascontiguousarray(value)
    return type_text(x) + hashlib.blake2b(data.view(np.uint8).data, digest_size=16).hexdigest()


def type_text(x: object) -> str:
    """Return the dtype and shape of a leaf, such as ``float32[2]``."""
    aval: Any = get_aval(x)
    if not is_extended(aval.dtype):
        aval = ShapedArray(aval.shape, canonicalize_dtype(aval.dtype))
    return aval.str_short()


def _preview(x: object) -> str:
    text = " ".join(str(x).split())
    return f"{type_text(x)} {text if len(text) <= _PREVIEW else text[:_PREVIEW] + '…'}"


def _check_put(value: object, sharding: xla.Sharding) -> None:
    """Raise ``AssertionError`` if processes put different values on devices that they share."""
    ranks = sorted({device.process_index for device in sharding.device_set})
    message = (
        f"device_put to {sharding}: every process must pass the same values (or call "
        "make_array_from_process_local_data, where each has its own part)"
    )
    require_equal(message, [""], [value], "", ranks)


check_put: Callable[[Any, xla.Sharding], None] = _check_put
xla.check_equal_across_processes.provide(_check_put)
