"""The methods of a tree structure, the same for both engines."""

import collections

import pytest

Point = collections.namedtuple("Point", "a b")
Other = collections.namedtuple("Other", "a b")
OD = collections.OrderedDict

# tree, node data, number of children, leaves and nodes
NODES = [
    (1, None, 0, 1, 1),
    (None, (type(None), None), 0, 0, 1),
    ((1, 2), (tuple, None), 2, 2, 3),
    ([1, [2, None]], (list, None), 2, 2, 5),
    ({"b": 1, "a": 2}, (dict, ["a", "b"]), 2, 2, 3),
    (Point(1, 2), (Point, None), 2, 2, 3),
    (OD(b=1, a=2), (OD, ("b", "a")), 2, 2, 3),
]


@pytest.mark.parametrize("tree, node_data, children, leaves, nodes", NODES)
def test_node_data(pt, tree, node_data, children, leaves, nodes):
    treedef = pt.tree_structure(tree)
    assert treedef.node_data() == node_data
    assert len(treedef.children()) == children
    assert (treedef.num_leaves, treedef.num_nodes) == (leaves, nodes)
    assert pt.treedef_is_leaf(treedef) == (nodes == 1)
    assert pt.treedef_children(treedef) == treedef.children()
    rebuilt = pt.PyTreeDef.from_node_data_and_children(
        pt.default_registry, node_data, treedef.children()
    )
    assert rebuilt == treedef


DISTINCT = [1, None, (), [], {}, (1,), [1], {"a": 1}, {"b": 1}, Point(1, 2), Other(1, 2), OD(a=1)]


def test_equal_only_to_itself(pt):
    structures = [pt.tree_structure(tree) for tree in DISTINCT]
    for i, a in enumerate(structures):
        for j, b in enumerate(structures):
            assert (a == b) is (i == j)
            assert (a != b) is (i != j)


@pytest.mark.parametrize("tree", DISTINCT)
def test_equal_structures_have_equal_hashes(pt, tree):
    a, b = pt.tree_structure(tree), pt.tree_structure(tree)
    assert a == b
    assert hash(a) == hash(b)


def test_structures_are_immutable(pt):
    with pytest.raises(AttributeError):
        pt.tree_structure(1).num_leaves = 2


COUNTS = [([1, 2], [1]), ([1, 2], [1, 2, 3]), (1, []), (1, [1, 2]), ((), [1])]


@pytest.mark.parametrize("tree, leaves", COUNTS)
def test_unflatten_counts_leaves(pt, tree, leaves):
    word = "few" if len(leaves) < pt.tree_structure(tree).num_leaves else "many"
    with pytest.raises(
        ValueError, match=f"Too {word} leaves.*expected {len(pt.tree_leaves(tree))}"
    ):
        pt.tree_unflatten(pt.tree_structure(tree), leaves)


def test_unflatten_takes_any_iterable(pt):
    treedef = pt.tree_structure({"b": 1, "a": 2})
    assert pt.tree_unflatten(treedef, iter([1, 2])) == {"a": 1, "b": 2}
    assert list(pt.tree_unflatten(treedef, "xy")) == ["a", "b"]
    with pytest.raises(TypeError):
        pt.tree_unflatten(treedef, 1)


FITS = [
    ([1, 2], [1, {"a": 3}], [1, {"a": 3}]),
    (1, None, [None]),
    (None, None, []),
    ([None], [None], []),
    ({}, {}, []),
    ({"a": 1, "b": [2]}, {"b": [(1,)], "a": None}, [None, (1,)]),
    (Point(1, 2), Point(3, [4]), [3, [4]]),
    (OD(b=1, a=2), OD(b=[3], a=4), [[3], 4]),
]


@pytest.mark.parametrize("tree, full, subtrees", FITS)
def test_flatten_up_to(pt, tree, full, subtrees):
    assert pt.tree_structure(tree).flatten_up_to(full) == subtrees


class _List(list):
    pass


DOES_NOT_FIT = [
    ([1, 2], (1, 2)),
    ([1, 2], [1]),
    ([], [1]),
    ((1, 2), [1, 2]),
    ((1, 2), Point(1, 2)),
    ({"a": 1}, {"b": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, 1),
    ({"a": 1}, OD(a=1)),
    (None, 1),
    (Point(1, 2), (1, 2)),
    (Point(1, 2), Other(1, 2)),
    ([1], _List([1])),
    ([[1, [2]]], [[1, 2]]),
    (OD(a=1, b=2), OD(b=2, a=1)),
]


@pytest.mark.parametrize("tree, full", DOES_NOT_FIT)
def test_flatten_up_to_of_another_structure(pt, tree, full):
    with pytest.raises(ValueError):
        pt.tree_structure(tree).flatten_up_to(full)


def test_compose(pt):
    composed = pt.tree_structure([1, 2]).compose(pt.tree_structure({"a": 1, "b": None}))
    assert repr(composed) == "PyTreeDef([{'a': *, 'b': None}, {'a': *, 'b': None}])"
    assert (composed.num_leaves, composed.num_nodes) == (2, 7)


def test_compose_needs_one_registry(pt):
    other = pt.none_leaf_registry.flatten([1])[1]
    with pytest.raises(ValueError):
        pt.tree_structure([1]).compose(other)
    with pytest.raises(ValueError):
        pt.treedef_tuple([other])


def test_treedef_tuple(pt):
    s = pt.tree_structure
    assert pt.treedef_tuple([s(1), s([2])]) == s((1, [2]))
    assert pt.treedef_tuple(x for x in [s(1)]) == s((1,))
    assert pt.treedef_tuple([]) == s(())


def test_walk(pt):
    treedef = pt.tree_structure([Point(1, 2), {"b": None}])
    result = treedef.walk(lambda children, data: (children, data), lambda leaf: leaf * 10, [1, 2])
    assert result == ((((10, 20), Point), ((((), None),), ["b"])), None)
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError):
            treedef.walk(lambda *_: None, lambda leaf: leaf, leaves)


def test_build_tree(pt):
    treedef = pt.tree_structure([1, {"a": (2, None)}])
    assert pt.build_tree(treedef, [1, [(2, ())]]) == [1, {"a": (2, None)}]
    with pytest.raises(ValueError):
        pt.build_tree(treedef, [1])


# The bytes that jaxlib writes.
MESSAGES = [
    (1, b"\n\x02\x10\x01"),
    (None, b"\n\x02\x10\x03"),
    ((1,), b"\n\x02\x10\x01\n\x04\x08\x01\x10\x04"),
    (
        [1, [2, None]],
        b"\n\x02\x10\x01\n\x02\x10\x01\n\x02\x10\x03\n\x04\x08\x02\x10\x02\n\x04\x08\x02\x10\x02",
    ),
    (
        {"b": 1, "a": 2},
        b"\n\x02\x10\x01\n\x02\x10\x01\n\n\x08\x02\x10\x05\x1a\x04\n\x02\x00\x01\x12\x01a\x12\x01b",
    ),
    ({}, b"\n\x02\x10\x05"),
]


@pytest.mark.parametrize("tree, message", MESSAGES)
def test_protocol_buffer(pt, tree, message):
    treedef = pt.tree_structure(tree)
    assert treedef.serialize_using_proto() == message
    assert pt.PyTreeDef.deserialize_using_proto(pt.default_registry, message) == treedef


@pytest.mark.parametrize("tree", [{3: 1}, Point(1, 2), OD(a=1)])
def test_protocol_buffer_cannot_hold(pt, tree):
    with pytest.raises(ValueError):
        pt.tree_structure(tree).serialize_using_proto()
