"""Files: written values are read again, and altered ones are refused."""

import random
from typing import NamedTuple

import ml_dtypes
import msgspec
import numpy as np
import pytest

from ricci_ir import ShapedArray, TypeSharding, abstract_token, float0
from ricci_pytree import register_pytree_node, tree_structure
from ricci_xla import (
    AbstractMesh,
    AxisType,
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    P,
    SingleDeviceSharding,
    devices,
    make_mesh,
)
from ricci_xla.files import (
    FileError,
    FileKind,
    NodeForm,
    NodeForms,
    ShardingRecord,
    TreeRecord,
    TypeRecord,
    decode_plain,
    decode_sharding,
    decode_tree,
    decode_type,
    encode_plain,
    encode_sharding,
    encode_tree,
    encode_type,
    read_file,
    write_file,
)


class Note(msgspec.Struct):
    text: str
    numbers: list[int]


NOTES = FileKind("note", 2, Note, "a note")


def through_bytes(record, kind):
    return msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=kind)


def test_a_file_round_trips():
    data = write_file(NOTES, Note("α", [1, -2]))
    assert read_file(NOTES, data, "a.note") == Note("α", [1, -2])


def test_every_alteration_is_refused():
    data = write_file(NOTES, Note("some text", list(range(50))))
    draw = random.Random(5)
    for _ in range(400):
        altered = bytearray(data)
        kind = draw.randrange(3)
        at = draw.randrange(len(data))
        if kind == 0:
            altered[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del altered[at:]
        else:
            altered[at:at] = draw.randbytes(draw.randrange(1, 9))
        with pytest.raises(FileError, match=r"^a\.note: "):
            read_file(NOTES, altered, "a.note")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (NOTES._replace(version=3), "a note of version 3, written by newer Ricci"),
        (NOTES._replace(version=1), "a note of version 1, written by older Ricci"),
        (NOTES._replace(name="export"), "expected a note, found a Ricci file of kind 'export'"),
    ],
)
def test_other_kinds_and_versions_are_named(written, words):
    with pytest.raises(FileError, match=words):
        read_file(NOTES, write_file(written, Note("", [])), "a.note")


def test_a_record_of_another_schema_is_refused():
    class Other(msgspec.Struct):
        text: int

    data = write_file(FileKind("note", 2, Other, ""), Other(1))
    with pytest.raises(FileError, match=r"Expected `str`, got `int` - at `\$\.text`"):
        read_file(NOTES, data, "a.note")


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**70), 1.5, float("inf"), 2 - 1j, "é", b"\0", (1, (2,)), [(), []]),
        *({"a": (1,), 2: None}, {3, 1}, frozenset({"x", ("y",)}), slice(1, None)),
        *(np.dtype("bfloat16"), np.float32(2), ml_dtypes.bfloat16(3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_plain_values_keep_their_types(value):
    found = decode_plain(through_bytes(encode_plain(value), list))
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "record",
    [3, [], ["int", 3], ["tuple", 1], ["dict", [[1]]], ["os.system", "ls"], ["dtype", "?"]],
)
def test_invalid_plain_records_are_refused(record):
    with pytest.raises(FileError, match="the record has"):
        decode_plain(record)


def test_objects_are_not_plain():
    with pytest.raises(TypeError, match="cannot be written to a file"):
        encode_plain((1, object()))


MESH = AbstractMesh((2, 4), ("x", ("y", 1)), axis_types=(AxisType.Explicit, AxisType.Manual))


@pytest.mark.parametrize(
    "aval",
    [
        abstract_token,
        ShapedArray((), "float32", weak_type=True),
        ShapedArray((0, 3), "bfloat16"),
        ShapedArray((2,), float0),
        ShapedArray((2,), "int4", sharding=TypeSharding(MESH, (("x",),), frozenset({("y", 1)}))),
    ],
    ids=str,
)
def test_types_round_trip(aval):
    assert decode_type(through_bytes(encode_type(aval), TypeRecord)) is aval


def test_invalid_type_records_are_refused():
    for record in (TypeRecord([2], "float99"), TypeRecord([-1], "int8"), TypeRecord(["b"], "int8")):
        with pytest.raises(FileError, match="the record"):
            decode_type(record)


def shardings():
    there = devices()[:1]
    mesh = make_mesh((1,), ("x",), devices=there)
    free = make_mesh((1,), ("x",), (AxisType.Auto,), devices=there)
    return [
        SingleDeviceSharding(there[0]),
        SingleDeviceSharding(there[0], "pinned_host"),
        NamedSharding(mesh, P("x", None)),
        NamedSharding(free, P(P.UNCONSTRAINED), memory_kind="pinned_host"),
        NamedSharding(mesh, P(None, unreduced={"x"})),
        GSPMDSharding(there, HloSharding.replicate()),
    ]


@pytest.mark.parametrize("sharding", shardings(), ids=str)
def test_shardings_round_trip(sharding):
    record = through_bytes(encode_sharding(sharding, devices()), ShardingRecord)
    assert decode_sharding(record, devices()) == sharding


def test_a_sharding_needs_its_devices():
    record = encode_sharding(SingleDeviceSharding(devices()[0]), devices())
    with pytest.raises(FileError, match="more than the 0 available devices"):
        decode_sharding(record, [])
    with pytest.raises(ValueError, match="not a device of the program"):
        encode_sharding(SingleDeviceSharding(devices()[0]), [])


class Point(NamedTuple):
    x: object
    y: object


class Box:
    def __init__(self, content, label):
        self.content, self.label = content, label


register_pytree_node(Box, lambda b: ((b.content,), b.label), lambda label, c: Box(c[0], label))


def forms():
    found = NodeForms()
    found.add(NodeForm(Point, "point", lambda data: b"", lambda data: Point))
    found.add(NodeForm(Box, "box", lambda data: data.encode(), bytes.decode))
    return found


@pytest.mark.parametrize(
    "tree",
    [3, None, (), [], {}, {"b": (1, [2, None]), "a": Point(1, {2: 3})}, Box([Box(1, "in")], "out")],
    ids=["leaf", "none", "tuple", "list", "dict", "namedtuple", "custom"],
)
def test_trees_round_trip(tree):
    structure = tree_structure(tree)
    record = through_bytes(encode_tree(structure, forms()), TreeRecord)
    assert decode_tree(record, forms()) == structure


def test_classes_are_never_looked_up():
    with pytest.raises(TypeError, match=r"test_files\.Point cannot be written"):
        encode_tree(tree_structure(Point(1, 2)), NodeForms())
    with pytest.raises(FileError, match="'subprocess:Popen', which is not registered here"):
        decode_tree(TreeRecord("subprocess:Popen", b"", []), forms())
    with pytest.raises(ValueError, match="cannot be registered as 'box'"):
        forms().add(NodeForm(Note, "box", str.encode, bytes.decode))


class Scaled(NamedTuple):
    """A named tuple that is registered with one child and static data."""

    value: object
    scale: object


register_pytree_node(Scaled, lambda s: ((s.value,), s.scale), lambda scale, xs: Scaled(*xs, scale))


def test_registered_named_tuples_keep_their_functions():
    scaled = NodeForms()
    scaled.add(NodeForm(Scaled, "scaled", str.encode, bytes.decode))
    tree = tree_structure([Scaled({"a": 1}, "text"), Scaled(None, "other")])
    again = decode_tree(encode_tree(tree, scaled), scaled)
    assert again == tree and again.unflatten([2]) == [
        Scaled({"a": 2}, "text"),
        Scaled(None, "other"),
    ]
