"""Classes of immutable values with named fields."""

import copy
import dataclasses
import pickle

import pytest

from ricci_ir import Record, TupleRecord
from ricci_pytree import tree_map, tree_structure


class Point(Record):
    x: int
    y: int = 0
    _hidden: str = ""


class Named(Point):
    name: str = "origin"


def test_values_are_equal_by_class_and_fields():
    assert Point(1) == Point(x=1, y=0)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Point(1, 2)
    assert Point(1) != Named(1)
    assert Point(1) != (1, 0, "")


def test_fields_are_printed_but_for_hidden_ones():
    assert repr(Named(1, _hidden="no")) == "Named(x=1, y=0, name='origin')"


def test_the_functions_of_dataclasses_take_records():
    point = Named(1, 2, name="far")
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "_hidden": "", "name": "far"}
    assert dataclasses.replace(point, y=3) == Named(1, 3, name="far")
    assert [(f.name, f.type) for f in dataclasses.fields(Point)][:2] == [("x", int), ("y", int)]


def test_values_are_copied_and_pickled():
    point = Named(1, 2, name="far")
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, "", 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_fields_are_given_once_each(args, kwargs):
    with pytest.raises(TypeError, match="Point"):
        Point(*args, **kwargs)


def test_fields_cannot_be_changed():
    point = Point(1)
    with pytest.raises(AttributeError, match="immutable"):
        point.x = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError, match="immutable"):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
    assert point == Point(1)


class Pair(TupleRecord):
    first: int
    second: object = None

    @property
    def both(self) -> tuple[object, ...]:
        return self.first, self.second


class Triple(Pair):
    third: str = "end"


def test_a_tuple_record_is_a_tuple_with_names():
    first, second = Pair(1, second=2)
    assert (first, second) == Pair(1, 2) == (1, 2) == Pair(1, 2).both
    assert Pair(1).second is None
    assert hash(Pair(1, 2)) == hash((1, 2))
    assert repr(Triple(1)) == "Triple(first=1, second=None, third='end')"
    assert Triple(1, third="x")[2] == Triple(1, third="x").third == "x"


def test_a_tuple_record_is_used_as_named_tuples_are():
    triple = Triple(1, 2)
    assert triple._replace(third="x") == (1, 2, "x")
    assert triple._asdict() == {"first": 1, "second": 2, "third": "end"}
    assert type(copy.copy(triple)) is Triple
    assert pickle.loads(pickle.dumps(triple)) == copy.deepcopy(triple) == triple
    match triple:
        case Triple(first=first, second=second, third=third):
            assert Triple.__match_args__ == Triple._fields
            assert (first, second, third) == (1, 2, "end")
    assert tree_structure(triple) == tree_structure(Triple(3, 4, "other"))
    assert type(tree_map(str, Pair(1, 2))) is Pair


def test_a_tuple_record_cannot_be_changed():
    with pytest.raises(AttributeError):
        Pair(1).first = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        Pair(1).other = 2  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, 3), {}), ((1,), {"first": 1}), ((1,), {"z": 1})]
)
def test_a_tuple_record_takes_each_field_once(args: tuple, kwargs: dict):
    with pytest.raises(TypeError, match="Pair"):
        Pair(*args, **kwargs)
