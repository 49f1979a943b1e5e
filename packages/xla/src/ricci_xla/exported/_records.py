"""The record of an exported function: what its file holds, and what other modules read of it."""

import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ricci_ir import SymbolicDimension, SymbolicScope, symbolic_shape
from ricci_pytree import PyTreeDef
from ricci_xla.files import (
    FileError,
    FileKind,
    MeshAxesRecord,
    NodeForm,
    NodeForms,
    SpecRecord,
    TreeRecord,
    TypeRecord,
    decode_axes,
    decode_spec,
    decode_tree,
    decode_type,
    encode_axes,
    encode_spec,
)
from ricci_xla.meshes._abstract_mesh import AbstractDevice, AbstractMesh
from ricci_xla.meshes._sharding_types import NamedSharding
from ricci_xla.meshes._type_forms import placed_aval

__all__ = [
    "AbstractShardingRecord",
    "decode_abstract_sharding",
    "encode_abstract_sharding",
    "export_file",
    "ExportedRecord",
    "named_tuple_form",
    "node_forms",
    "Signature",
    "signature_of",
]

# The classes of tree nodes that users have registered for exports.
node_forms: NodeForms = NodeForms()


class AbstractShardingRecord(msgspec.Struct, frozen=True):
    """A sharding over a mesh without devices."""

    axes: MeshAxesRecord
    spec: SpecRecord
    memory_kind: str | None = None
    device_kind: str | None = None
    num_cores: int | None = None
    platform: str | None = None


class ExportedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An exported function.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structures of ``(args, kwargs)`` and of the result.
      in_types, out_types: the type of each leaf.
      in_shardings, out_shardings: the sharding of each leaf; ``None`` where that is open.
      nr_devices: how many devices it runs on.
      platforms: the platforms it was lowered for.
      ordered_effects, unordered_effects: the names of its effects' classes.
      disabled_checks: the checks that were disabled.
      module: the program, as portable StableHLO.
      calling_convention: how the module's ``@main`` takes its arguments.
      kept: the positions of the arguments that the module takes.
      uses_global_constants: whether it takes the platform's index or sizes.
      constraints: what holds of symbolic sizes.
      vjp: the function's derivative, exported likewise.
    """

    fun_name: str
    in_tree: TreeRecord
    in_types: list[TypeRecord]
    out_tree: TreeRecord
    out_types: list[TypeRecord]
    in_shardings: list[AbstractShardingRecord | None]
    out_shardings: list[AbstractShardingRecord | None]
    nr_devices: int
    platforms: list[str]
    ordered_effects: list[str] = []
    unordered_effects: list[str] = []
    disabled_checks: list[str] = []
    module: bytes
    calling_convention: int
    kept: list[int]
    uses_global_constants: bool = False
    constraints: list[str] = []
    vjp: "ExportedRecord | None" = None


export_file: FileKind[ExportedRecord] = FileKind(
    "export", 1, ExportedRecord, "an exported function"
)


def encode_abstract_sharding(sharding: NamedSharding | None) -> AbstractShardingRecord | None:
    """A record of a sharding over a mesh without devices."""
    if sharding is None:
        return None
    device = getattr(sharding.mesh, "abstract_device", None)
    kind = (
        (None,) * 3 if device is None else (device.device_kind, device.num_cores, device.platform)
    )
    spec = encode_spec(sharding.spec)
    return AbstractShardingRecord(encode_axes(sharding.mesh), spec, sharding._memory_kind, *kind)


def decode_abstract_sharding(record: AbstractShardingRecord | None) -> NamedSharding | None:
    """The sharding that a record describes.

    Raises:
      FileError: if there is no such sharding.
    """
    if record is None:
        return None
    names, types = decode_axes(record.axes)
    device = None
    if record.device_kind is not None and record.platform is not None:
        device = AbstractDevice(record.device_kind, record.num_cores, record.platform)
    try:
        mesh = AbstractMesh(tuple(record.axes.sizes), names, types, abstract_device=device)
        return NamedSharding(mesh, decode_spec(record.spec), memory_kind=record.memory_kind)
    except (TypeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the record describes no sharding: {error}") from error


def checked(record: ExportedRecord, where: str | os.PathLike[str]) -> ExportedRecord:
    """An exported function whose numbers fit each other.

    Raises:
      FileError: if they do not.
    """
    name = f"{where}: the record of {record.fun_name!r}"
    for what, types, shardings in (
        ("arguments", record.in_types, record.in_shardings),
        ("results", record.out_types, record.out_shardings),
    ):
        if len(shardings) != len(types):
            raise FileError(f"{name} has {len(shardings)} shardings for {len(types)} {what}")
    kept, given = record.kept, len(record.in_types)
    if kept != sorted(set(kept)) or (kept and not 0 <= kept[0] <= kept[-1] < given):
        raise FileError(f"{name} keeps the arguments {kept} of {given}")
    if record.nr_devices < 1 or not record.platforms:
        raise FileError(
            f"{name} is for {record.nr_devices} devices of the platforms {record.platforms}"
        )
    if record.vjp is not None:
        checked(record.vjp, where)
    return record


class Signature(NamedTuple):
    """The structures of a function's arguments and results, and the types of their leaves."""

    in_tree: PyTreeDef
    in_types: tuple[Any, ...]
    out_tree: PyTreeDef
    out_types: tuple[Any, ...]


def signature_of(record: ExportedRecord) -> Signature:
    """The structures and types of an exported function.

    Raises:
      FileError: if there are no such ones, or they do not fit each other.
    """
    known: dict[Any, Any] = {}
    sizes = _Sizes(record.constraints)
    parts: list[Any] = []
    for what, tree, types, shardings in (
        ("arguments", record.in_tree, record.in_types, record.in_shardings),
        ("results", record.out_tree, record.out_types, record.out_shardings),
    ):
        found = decode_tree(tree, node_forms)
        if found.num_leaves != len(types):
            raise FileError(
                f"the record of {record.fun_name!r} has {len(types)} types for {found.num_leaves} "
                f"{what}"
            )
        avals = [_type_of(t, known, sizes) for t in types]
        for i, sharding in enumerate(shardings):
            if sharding is not None and "Explicit" in sharding.axes.types:
                avals[i] = placed_aval(avals[i], decode_abstract_sharding(sharding))
        parts += [found, tuple(avals)]
    return Signature(*parts)


class _Sizes:
    """Reads the symbolic sizes of one function, whose variables are the same in all types."""

    def __init__(self, constraints: Sequence[str]):
        self._constraints = constraints
        self._scope: SymbolicScope | None = None

    def __call__(self, text: str) -> int | SymbolicDimension:
        try:
            if self._scope is None:
                self._scope = SymbolicScope(self._constraints)
            return symbolic_shape(text, scope=self._scope)[0]
        except (ValueError, IndexError) as error:
            raise FileError(f"the record has the size {text!r}: {error}") from error


def _type_of(record: TypeRecord, known: dict[Any, Any], sizes: _Sizes) -> Any:
    """The type that a record describes; that of an equal record, if it is ``known``."""
    if record.shape is None or record.sharding is not None:
        return decode_type(record, sizes)
    key = (*record.shape, record.dtype, record.weak_type)
    found = known.get(key)
    if found is None:
        found = known[key] = decode_type(record, sizes)
    return found


def named_tuple_form(kind: type, name: str) -> NodeForm:
    """How nodes of a class of named tuples are written: with the names of their fields."""
    fields: tuple[str, ...] = kind._fields  # pyright: ignore[reportAttributeAccessIssue]

    def read(data: bytes) -> None:
        found = _read_keys(data)
        if found != fields:
            raise FileError(
                f"the record has a node of {name!r} with the fields {found}; the class "
                f"{kind.__module__}.{kind.__qualname__} has {fields}"
            )

    return NodeForm(kind, name, lambda data: _write_keys(fields), read)


def _write_keys(keys: Sequence[Any]) -> bytes:
    if not all(isinstance(key, str) for key in keys):
        raise TypeError(
            f"an OrderedDict with the keys {list(keys)} cannot be written: they must be strings"
        )
    return json.dumps(list(keys)).encode()


def _read_keys(data: bytes) -> tuple[str, ...]:
    found = json.loads(data)
    if not isinstance(found, list) or not all(isinstance(key, str) for key in found):
        raise FileError(f"the record has {data[:80]!r} where names are expected")
    return tuple(found)


node_forms.add(NodeForm(OrderedDict, "collections.OrderedDict", _write_keys, _read_keys))
