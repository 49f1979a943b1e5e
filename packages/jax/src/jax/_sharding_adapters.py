"""Shardings in the form of JAX's private functions."""

from ricci_xla import NamedSharding, PartitionSpec, Sharding, sharding_in_program


def canonicalize_sharding(
    sharding: Sharding | PartitionSpec | None, api_name: str, check_mesh_consistency: bool = True
) -> NamedSharding | None:
    """Return a sharding of a traced value, with an abstract mesh; ``None`` without a mesh.

    Args:
      sharding: a sharding on a mesh, or a spec for the mesh that is set.
      api_name: the function that takes it, for the error.
      check_mesh_consistency: accepted for compatibility; not used.

    Raises:
      RuntimeError: if it is a spec and no mesh is set.
      TypeError: if it is a sharding without a mesh.
    """
    if sharding is None:
        return None
    if isinstance(sharding, PartitionSpec):
        return sharding_in_program(sharding, api_name)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(
            f"{api_name}: {sharding} of type {type(sharding).__name__} is neither a NamedSharding "
            "nor a PartitionSpec"
        )
    if sharding.mesh.empty:
        return None
    return NamedSharding(sharding.mesh.abstract_mesh, sharding.spec)
