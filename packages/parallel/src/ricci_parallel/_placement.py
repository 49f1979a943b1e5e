"""Registers with ``lax`` the function that puts new arrays on a device or gives them a sharding."""

from ricci_ir import Array
from ricci_lax.authoring import placement
from ricci_xla import NamedSharding, Sharding

from ._device_put import device_put
from ._sharding_constraint import constrain


def _place(x: Array, sharding: Sharding) -> Array:
    """An array on a device or with a sharding."""
    if isinstance(sharding, NamedSharding):
        if sharding.mesh.empty:
            return x
        return constrain(x, sharding)
    return device_put(x, sharding)


placement.register(_place)
