"""Records of types: shapes, dtypes and the types' shardings."""

from collections.abc import Callable, Hashable
from typing import Any

import msgspec

import ricci_ir as ir
from ricci_xla.meshes import AbstractMesh, AxisType

from ._container import FileError
from ._plain import PlainRecord, decode_plain, encode_plain

__all__ = ["decode_axes", "decode_type", "encode_axes", "encode_type", "MeshAxesRecord"]
__all__ += ["TypeRecord"]


class MeshAxesRecord(msgspec.Struct, frozen=True):
    """The axes of a mesh: their names, sizes and types."""

    names: list[PlainRecord]
    sizes: list[int]
    types: list[str]


class TypeShardingRecord(msgspec.Struct, frozen=True):
    """A ``TypeSharding``."""

    mesh: MeshAxesRecord | None
    parts: list[list[PlainRecord]]
    varying: PlainRecord
    unreduced: PlainRecord
    reduced: PlainRecord


class TypeRecord(msgspec.Struct, frozen=True):
    """The type of a value. A token has no shape; a symbolic dimension is written as text."""

    shape: list[int | str] | None
    dtype: str = ""
    weak_type: bool = False
    sharding: TypeShardingRecord | None = None


def encode_axes(mesh: Any) -> MeshAxesRecord:
    """A record of a mesh's axes, with devices or without.

    Raises:
      TypeError: if an axis's name is not a plain value.
    """
    return MeshAxesRecord(
        [encode_plain(name) for name in mesh.axis_names],
        list(mesh.axis_sizes),
        [kind.name for kind in mesh.axis_types],
    )


def decode_axes(record: MeshAxesRecord) -> tuple[tuple[Hashable, ...], tuple[AxisType, ...]]:
    """The names and the types of a mesh's axes.

    Raises:
      FileError: if an axis type is unknown.
    """
    try:
        types = tuple(AxisType[name] for name in record.types)
    except KeyError as error:
        raise FileError(f"the record has a mesh axis of unknown type {error}") from error
    return tuple(map(decode_plain, record.names)), types


def encode_type(aval: ir.AbstractValue) -> TypeRecord:
    """A record of a type.

    Raises:
      TypeError: if the type is that of neither an array nor a token.
    """
    if isinstance(aval, ir.AbstractToken):
        return TypeRecord(None)
    if not isinstance(aval, ir.ShapedArray):
        raise TypeError(f"the type {aval} cannot be written to a file")
    # A symbolic dimension is its text, which is parsed again in the scope of the reading function.
    shape: list[int | str] = [n if isinstance(n, int) else str(n) for n in aval.shape]
    return TypeRecord(
        shape, aval.dtype.name, aval.weak_type, _encode_type_sharding(aval.type_sharding)
    )


def decode_type(
    record: TypeRecord, dimension: Callable[[str], Any] | None = None
) -> ir.AbstractValue:
    """The type of a record.

    Args:
      record: the record.
      dimension: parses a symbolic dimension; without it there may be none.

    Raises:
      FileError: if the record is invalid.
    """
    if record.shape is None:
        return ir.abstract_token
    shape: list[Any] = []
    for size in record.shape:
        if isinstance(size, str):
            if dimension is None:
                raise FileError(f"the record has the size {size!r} where a number is expected")
            shape.append(dimension(size))
        elif size < 0:
            raise FileError(f"the record has a dimension of size {size}")
        else:
            shape.append(size)
    try:
        dtype = ir.dtype_named(record.dtype)
        sharding = _decode_type_sharding(record.sharding)
        return ir.ShapedArray(shape, dtype, record.weak_type, sharding=sharding)
    except (TypeError, ValueError) as error:
        raise FileError(f"the record is not a valid type: {error}") from error


def _encode_type_sharding(sharding: ir.TypeSharding | None) -> TypeShardingRecord | None:
    if sharding is None:
        return None
    return TypeShardingRecord(
        None if sharding.mesh is None else encode_axes(sharding.mesh),
        [[encode_plain(name) for name in part] for part in sharding.parts],
        *(encode_plain(axes) for axes in sharding.manual),
    )


def _decode_type_sharding(record: TypeShardingRecord | None) -> ir.TypeSharding | None:
    if record is None:
        return None
    mesh = None
    if record.mesh is not None:
        names, types = decode_axes(record.mesh)
        mesh = AbstractMesh(tuple(record.mesh.sizes), names, types)
    parts = tuple(tuple(map(decode_plain, part)) for part in record.parts)
    axes = [decode_plain(r) for r in (record.varying, record.unreduced, record.reduced)]
    return ir.TypeSharding(mesh, parts, *axes)
