"""Shardings as the bytes of XLA's protocol buffer, for storing and sending them."""

from ._sharding_types import HloSharding, OpSharding

__all__ = [
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]


def get_op_sharding_from_serialized_proto(sharding: bytes) -> OpSharding:
    """Read the protocol buffer of a sharding.

    Args:
      sharding: the bytes.

    Returns:
      The message.

    Raises:
      TypeError: if ``sharding`` is not ``bytes``.

    Example:
      >>> import ricci
      >>> from ricci.extend.sharding import get_op_sharding_from_serialized_proto
      >>> mesh = ricci.make_mesh((1,), ("i",), devices=ricci.devices()[:1])
      >>> form = ricci.NamedSharding(mesh, ricci.P("i"))._to_xla_hlo_sharding(1).to_proto()
      >>> get_op_sharding_from_serialized_proto(form.SerializeToString()).type == form.type
      True
    """
    message = OpSharding()
    message.ParseFromString(sharding)
    return message


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """Read XLA's form of a sharding.

    Args:
      sharding: the bytes.

    Returns:
      The sharding.

    Raises:
      TypeError: if ``sharding`` is not ``bytes``.

    Example:
      >>> import ricci
      >>> from ricci.extend.sharding import get_hlo_sharding_from_serialized_proto
      >>> from ricci.extend.sharding import get_serialized_proto_from_hlo_sharding
      >>> mesh = ricci.make_mesh((1,), ("i",), devices=ricci.devices()[:1])
      >>> sharding = ricci.NamedSharding(mesh, ricci.P("i"))
      >>> data = get_serialized_proto_from_hlo_sharding(sharding._to_xla_hlo_sharding(1))
      >>> get_hlo_sharding_from_serialized_proto(data)
      {replicated}
    """
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """Write XLA's form of a sharding.

    Args:
      sharding: the sharding.

    Returns:
      The bytes.

    Example:
      >>> import ricci
      >>> from ricci.extend.sharding import get_serialized_proto_from_hlo_sharding
      >>> mesh = ricci.make_mesh((1,), ("i",), devices=ricci.devices()[:1])
      >>> sharding = ricci.NamedSharding(mesh, ricci.P("i"))._to_xla_hlo_sharding(1)
      >>> type(get_serialized_proto_from_hlo_sharding(sharding))
      <class 'bytes'>
    """
    return sharding.to_proto().SerializeToString()
