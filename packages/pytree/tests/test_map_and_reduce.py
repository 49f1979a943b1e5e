"""Mapping over trees, reducing and transposing them."""

import pytest

MAPS = [
    ({"a": [1, None, (2,)]}, (), {"a": [(1,), None, ((2,),)]}),
    (None, (), None),
    ({"a": [1, (2,)]}, ({"a": [[1, 2], (None,)]},), {"a": [(1, [1, 2]), ((2, None),)]}),
    ([1], ([2], [{"c": 3}]), [(1, 2, {"c": 3})]),
]


@pytest.mark.parametrize("tree, rest, result", MAPS)
def test_tree_map(pt, tree, rest, result):
    assert pt.tree_map(lambda *xs: xs, tree, *rest) == result
    assert pt.tree.map(lambda *xs: xs, tree, *rest) == result
    assert pt.tree_map_with_path(lambda _, *xs: xs, tree, *rest) == result


def test_tree_map_with_none_as_leaf(pt):
    pairs = pt.tree_map(lambda *xs: xs, [1, None], [2, 3], is_leaf=lambda x: x is None)
    assert pairs == [(1, 2), (None, 3)]


def test_tree_map_lets_errors_of_the_function_pass(pt):
    with pytest.raises(ValueError, match="^mine$"):
        pt.tree_map(_raise, [1], [2])


def _raise(*_):
    raise ValueError("mine")


def test_tree_map_with_path(pt):
    show = lambda path, x: (pt.keystr(path), x)
    tree = {"a": [1, None, (2,)]}
    assert pt.tree_map_with_path(show, tree) == {
        "a": [("['a'][0]", 1), None, (("['a'][2][0]", 2),)]
    }
    is_list = lambda x: isinstance(x, list)
    assert pt.tree_map_with_path(show, {"a": [1]}, is_leaf=is_list) == {"a": ("['a']", [1])}
    assert pt.tree_map_with_path(
        show, {"a": [1]}, is_leaf=lambda path, _: len(path) == 1, is_leaf_takes_path=True
    ) == {"a": ("['a']", [1])}


# The path at which the trees differ is named for each; so is the node there.
MISMATCHES = [
    ({"a": [1, (2,)]}, {"a": [1]}, r"rest\[0\]\['a'\] is a list of length 1"),
    ({"a": 1}, {"b": 1}, r"rest\[0\] is a dict with keys \['b'\]"),
    ({"a": [1, None]}, {"a": [1, 3]}, r"rest\[0\]\['a'\]\[1\] is a leaf: 3"),
    ([1, None], [1, 3], "is_leaf=lambda x: x is None"),
    ([(1,)], [[1]], r"tree\[0\] is a tuple of length 1"),
    ([()], [5], r"rest\[0\]\[0\] is a leaf: 5"),
]


@pytest.mark.parametrize("tree, other, message", MISMATCHES)
@pytest.mark.parametrize("function", ["tree_map", "tree_map_with_path"])
def test_tree_map_names_the_path_that_differs(pt, function, tree, other, message):
    with pytest.raises(ValueError, match=message) as caught:
        getattr(pt, function)(lambda *xs: xs, tree, other)
    assert len(str(caught.value).splitlines()) <= 12


def test_tree_map_names_the_tree_that_differs(pt):
    with pytest.raises(ValueError, match=r"tree\['a'\] does not match rest\[1\]\['a'\]"):
        pt.tree_map(lambda *xs: xs, {"a": [1]}, {"a": [1]}, {"a": []})


def test_tree_reduce(pt):
    add = lambda a, b: a + b
    assert pt.tree_reduce(add, [1, (2, 3)]) == 6
    assert pt.tree_reduce(add, [1, (2, 3)], 10) == 16
    assert pt.tree_reduce(lambda a, b: (a, b), [1], None) == (None, 1)
    assert pt.tree_reduce(add, [], 4) == 4
    pairs = pt.tree_reduce(lambda a, b: (a, b), [1, None, 2], is_leaf=lambda x: x is None)
    assert pairs == ((1, None), 2)
    with pytest.raises(TypeError, match="initializer"):
        pt.tree_reduce(add, [])


ASSOCIATIVE = [
    ("a", "a"),
    ("ab", "(ab)"),
    ("abc", "(a(bc))"),
    ("abcd", "((ab)(cd))"),
    ("abcde", "((ab)(c(de)))"),
    ("abcdef", "((a(bc))(d(ef)))"),
]


@pytest.mark.parametrize("leaves, result", ASSOCIATIVE)
def test_tree_reduce_associative(pt, leaves, result):
    join = lambda a, b: f"({a}{b})"
    assert pt.tree_reduce_associative(join, list(leaves)) == result
    assert pt.tree_reduce_associative(join, list(leaves), identity="unused") == result


def test_tree_reduce_associative_without_leaves(pt):
    assert pt.tree_reduce_associative(min, [], identity=7) == 7
    with pytest.raises(TypeError, match="identity"):
        pt.tree_reduce_associative(min, [])


@pytest.mark.parametrize(
    "tree, result", [([True, 0], False), ([1, {"a": 3}], True), ([], True), (None, True)]
)
def test_tree_all(pt, tree, result):
    assert pt.tree_all(tree) is result


def test_tree_all_with_none_as_leaf(pt):
    assert not pt.tree_all([None], is_leaf=lambda x: x is None)


def test_tree_transpose(pt):
    s = pt.tree_structure
    rows = [(1, 2), (3, 4), (5, 6)]
    assert pt.tree_transpose(s([0, 0, 0]), s((0, 0)), rows) == ([1, 3, 5], [2, 4, 6])
    nested = [{"a": 1, "b": (2, 3)}, {"a": 4, "b": (5, 6)}]
    assert pt.tree_transpose(s([0, 0]), None, nested) == {"a": [1, 4], "b": ([2, 5], [3, 6])}
    assert pt.tree_transpose(s([0]), s(()), [()]) == ()


@pytest.mark.parametrize(
    "tree", [[(1, 2)], [(1, [2, 3]), (3, 4)], [(1, 2), (3,)], ((1, 2), (3, 4))]
)
def test_tree_transpose_of_another_structure(pt, tree):
    with pytest.raises(TypeError, match="expected:"):
        pt.tree_transpose(pt.tree_structure([0, 0]), pt.tree_structure((0, 0)), tree)


def test_tree_transpose_cannot_infer_without_leaves(pt):
    with pytest.raises(ValueError, match="inner_treedef"):
        pt.tree_transpose(pt.tree_structure([]), None, [])
