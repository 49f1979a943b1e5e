"""The record of an exported function in a file, and its decoding."""

import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ricci_ir import SymbolicDimension, SymbolicScope, symbolic_shape
from ricci_pytree import PyTreeDef
from ricci_xla import files
from ricci_xla.meshes import AbstractDevice, AbstractMesh, NamedSharding, placed_aval

__all__ = ["AbstractShardingRecord", "decode_abstract_sharding", "encode_abstract_sharding"]
__all__ += ["export_file", "ExportedRecord", "named_tuple_form", "node_forms", "Signature"]
__all__ += ["signature_of"]

# The classes of tree nodes that users have registered for exports.
node_forms: files.NodeForms = files.NodeForms()


class AbstractShardingRecord(msgspec.Struct, frozen=True):
    """A sharding over an abstract mesh."""

    axes: files.MeshAxesRecord
    spec: files.SpecRecord
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
      in_shardings, out_shardings: the sharding of each leaf; ``None`` if unspecified.
      nr_devices: the number of devices that it runs on.
      platforms: the platforms it was lowered for.
      ordered_effects, unordered_effects: the names of its effects' classes.
      disabled_checks: the checks that were disabled.
      module: the module, as portable StableHLO.
      calling_convention: the version of the convention of the module's ``@main``.
      kept_args: the positions of the arguments that the module takes.
      uses_global_constants: whether it takes the platform's index or sizes.
      constraints: the constraints on symbolic sizes.
      vjp: the function's derivative, exported likewise.
    """

    fun_name: str
    in_tree: files.TreeRecord
    in_types: list[files.TypeRecord]
    out_tree: files.TreeRecord
    out_types: list[files.TypeRecord]
    in_shardings: list[AbstractShardingRecord | None]
    out_shardings: list[AbstractShardingRecord | None]
    nr_devices: int
    platforms: list[str]
    ordered_effects: list[str] = []
    unordered_effects: list[str] = []
    disabled_checks: list[str] = []
    module: bytes
    calling_convention: int
    kept_args: list[int] = msgspec.field(name="kept")
    uses_global_constants: bool = False
    constraints: list[str] = []
    vjp: "ExportedRecord | None" = None


export_file: files.FileKind[ExportedRecord] = files.FileKind(
    "export", 1, ExportedRecord, "an exported function"
)


def encode_abstract_sharding(sharding: NamedSharding | None) -> AbstractShardingRecord | None:
    """A record of a sharding over an abstract mesh."""
    if sharding is None:
        return None
    device = getattr(sharding.mesh, "abstract_device", None)
    kind = (
        (None,) * 3 if device is None else (device.device_kind, device.num_cores, device.platform)
    )
    spec = files.encode_spec(sharding.spec)
    return AbstractShardingRecord(
        files.encode_axes(sharding.mesh), spec, sharding._memory_kind, *kind
    )


def decode_abstract_sharding(record: AbstractShardingRecord | None) -> NamedSharding | None:
    """The sharding of a record.

    Raises:
      FileError: if the record is invalid.
    """
    if record is None:
        return None
    names, types = files.decode_axes(record.axes)
    device = None
    if record.device_kind is not None and record.platform is not None:
        device = AbstractDevice(record.device_kind, record.num_cores, record.platform)
    try:
        mesh = AbstractMesh(tuple(record.axes.sizes), names, types, abstract_device=device)
        return NamedSharding(mesh, files.decode_spec(record.spec), memory_kind=record.memory_kind)
    except (TypeError, ValueError) as error:
        if isinstance(error, files.FileError):
            raise
        raise files.FileError(f"the record is not a valid sharding: {error}") from error


def checked(record: ExportedRecord, where: str | os.PathLike[str]) -> ExportedRecord:
    """Check the consistency of a record, and return it.

    Raises:
      FileError: if it is inconsistent.
    """
    name = f"{where}: the record of {record.fun_name!r}"
    for what, types, shardings in (
        ("arguments", record.in_types, record.in_shardings),
        ("results", record.out_types, record.out_shardings),
    ):
        if len(shardings) != len(types):
            raise files.FileError(f"{name} has {len(shardings)} shardings for {len(types)} {what}")
    # The module's parameters are the arguments at these positions, in order.
    positions, count = record.kept_args, len(record.in_types)
    if positions != sorted(set(positions)) or (
        positions and not 0 <= positions[0] <= positions[-1] < count
    ):
        raise files.FileError(f"{name} keeps the arguments {positions} of {count}")
    if record.nr_devices < 1 or not record.platforms:
        raise files.FileError(
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
    """Decode the structures and types of an exported function.

    Raises:
      FileError: if they are invalid or inconsistent.
    """
    decoded: dict[Any, Any] = {}  # types by their records, which often repeat
    sizes = _Sizes(record.constraints)
    parts: list[Any] = []
    for what, tree, types, shardings in (
        ("arguments", record.in_tree, record.in_types, record.in_shardings),
        ("results", record.out_tree, record.out_types, record.out_shardings),
    ):
        structure = files.decode_tree(tree, node_forms)
        if structure.num_leaves != len(types):
            raise files.FileError(
                f"the record of {record.fun_name!r} has {len(types)} types for "
                f"{structure.num_leaves} {what}"
            )
        avals = [_type_of(t, decoded, sizes) for t in types]
        for i, sharding in enumerate(shardings):
            if sharding is not None and "Explicit" in sharding.axes.types:
                avals[i] = placed_aval(avals[i], decode_abstract_sharding(sharding))
        parts += [structure, tuple(avals)]
    return Signature(*parts)


class _Sizes:
    """Parses the symbolic sizes of one function, with one scope of variables for all types."""

    def __init__(self, constraints: Sequence[str]):
        self._constraints = constraints
        self._scope: SymbolicScope | None = None

    def __call__(self, text: str) -> int | SymbolicDimension:
        try:
            if self._scope is None:
                self._scope = SymbolicScope(self._constraints)
            return symbolic_shape(text, scope=self._scope)[0]
        except (ValueError, IndexError) as error:
            raise files.FileError(f"the record has the size {text!r}: {error}") from error


def _type_of(record: files.TypeRecord, decoded: dict[Any, Any], sizes: _Sizes) -> Any:
    """The type of a record, cached in ``decoded``."""
    if record.shape is None or record.sharding is not None:
        return files.decode_type(record, sizes)
    key = (*record.shape, record.dtype, record.weak_type)
    aval = decoded.get(key)
    if aval is None:
        aval = decoded[key] = files.decode_type(record, sizes)
    return aval


def named_tuple_form(kind: type, name: str) -> files.NodeForm:
    """The form of nodes of a named tuple class: their data are the names of the fields."""
    fields: tuple[str, ...] = kind._fields  # pyright: ignore[reportAttributeAccessIssue]

    def read(data: bytes) -> None:
        keys = _read_keys(data)
        if keys != fields:
            raise files.FileError(
                f"the record has a node of {name!r} with the fields {keys}; the class "
                f"{kind.__module__}.{kind.__qualname__} has {fields}"
            )

    return files.NodeForm(kind, name, lambda data: _write_keys(fields), read)


def _write_keys(keys: Sequence[Any]) -> bytes:
    if not all(isinstance(key, str) for key in keys):
        raise TypeError(
            f"an OrderedDict with the keys {list(keys)} cannot be written: they must be strings"
        )
    return json.dumps(list(keys)).encode()


def _read_keys(data: bytes) -> tuple[str, ...]:
    keys = json.loads(data)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise files.FileError(f"the record has {data[:80]!r} where names are expected")
    return tuple(keys)


node_forms.add(files.NodeForm(OrderedDict, "collections.OrderedDict", _write_keys, _read_keys))
