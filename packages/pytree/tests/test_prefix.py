"""Broadcasting of prefixes, and errors for trees that are not prefixes."""

import collections

import pytest

Point = collections.namedtuple("Point", "a b")
Other = collections.namedtuple("Other", "a b")

BROADCASTS = [
    ([1, 2], [(3, 4), {"a": 5}], None, [(1, 1), {"a": 2}]),
    (1, [(3, 4), {"a": 5}], None, [(1, 1), {"a": 1}]),
    ([1, 2], [(3, 4), None], None, [(1, 1), None]),
    ([1, None], [(3, 4), None], lambda x: x is None, [(1, 1), None]),
    ([None, 1], [(3, 4), 5], lambda x: x is None, [(None, None), 1]),
    ([None, 1], [None, 5], None, [None, 1]),
]


@pytest.mark.parametrize("prefix, full, is_leaf, result", BROADCASTS)
def test_tree_broadcast(pt, prefix, full, is_leaf, result):
    assert pt.tree_broadcast(prefix, full, is_leaf) == result
    assert not pt.prefix_errors(prefix, full, is_leaf)


# prefix, full, paths that differ, part of the message
DIFFERENCES = [
    ([1, 2], [(3, 4)], [""], "prefix is a list of length 2"),
    ([1, 2], ((3, 4), 3), [""], "full is a tuple of length 2"),
    ({"a": 1}, {"b": 1}, [""], r"missing from the second: \['a'\]; only in the second: \['b'\]"),
    ({"a": 1}, {"a": 1, "b": 2}, [""], r"only in the second: \['b'\]"),
    ({"a": [1, 2]}, {"a": [1, 2, 3]}, ["['a']"], r"full\['a'\] is a list of length 3"),
    (None, [1], [""], "None, an empty container"),
    ([None, [1], 3], [1, [], 3], ["[0]", "[1]"], "is_leaf=lambda x: x is None"),
    (Point(1, 2), (3, 4), [""], r"a container of type .*\.Point"),
    (Point(1, 2), Other(3, 4), [""], r"a container of type .*\.Other"),
    (Point(1, [2]), Point(3, 4), [".b"], r"full\.b is a leaf: 4"),
    ({"a": 1}, collections.OrderedDict(a=1), [""], "OrderedDict with static data"),
]


@pytest.mark.parametrize("prefix, full, paths, message", DIFFERENCES)
def test_prefix_errors(pt, prefix, full, paths, message):
    errors = pt.prefix_errors(prefix, full)
    assert [pt.keystr(error.path) for error in errors] == paths
    with pytest.raises(ValueError, match=message):
        raise errors[0]()


@pytest.mark.parametrize("prefix, full, paths, message", DIFFERENCES)
def test_broadcast_of_a_tree_that_is_not_a_prefix_raises(pt, prefix, full, paths, message):
    for function in (pt.tree_broadcast, pt.broadcast_prefix):
        with pytest.raises(ValueError, match=r"prefix_tree.* does not match full_tree"):
            function(prefix, full)


def test_broadcast_prefix(pt):
    assert pt.broadcast_prefix({"a": 1, "b": 2}, {"a": [0, {"c": 0}], "b": None}) == [1, 1]


AXES = [
    (0, (1, [2, 3]), [0, 0, 0]),
    (None, (1, [2, 3]), [None, None, None]),
    ((None, 0), (1, [2, 3]), [None, 0, 0]),
    ((0, [None, 1]), (1, [2, 3]), [0, None, 1]),
    ({"a": None, "b": 0}, {"a": 1, "b": {"c": 2}}, [None, 0]),
    ((0, 1), (None, 5), [1]),
    ((None, 1), (None, 5), [1]),
    ((), (), []),
    (Point(0, None), Point(1, (2, 3)), [0, None, None]),
]


@pytest.mark.parametrize("axes, value, result", AXES)
def test_flatten_axes(pt, axes, value, result):
    assert pt.flatten_axes("in_axes", pt.tree_structure(value), axes) == result


BAD_AXES = [
    ((0, 1), (1, 2, 3), r"in_axes does not match value:\n.*length 2\n.*length 3"),
    ((0, {"a": 1}), (1, {"b": 2}), r"in_axes\[1\] does not match value\[1\]"),
    ((0, [1]), (1, 2), r"value\[1\] is a leaf"),
    ([0], (1,), "in_axes is a list of length 1"),
]


@pytest.mark.parametrize("axes, value, message", BAD_AXES)
def test_flatten_axes_names_the_path(pt, axes, value, message):
    with pytest.raises(ValueError, match=message):
        pt.flatten_axes("in_axes", pt.tree_structure(value), axes)


def test_flatten_axes_gives_no_advice_about_none(pt):
    with pytest.raises(ValueError, match="None, an empty container") as caught:
        pt.flatten_axes("in_axes", pt.tree_structure((1, None)), (0, [1]))
    assert "is_leaf" not in str(caught.value)


def test_flatten_axes_builds_no_object(pt):
    class Strict:
        def __init__(self, x):
            if not isinstance(x, int):
                raise TypeError("x must be an int")
            self.x = x

    pt.register_pytree_node(Strict, lambda s: ((s.x,), None), lambda _, xs: Strict(*xs))
    assert pt.flatten_axes("in_axes", pt.tree_structure((Strict(1), 2)), (0, None)) == [0, None]
