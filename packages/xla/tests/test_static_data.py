"""Static data of results in a bundle: plain values, parts of the arguments, and their like."""

import dataclasses
import fractions
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import pytest

from ricci_pytree import Partial, register_pytree_node, tree_structure
from ricci_xla import files
from ricci_xla.files import FileError
from ricci_xla.warm import _object_states
from ricci_xla.warm._fingerprint import fingerprint
from ricci_xla.warm._static_data import StaticData


@dataclasses.dataclass(frozen=True, slots=True)
class Definition:
    """A description of a graph, as in flax nnx."""

    kind: object
    attributes: object


class Settings:
    """An object with attributes in a dict."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __eq__(self, other):
        return type(other) is Settings and vars(self) == vars(other)

    __hash__ = None


class Pair(NamedTuple):
    """A named tuple."""

    first: object
    second: object


class Node:
    """A node of a tree with any static data."""

    def __init__(self, data):
        self.data = data


register_pytree_node(Node, lambda node: ((), node.data), lambda data, _: Node(data))


def double(x):
    return 2 * x


THIRD = fractions.Fraction(1, 3)  # its class has a ``__reduce__`` of its own
ARGUMENTS = Definition(
    Settings,
    [
        double,
        Settings(rate=0.5),
        Pair(1, Settings),
        THIRD,
        {"deep": (double, tree_structure([1, {}]))},
    ],
)
RESULTS = [
    None,
    (1, True, 1.0, "text", b"bytes", {"a": [1, (2,)]}, slice(3)),
    MappingProxyType({"a": [1, MappingProxyType({})]}),
    double,
    Settings,
    THIRD,
    Definition(double, (True, 1)),
    Definition(Definition(Pair, None), [Settings(rate=True, inner=Settings())]),
    Pair(Definition(1, 2), double),
    tree_structure([3, {}]),
    tree_structure((1, [None, {"deep": 2}])),
]


class Sentinel:
    """An object that marks missing values."""


MISSING = Sentinel()


def static_data(tree=None, static=(), modules=()):
    return StaticData(tree_structure(tree), static, files.NodeForms(), modules)


def copied(value, writer=ARGUMENTS, reader=ARGUMENTS, as_argument=None):
    as_argument = as_argument or (lambda data: static_data([Node(data)]))
    record = as_argument(writer).encode(value)
    data = msgspec.msgpack.decode(msgspec.msgpack.encode(record))
    return as_argument(reader).decode(data)


def types_in(value):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return Definition, types_in(value.kind), types_in(value.attributes)
    return type(value), list(map(types_in, value)) if isinstance(value, list | tuple) else None


# Equinox passes a model's functions as leaves and structure in a static argument.
PLACES = {
    "a node": None,
    "a static argument": lambda data: static_data(static=([data], {})),
    "the structure in one": lambda data: static_data(
        static=([], {"model": (None, tree_structure([Node(data)]))})
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", RESULTS, ids=lambda value: type(value).__name__)
def test_static_data_is_as_written(value, place):
    again = copied(value, as_argument=PLACES[place])
    assert again == value and types_in(again) == types_in(value)


def test_objects_are_those_of_the_reading_process():
    other = Definition(
        Settings, [Partial(len), Settings(rate=0.5), Pair(1, Settings), THIRD, {"deep": ()}]
    )
    assert copied(double, reader=other) is other.attributes[0]


@pytest.mark.parametrize("value", [object(), len, fractions.Fraction(1, 2), Node(1), [copied]])
def test_objects_unlike_those_of_the_arguments_are_refused_in_a_line(value):
    with pytest.raises(TypeError, match="cannot be written to a file") as error:
        copied(value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


class Releasing:
    """A class whose objects run code when they are dropped."""

    def __del__(self):
        pass


def test_objects_of_classes_of_the_calls_modules_are_built():
    data = static_data(modules=[__name__])
    value = [Pair(1, Settings(rate=Definition("a", True)))]
    assert data.decode(data.encode(value)) == value
    assert types_in(data.decode(data.encode(value))) == types_in(value)
    for refused in (Releasing(), THIRD):
        with pytest.raises(TypeError, match="cannot be written to a file"):
            data.encode(refused)
    for name in ("Releasing", "Absent", "copied"):
        with pytest.raises(FileError, match="is not a class of plain objects"):
            data.decode(["object", [[__name__, name], [], []]])
    with pytest.raises(FileError, match="is not a class of plain objects"):
        static_data().decode(["object", [[__name__, "Settings"], [], []]])


def test_objects_without_state_are_found_by_their_names():
    assert copied([MISSING, 1]) == [MISSING, 1]
    data = static_data([Node(ARGUMENTS)])
    record = data.encode(MISSING)
    assert record == ["sentinel", [__name__, "MISSING"]]
    for name in ("ABSENT", "ARGUMENTS", "copied"):
        with pytest.raises(FileError, match="is not an object without state"):
            data.decode(["sentinel", [__name__, name]])


@pytest.mark.parametrize(
    "record",
    [None, [], ["part", 999], ["object", [0, [], []]], ["object", [999, [], []]], ["tree", 1]]
    + [["other", 1], ["plain", ["int", 1]], ["dict", [1]], ["object", [1, [], [["no", 1]]]]],
)
def test_invalid_records_are_refused(record):
    with pytest.raises(FileError):
        static_data([Node(ARGUMENTS)]).decode(record)


PICKLED = []


class Saved:
    """A class that is written to a file where it is pickled, as keras's are."""

    def __init__(self, rate):
        self.rate = rate

    def __reduce__(self):
        PICKLED.append(self)
        return Saved, (0,)


def test_classes_that_save_themselves_are_read_by_their_attributes(monkeypatch):
    assert fingerprint(Saved(1)) == fingerprint(Saved(2))
    assert len(PICKLED) == 2
    monkeypatch.setattr(_object_states, "_READ_BY_ATTRIBUTES", {(__name__, "Saved")})
    assert fingerprint(Saved(1)) == fingerprint(Saved(1)) != fingerprint(Saved(2))
    assert len(PICKLED) == 2
