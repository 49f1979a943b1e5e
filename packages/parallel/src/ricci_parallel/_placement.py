"""Registers the function that gives arrays a place, with those who cannot import it.

``lax`` puts new arrays on a device by it, ``jit`` the arguments and results of calls inside of
other programs.
"""

from ricci_ir import Array
from ricci_lax.authoring import placement
from ricci_xla import NamedSharding, Sharding, inner_shardings

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
inner_shardings.register(constrain)
