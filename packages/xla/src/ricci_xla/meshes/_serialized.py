"""Shardings as the bytes of XLA's protocol buffer, as other programs store and send them."""

from ._sharding_types import HloSharding, OpSharding

__all__ = [
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]


def get_op_sharding_from_serialized_proto(sharding: bytes) -> OpSharding:
    """Read the protocol buffer of a sharding.

    Raises:
      TypeError: if ``sharding`` is not ``bytes``.
    """
    found = OpSharding()
    found.ParseFromString(sharding)
    return found


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """Read XLA's form of a sharding.

    Raises:
      TypeError: if ``sharding`` is not ``bytes``.

    Example:
      >>> from ricci_xla import NamedSharding, P, devices, make_mesh
      >>> there = NamedSharding(make_mesh((1,), ("i",), devices=devices()[:1]), P("i"))
      >>> sent = get_serialized_proto_from_hlo_sharding(there._to_xla_hlo_sharding(1))
      >>> get_hlo_sharding_from_serialized_proto(sent)
      {replicated}
    """
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """Write XLA's form of a sharding."""
    return sharding.to_proto().SerializeToString()
