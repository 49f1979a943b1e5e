"""``device_put_sharded`` and ``device_put_replicated``: one part of an array on each device.

The parts are stacked along a new leading axis, which is sharded over the devices.
"""

from collections.abc import Callable, Sequence

import numpy as np

import ricci_xla as xla
from ricci_ir import Array, ArrayLike, PyTree, get_aval
from ricci_lax import expand_dims
from ricci_pytree import keystr, tree_flatten, tree_flatten_with_path, tree_map, tree_unflatten

__all__ = ["device_put_replicated", "device_put_sharded"]


def device_put_sharded(shards: Sequence[PyTree], devices: Sequence[xla.Device]) -> PyTree:
    """Put each of several pytrees on its own device, and stack them.

    Args:
      shards: one pytree of arrays and scalars for each device. All have the same structure, and
        leaves of the same shapes and dtypes.
      devices: the devices.

    Returns:
      A pytree of that structure. Its arrays have a new leading axis, sharded over the devices.

    Raises:
      TypeError: if ``shards`` is not a sequence.
      ValueError: if there are not as many shards as devices, or they differ in structure, shapes
        or dtypes.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> devices = ricci.local_devices()
      >>> shards = [np.full(2, i) for i, _ in enumerate(devices)]
      >>> ricci.device_put_sharded(shards, devices).shape == (len(devices), 2)
      True
    """
    if not isinstance(shards, Sequence):
        raise TypeError(
            "device_put_sharded: shards must be a sequence with one entry for each device, got "
            f"{type(shards).__name__}."
        )
    if len(shards) != len(devices) or not shards:
        raise ValueError(
            f"device_put_sharded: {len(shards)} shards were given for {len(devices)} devices. "
            "Give one for each device."
        )
    trees = [tree_flatten(shard) for shard in shards]
    for i, (_, tree) in enumerate(trees):
        if tree != trees[0][1]:
            raise ValueError(
                "device_put_sharded: all shards must have the same tree structure, but that of "
                f"shard 0 is {trees[0][1]} and that of shard {i} is {tree}."
            )
    parts = list(zip(*(leaves for leaves, _ in trees), strict=True))
    for k, leaves in enumerate(parts):
        _check_same_types(leaves, lambda k=k: keystr(tree_flatten_with_path(shards[0])[0][k][0]))
    return tree_unflatten(trees[0][1], [_stacked(leaves, devices) for leaves in parts])


def device_put_replicated(x: PyTree, devices: Sequence[xla.Device]) -> PyTree:
    """Put a copy of a pytree on each of several devices, and stack the copies.

    Args:
      x: a pytree of arrays and scalars.
      devices: the devices.

    Returns:
      The pytree. Its arrays have a new leading axis, sharded over the devices.

    Raises:
      ValueError: if there are no devices.

    Example:
      >>> import ricci
      >>> devices = ricci.local_devices()
      >>> ricci.device_put_replicated({"a": 2.0}, devices)["a"].shape == (len(devices),)
      True
    """
    if not isinstance(devices, Sequence) or not devices:
        raise ValueError(
            f"device_put_replicated: give a sequence of at least one device, got {devices!r}."
        )
    return tree_map(lambda leaf: _stacked([leaf] * len(devices), devices), x)


def _check_same_types(leaves: Sequence[ArrayLike], path: Callable[[], str]) -> None:
    """Raise ``ValueError`` unless all leaves have the same shape and dtype."""
    first = get_aval(leaves[0])
    for i, leaf in enumerate(leaves):
        aval = get_aval(leaf)
        if (aval.shape, aval.dtype) != (first.shape, first.dtype):
            raise ValueError(
                "device_put_sharded: all shards must have leaves of the same types, but the leaf"
                f"{path()} is {first.str_short()} in shard 0 and {aval.str_short()} in shard {i}."
            )


def _stacked(parts: Sequence[ArrayLike], devices: Sequence[xla.Device]) -> Array:
    """Return an array whose parts are each on one device."""
    shape = (len(parts), *np.shape(parts[0]))
    sharding = xla.NamedSharding(xla.Mesh(np.array(devices), ("devices",)), xla.P("devices"))
    placed = [
        expand_dims(xla.device_put(part, device), (0,))
        for part, device in zip(parts, devices, strict=True)
    ]
    return xla.make_array_from_single_device_arrays(shape, sharding, placed)
