"""Classes of immutable values with named fields."""

import copy
import pickle

import pytest

from ricci_ir import Record


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
