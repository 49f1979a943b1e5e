"""Registers the function that gives arrays a place, with those who cannot import it.

``lax`` puts new arrays on a device by it, ``jit`` the arguments and results of calls inside of
other programs.
"""

from ricci_ir import Array
from ricci_lax.authoring import placement
from ricci_xla import NamedSharding, PartitionSpec, Sharding, inner_shardings, sharding_in_program

from ._device_put import device_put
from ._reshard import as_out_sharding, reshard
from ._sharding_constraint import constrain, is_typed


def _place(x: Array, sharding: Sharding | PartitionSpec) -> Array:
    """An array on a device or with a sharding."""
    if isinstance(sharding, PartitionSpec):
        sharding = sharding_in_program(sharding, "out_sharding")
    if isinstance(sharding, NamedSharding):
        if not sharding.mesh.axis_names:
            return x
        return reshard(x, sharding) if is_typed(sharding) else constrain(x, sharding)
    return device_put(x, sharding)


placement.register(_place, as_out_sharding)
inner_shardings.register(constrain)
