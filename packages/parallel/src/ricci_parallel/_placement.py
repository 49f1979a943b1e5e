"""Registers the function that gives arrays a place, with those who cannot import it.

``lax`` puts new arrays on a device by it, ``jit`` the arguments and results of calls inside of
other programs.
"""

from typing import Any

from ricci_ir import Array
from ricci_lax.authoring import placement
from ricci_xla import (
    UNCONSTRAINED,
    NamedSharding,
    PartitionSpec,
    Sharding,
    inner_shardings,
    sharding_in_program,
)

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


def _within(x: Array, sharding: Sharding) -> Array:
    """A value in a program, of a function there that was jitted with a sharding.

    How it lies over ``Explicit`` axes, its type says already.
    """
    if not isinstance(sharding, NamedSharding) or not is_typed(sharding):
        return constrain(x, sharding)
    auto = frozenset(sharding.mesh.abstract_mesh.auto_axes)
    parts = [_among(part, auto) for part in sharding.spec.partitions]
    if not any(part is UNCONSTRAINED or part for part in parts):
        return x
    return constrain(x, sharding.update(spec=PartitionSpec(*parts)))


def _among(part: object, axes: frozenset[Any]) -> Any:
    """An entry of a spec with some of its axes alone."""
    if isinstance(part, tuple):
        return tuple(name for name in part if name in axes) or None
    return part if part is UNCONSTRAINED or part in axes else None


placement.register(_place, as_out_sharding)
inner_shardings.register(_within)
