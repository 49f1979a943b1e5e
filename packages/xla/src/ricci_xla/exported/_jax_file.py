"""JAX's file formats of exports and tree structures: FlatBuffers of inferred schemas.

Types, meshes and shardings are written twice: in place, and in separate tables that positions refer
to. Newer versions of JAX read the latter.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ricci_ir import config
from ricci_pytree import PyTreeDef
from ricci_xla import files

from . import _flatbuffer as fb
from ._records import AbstractShardingRecord, ExportedRecord, checked, node_forms

__all__ = ["read_jax_tree", "write_jax_tree"]

tree_table = fb.Table()
tree_table.fields.update(
    {
        0: ("node", fb.Scalar("B")),
        1: ("children", fb.Vector(tree_table)),
        2: ("keys", fb.Vector(fb.Text())),
        3: ("name", fb.Text()),
        4: ("data", fb.Bytes()),
    }
)

_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)
_NODES = {_NONE: "None", _TUPLE: "tuple", _LIST: "list"}


def read_jax_tree(data: bytes) -> PyTreeDef:
    """Read a tree structure from JAX's FlatBuffer.

    Raises:
      ValueError: if it is invalid or damaged, or has nodes of a class that is not registered.
    """
    try:
        record = read_tree(fb.read(data, tree_table))
    except (KeyError, IndexError, RecursionError) as error:
        raise fb.DamagedBufferError(
            f"invalid tree structure: {type(error).__name__}: {error}"
        ) from error
    return files.decode_tree(record, node_forms)


def write_jax_tree(tree: PyTreeDef) -> bytes:
    """Write a tree structure as JAX's FlatBuffer.

    Raises:
      TypeError: if it has a dict with keys other than strings, or nodes of a class that is not
        registered.
    """
    return fb.write(write_tree(files.encode_tree(tree, node_forms)), tree_table)


def read_tree(table: dict[str, Any]) -> files.TreeRecord:
    """Convert a tree structure that was read with `tree_table` to a record."""
    node = table.get("node", _LEAF)
    children = [read_tree(child) for child in table.get("children", ())]
    if node == _LEAF:
        return files.TreeRecord()
    if node in _NODES:
        return files.TreeRecord(_NODES[node], _plain(None), children)
    if node == _DICT:
        keys = list(table.get("keys", ()))
        if len(keys) != len(children):
            raise files.FileError(f"a dict of {len(children)} items has the keys {keys}")
        return files.TreeRecord("dict", _plain(keys), children)
    if node != _CUSTOM:
        raise files.FileError(f"a tree node of unknown kind {node}")
    return files.TreeRecord(table["name"], table.get("data", b""), children)


def _plain(data: object) -> bytes:
    return msgspec.msgpack.encode(files.encode_plain(data))


def write_tree(record: files.TreeRecord) -> dict[str, Any]:
    """Convert the record of a tree structure for writing with `tree_table`."""
    children = [write_tree(child) for child in record.children]
    if record.node is None:
        return {}
    for node, name in _NODES.items():
        if record.node == name:
            return {"node": node, "children": children} if node != _NONE else {"node": node}
    if record.node != "dict":
        return {"node": _CUSTOM, "children": children, "name": record.node, "data": record.data}
    keys = files.decode_plain(msgspec.msgpack.decode(record.data))
    wrong = [key for key in keys if not isinstance(key, str)]
    if wrong:
        raise TypeError(
            f"JAX's format has dicts with strings as keys only, found the key {wrong[0]!r} of type "
            f"{type(wrong[0]).__name__}. Use strings, or write an export in Ricci's own format."
        )
    return {"node": _DICT, "children": children, "keys": keys}


# The version of the format that is written, and those that are read.
_VERSION = 12
_OLDEST = 12
_JAX_VERSION = "0.11.2"
_CALLING_CONVENTIONS = range(9, 11)

_read_expired = config.state("jax_export_deserialize_expired_versions")

_BYTE, _BOOL, _SHORT, _INT = fb.Scalar("B"), fb.Scalar("?"), fb.Scalar("H"), fb.Scalar("I")
_TEXTS = fb.Vector(fb.Text())

_type = fb.Table({1: ("shape", _TEXTS), 2: ("dtype", _BYTE), 3: ("memory", _BYTE)})
_device = fb.Table({0: ("kind", fb.Text()), 1: ("cores", _INT), 2: ("platform", fb.Text())})
_mesh = fb.Table(
    {
        0: ("sizes", fb.Vector(_INT)),
        1: ("names", _TEXTS),
        2: ("types", fb.Vector(_BYTE)),
        3: ("device", _device),
    }
)
_part = fb.Table({0: ("axes", _TEXTS)})
_spec = fb.Table({0: ("parts", fb.Vector(_part)), 1: ("unreduced", _TEXTS), 2: ("reduced", _TEXTS)})
_named = fb.Table({0: ("mesh", _mesh), 1: ("spec", _spec), 2: ("memory", fb.Text())})
_sharding = fb.Table({2: ("named", _named)})
_effect = fb.Table({0: ("type", fb.Text())})
_check = fb.Table({0: ("kind", _BYTE), 1: ("target", fb.Text())})
_exported = fb.Table()
# The numbers are the slots of FlatBuffers' vtables, which stay when fields are added. The table is
# filled afterwards, as it contains itself.
_exported.fields.update(
    {
        0: ("version", _SHORT),
        1: ("fun_name", fb.Text()),
        2: ("in_tree", tree_table),
        3: ("in_types", fb.Vector(_type)),
        4: ("out_tree", tree_table),
        5: ("out_types", fb.Vector(_type)),
        7: ("in_shardings", fb.Vector(_sharding)),
        8: ("out_shardings", fb.Vector(_sharding)),
        9: ("platforms", _TEXTS),
        10: ("ordered_effects", fb.Vector(_effect)),
        11: ("unordered_effects", fb.Vector(_effect)),
        12: ("disabled_checks", fb.Vector(_check)),
        13: ("module", fb.Bytes()),
        14: ("calling_convention", _SHORT),
        15: ("kept_args", fb.Vector(_SHORT)),
        16: ("uses_global_constants", _BOOL),
        17: ("vjp", _exported),
        18: ("nr_devices", _INT),
        19: ("types", fb.Vector(_type)),
        20: ("meshes", fb.Vector(_mesh)),
        21: ("shardings", fb.Vector(_named)),
        22: ("in_type_positions", fb.Vector(_INT)),
        23: ("out_type_positions", fb.Vector(_INT)),
        24: ("in_sharding_positions", fb.Vector(_INT)),
        25: ("out_sharding_positions", fb.Vector(_INT)),
        26: ("jax_version", fb.Text()),
    }
)

_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16", "int4", "uint4"),
    *("float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    # "void" is NumPy's name of float0.
    *("void", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn"),
    *("key<fry>", "key<rbg>", "key<urbg>"),
)
_AXIS_TYPES = {1: "Auto", 2: "Explicit", 3: "Manual"}
_DEVICE_MEMORY = 1
_PLATFORM_CHECK, _CUSTOM_CALL_CHECK = 0, 1
_CUSTOM_CALL = "custom_call:"


def looks_like_jax(data: bytes | bytearray | memoryview) -> bool:
    """Whether a file may be one of JAX's, by its first bytes."""
    # The offset of the root table, and the version in it.
    return len(data) > 64 and 8 <= int.from_bytes(bytes(data[:4]), "little") < 4096


def read_jax_file(data: bytes | bytearray | memoryview, where: Any) -> ExportedRecord:
    """Read the record of a function that JAX has exported.

    Raises:
      FileError: if the file is not an export of JAX's, or damaged, or of an unsupported version.
    """
    try:
        table = fb.read(bytes(data), _exported)
        return checked(_read_exported(table, where), where)
    except (KeyError, IndexError, ValueError, RecursionError) as error:
        if isinstance(error, files.FileError) and str(error).startswith(f"{where}: "):
            raise
        raise files.FileError(
            f"{where}: not an exported function of Ricci or JAX, or a damaged one. Read as one of "
            f"JAX's: {type(error).__name__}: {error}"
        ) from error


def _read_exported(table: dict[str, Any], where: object) -> ExportedRecord:
    version = table.get("version", 0)
    if not _OLDEST <= version <= _VERSION:
        raise files.FileError(
            f"{where}: read as a function exported by JAX, its format has version {version}, and "
            f"this Ricci reads {_OLDEST} to {_VERSION}. Export it again with JAX {_JAX_VERSION}."
        )
    convention = table["calling_convention"]
    expired = convention < _CALLING_CONVENTIONS.start and _read_expired.value
    if convention not in _CALLING_CONVENTIONS and not expired:
        raise files.FileError(
            f"{where}: a function exported by JAX with calling convention {convention}; this Ricci "
            f"reads {_CALLING_CONVENTIONS.start} to {_CALLING_CONVENTIONS.stop - 1}."
        )
    types = [_read_type(t) for t in table["types"]]
    # Position 0 is "no sharding".
    shardings = [None, *map(_read_sharding, table["shardings"])]
    pick = lambda entries, positions: [entries[i] for i in table[positions]]
    record = ExportedRecord(
        fun_name=table["fun_name"],
        in_tree=read_tree(table["in_tree"]),
        in_types=pick(types, "in_type_positions"),
        out_tree=read_tree(table["out_tree"]),
        out_types=pick(types, "out_type_positions"),
        in_shardings=pick(shardings, "in_sharding_positions"),
        out_shardings=pick(shardings, "out_sharding_positions"),
        nr_devices=table["nr_devices"],
        platforms=table["platforms"],
        ordered_effects=[e["type"] for e in table["ordered_effects"]],
        unordered_effects=[e["type"] for e in table["unordered_effects"]],
        disabled_checks=[_read_check(c) for c in table["disabled_checks"]],
        module=table["module"],
        calling_convention=convention,
        kept_args=table["kept_args"],
        uses_global_constants=table.get("uses_global_constants", False),
        vjp=_read_exported(table["vjp"], where) if "vjp" in table else None,
    )
    return record


def _read_type(table: dict[str, Any]) -> files.TypeRecord:
    shape: list[int | str] = [int(n) if n.isdecimal() else n for n in table["shape"]]
    return files.TypeRecord(shape, _DTYPES[table.get("dtype", 0)])


def _read_axes(mesh: dict[str, Any]) -> files.MeshAxesRecord:
    types = [_AXIS_TYPES[t] for t in mesh["types"]]
    if not len(mesh["names"]) == len(mesh["sizes"]) == len(types):
        raise files.FileError("a mesh whose axes differ in number from their sizes")
    return files.MeshAxesRecord(
        [files.encode_plain(name) for name in mesh["names"]], mesh["sizes"], types
    )


def _read_sharding(table: dict[str, Any]) -> AbstractShardingRecord:
    mesh, spec = table["mesh"], table["spec"]
    parts = [_read_part(part.get("axes", [])) for part in spec["parts"]]
    sums = lambda name: files.encode_plain(frozenset(spec.get(name, ())))
    device = mesh.get("device", {})
    return AbstractShardingRecord(
        _read_axes(mesh),
        files.SpecRecord(
            [files.encode_plain(part) for part in parts], sums("unreduced"), sums("reduced")
        ),
        table.get("memory"),
        device.get("kind"),
        device.get("cores"),
        device.get("platform"),
    )


def _read_part(axes: list[str]) -> str | tuple[str, ...] | None:
    if not axes:
        return None
    return axes[0] if len(axes) == 1 else tuple(axes)


def _read_check(table: dict[str, Any]) -> str:
    return "platform" if table.get("kind", 0) == _PLATFORM_CHECK else _CUSTOM_CALL + table["target"]


def write_jax_file(record: ExportedRecord) -> bytes:
    """Serialize an exported function in JAX's format.

    Raises:
      TypeError: if JAX's format cannot represent a part of it.
    """
    return fb.write(_write_exported(record), _exported)


def _write_exported(record: ExportedRecord) -> dict[str, Any]:
    if record.ordered_effects or record.unordered_effects:
        raise TypeError(
            f"{record.fun_name} has effects, whose classes JAX would not know: it cannot be "
            "written in JAX's format."
        )
    types = _Positions(_write_type)
    shardings = _Positions(_write_sharding)
    meshes = _Positions(_write_mesh)
    for sharding in (*record.in_shardings, *record.out_shardings):
        if sharding is not None:
            meshes.of(sharding)
    values: dict[str, Any] = {
        "version": _VERSION,
        "fun_name": record.fun_name,
        "in_tree": write_tree(record.in_tree),
        "in_types": [_write_type(t) for t in record.in_types],
        "out_tree": write_tree(record.out_tree),
        "out_types": [_write_type(t) for t in record.out_types],
        "in_shardings": [_write_place(s) for s in record.in_shardings],
        "out_shardings": [_write_place(s) for s in record.out_shardings],
        "platforms": record.platforms,
        "ordered_effects": [],
        "unordered_effects": [],
        "disabled_checks": [_write_check(c) for c in record.disabled_checks],
        "module": record.module,
        "calling_convention": record.calling_convention,
        "kept_args": record.kept_args,
        "nr_devices": record.nr_devices,
        "in_type_positions": [types.of(t) for t in record.in_types],
        "out_type_positions": [types.of(t) for t in record.out_types],
        "in_sharding_positions": [_position(s, shardings) for s in record.in_shardings],
        "out_sharding_positions": [_position(s, shardings) for s in record.out_shardings],
        "types": types.written,
        "meshes": meshes.written,
        "shardings": shardings.written,
        "jax_version": _JAX_VERSION,
    }
    if record.uses_global_constants:
        values["uses_global_constants"] = True
    if record.vjp is not None:
        values["vjp"] = _write_exported(record.vjp)
    return values


class _Positions:
    """A table of distinct written values, in which they are referred to by position."""

    def __init__(self, write: Callable[[Any], dict[str, Any]]):
        self.write = write
        self.written: list[dict[str, Any]] = []

    def of(self, value: object) -> int:
        """The position of a value, which is added if it is new."""
        form = self.write(value)
        # Few entries, of dictionaries, which cannot be hashed: a search is enough.
        if form not in self.written:
            self.written.append(form)
        return self.written.index(form)


def _position(sharding: AbstractShardingRecord | None, shardings: _Positions) -> int:
    return 0 if sharding is None else shardings.of(sharding) + 1


def _write_type(record: files.TypeRecord) -> dict[str, Any]:
    if record.shape is None or record.dtype not in _DTYPES:
        raise TypeError(
            f"JAX's format has no {record.dtype or 'tokens'}. Write it in Ricci's own format."
        )
    shape = [str(n) for n in record.shape]
    return {"shape": shape, "dtype": _DTYPES.index(record.dtype), "memory": _DEVICE_MEMORY}


def _write_mesh(record: AbstractShardingRecord) -> dict[str, Any]:
    axes = record.axes
    numbers = {name: number for number, name in _AXIS_TYPES.items()}
    mesh: dict[str, Any] = {
        "sizes": axes.sizes,
        "names": _names(map(files.decode_plain, axes.names)),
        "types": [numbers[name] for name in axes.types],
    }
    if record.device_kind is not None:
        cores = {} if record.num_cores is None else {"cores": record.num_cores}
        mesh["device"] = {"kind": record.device_kind, "platform": record.platform, **cores}
    return mesh


def _names(names: Any) -> list[str]:
    texts = list(names)
    for name in texts:
        if not isinstance(name, str):
            raise TypeError(
                f"JAX's format has mesh axes named by strings only, found {name!r}. Write it in "
                "Ricci's own format."
            )
    return texts


def _write_sharding(record: AbstractShardingRecord) -> dict[str, Any]:
    spec = record.spec
    parts: list[dict[str, Any]] = []
    for plain in spec.parts:
        if plain is None:
            raise TypeError(
                "JAX's format has no PartitionSpec with UNCONSTRAINED parts. Write the export in "
                "Ricci's own format."
            )
        part = files.decode_plain(plain)
        axes = () if part is None else part if isinstance(part, tuple) else (part,)
        parts.append({"axes": _names(axes)})
    sums = {
        "unreduced": _names(files.decode_plain(spec.unreduced)),
        "reduced": _names(files.decode_plain(spec.reduced)),
    }
    table: dict[str, Any] = {"mesh": _write_mesh(record), "spec": {"parts": parts, **sums}}
    if record.memory_kind is not None:
        table["memory"] = record.memory_kind
    return table


def _write_place(record: AbstractShardingRecord | None) -> dict[str, Any]:
    return {} if record is None else {"named": _write_sharding(record)}


def _write_check(text: str) -> dict[str, Any]:
    if text == "platform":
        return {"kind": _PLATFORM_CHECK}
    return {"kind": _CUSTOM_CALL_CHECK, "target": text.removeprefix(_CUSTOM_CALL)}
