"""Leaves, printed structure and paths of every kind of container, as JAX gives them."""

import collections
import types

import pytest

Point = collections.namedtuple("Point", "a b")
OD = collections.OrderedDict


class SubList(list):
    pass


class SubDict(dict):
    pass


class SubPoint(Point):
    pass


# tree, leaves, treedef, paths
CASES = {
    "leaf": (1, [1], "*", [""]),
    "string": ("abc", ["abc"], "*", [""]),
    "none": (None, [], "None", []),
    "tuple": ((1, 2), [1, 2], "(*, *)", ["[0]", "[1]"]),
    "tuple of one": ((1,), [1], "(*,)", ["[0]"]),
    "empty tuple": ((), [], "()", []),
    "list": ([1, [2, None]], [1, 2], "[*, [*, None]]", ["[0]", "[1][0]"]),
    "empty list": ([], [], "[]", []),
    "dict": ({"b": 1, "a": 2}, [2, 1], "{'a': *, 'b': *}", ["['a']", "['b']"]),
    "int keys": ({3: 1, 1: 2}, [2, 1], "{1: *, 3: *}", ["[1]", "[3]"]),
    "tuple keys": (
        {(1, 2): 1, (0, 5): 2},
        [2, 1],
        "{(0, 5): *, (1, 2): *}",
        ["[(0, 5)]", "[(1, 2)]"],
    ),
    "None key": ({None: 1}, [1], "{None: *}", ["[None]"]),
    "empty dict": ({}, [], "{}", []),
    "namedtuple": (Point(1, 2), [1, 2], "CustomNode(namedtuple[Point], [*, *])", [".a", ".b"]),
    "namedtuple subclass": (
        SubPoint(1, 2),
        [1, 2],
        "CustomNode(namedtuple[SubPoint], [*, *])",
        [".a", ".b"],
    ),
    "OrderedDict": (
        OD(b=1, a=2),
        [1, 2],
        "CustomNode(OrderedDict[('b', 'a')], [*, *])",
        ["['b']", "['a']"],
    ),
    "defaultdict": (
        collections.defaultdict(list, {"b": 1, "a": [2]}),
        [2, 1],
        "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [[*], *])",
        ["['a'][0]", "['b']"],
    ),
    "nested": (
        {"a": (1, [2, {"c": 3}]), "b": Point(None, OD(z=1))},
        [1, 2, 3, 1],
        "{'a': (*, [*, {'c': *}]), "
        "'b': CustomNode(namedtuple[Point], [None, CustomNode(OrderedDict[('z',)], [*])])}",
        ["['a'][0]", "['a'][1][0]", "['a'][1][1]['c']", "['b'].b['z']"],
    ),
}

LEAVES = [
    collections.deque([1, 2]),
    frozenset([1]),
    collections.ChainMap({"a": 1}),
    collections.Counter("ab"),
    types.SimpleNamespace(a=1),
    types.MappingProxyType({"a": 1}),
    SubList([1]),
    SubDict(a=1),
]


@pytest.mark.parametrize("tree, leaves, treedef, paths", CASES.values(), ids=CASES)
def test_flatten(pt, tree, leaves, treedef, paths):
    assert pt.tree_flatten(tree)[0] == leaves
    assert repr(pt.tree_structure(tree)) == f"PyTreeDef({treedef})"
    keyed, structure = pt.tree_flatten_with_path(tree)
    assert [pt.keystr(path) for path, _ in keyed] == paths
    assert [leaf for _, leaf in keyed] == leaves
    assert structure == pt.tree_structure(tree)


@pytest.mark.parametrize("tree", [case[0] for case in CASES.values()], ids=CASES)
def test_unflatten_inverts_flatten(pt, tree):
    leaves, treedef = pt.tree_flatten(tree)
    rebuilt = pt.tree_unflatten(treedef, leaves)
    assert rebuilt == tree
    assert type(rebuilt) is type(tree)


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: type(leaf).__name__)
def test_other_containers_are_leaves(pt, leaf):
    assert pt.tree_leaves([leaf])[0] is leaf
    assert not pt.is_tree_node(type(leaf))
    with pytest.raises(ValueError, match="needs a container"):
        pt.flatten_one_level(leaf)
    with pytest.raises(ValueError, match="needs a container"):
        pt.flatten_one_level_with_keys(leaf)


# tree, children, static data, str of keys
ONE_LEVEL = [
    (None, [], None, []),
    ((1, [2]), [1, [2]], None, ["[0]", "[1]"]),
    ([1, (2,)], [1, (2,)], None, ["[0]", "[1]"]),
    ({"b": [1], "a": 2}, [2, [1]], ("a", "b"), ["['a']", "['b']"]),
    (Point(1, [2]), [1, [2]], Point, [".a", ".b"]),
    (OD(b=1, a=2), [1, 2], ("b", "a"), ["['b']", "['a']"]),
]


@pytest.mark.parametrize("tree, children, data, keys", ONE_LEVEL)
def test_flatten_one_level(pt, tree, children, data, keys):
    found, found_data = pt.flatten_one_level(tree)
    assert (list(found), found_data) == (children, data)
    keyed, keyed_data = pt.flatten_one_level_with_keys(tree)
    assert ([child for _, child in keyed], keyed_data) == (children, data)
    assert [str(key) for key, _ in keyed] == keys


def test_namedtuples_are_nodes(pt):
    assert pt.is_tree_node(Point)


@pytest.mark.parametrize(
    "function", ["tree_flatten", "tree_flatten_with_path", "flatten_one_level"]
)
def test_keys_that_cannot_be_sorted(pt, function):
    with pytest.raises(ValueError, match="keys"):
        getattr(pt, function)({"a": 1, 2: 3})


IS_LEAF = [
    (lambda x: x is None, [1, [2], None], [1, 2, None], "[*, [*], *]"),
    (lambda x: isinstance(x, list) and len(x) == 1, [1, [2], None], [1, [2]], "[*, *, None]"),
    (lambda x: True, [1], [[1]], "*"),
]


@pytest.mark.parametrize("is_leaf, tree, leaves, treedef", IS_LEAF)
def test_is_leaf(pt, is_leaf, tree, leaves, treedef):
    assert pt.tree_leaves(tree, is_leaf) == leaves
    assert repr(pt.tree_structure(tree, is_leaf=is_leaf)) == f"PyTreeDef({treedef})"
    assert [x for _, x in pt.tree_leaves_with_path(tree, is_leaf)] == leaves


def test_is_leaf_must_return_a_bool(pt):
    with pytest.raises(ValueError, match="is_leaf.*'yes'"):
        pt.tree_flatten([1], lambda x: "yes")


def test_is_leaf_may_raise(pt):
    with pytest.raises(ZeroDivisionError):
        pt.tree_flatten([1], lambda x: 1 / 0)


def test_is_leaf_with_path_sees_every_node_once_in_order(pt):
    seen = []

    def is_leaf(path, node):
        seen.append((pt.keystr(path), node))
        return len(path) == 2

    keyed = pt.tree_leaves_with_path([1, [2, {"a": 1}]], is_leaf, is_leaf_takes_path=True)
    assert seen == [
        ("", [1, [2, {"a": 1}]]),
        ("[0]", 1),
        ("[1]", [2, {"a": 1}]),
        ("[1][0]", 2),
        ("[1][1]", {"a": 1}),
    ]
    assert [leaf for _, leaf in keyed] == [1, 2, {"a": 1}]


def test_none_leaf_registry_keeps_none(pt):
    leaves, treedef = pt.none_leaf_registry.flatten([None, 1, {"a": None}])
    assert leaves == [None, 1, None]
    assert repr(treedef) == "PyTreeDef([*, *, {'a': *}])"


def test_all_leaves(pt):
    assert pt.all_leaves([1, "a"])
    assert pt.all_leaves([])
    assert not pt.all_leaves([1, [2]])
    assert not pt.all_leaves([None])
    assert pt.all_leaves([None], is_leaf=lambda x: x is None)
    assert not pt.all_leaves([()], is_leaf=lambda x: x is None)
