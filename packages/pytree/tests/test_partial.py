"""Partial applications as containers."""

import functools

import pytest


def test_arguments_are_leaves(pt):
    partial = pt.Partial(max, 1, key=2)
    assert pt.tree_leaves(partial) == [1, 2]
    treedef = "PyTreeDef(CustomNode(Partial[<built-in function max>], [(*,), {'key': *}]))"
    assert repr(pt.tree_structure(partial)) == treedef
    paths = [pt.keystr(path) for path, _ in pt.tree_leaves_with_path(partial)]
    assert paths == ["[<flat index 0>][0]", "[<flat index 1>]['key']"]


def test_calls_and_maps(pt):
    partial = pt.Partial(int.__add__, 10)
    assert partial(1) == 11
    assert pt.tree_map(lambda x: x * 2, partial)(1) == 21
    assert isinstance(partial, functools.partial)


def test_structures_compare_functions(pt):
    s, Partial = pt.tree_structure, pt.Partial
    assert s(Partial(max, 1)) == s(Partial(max, 2))
    assert s(Partial(max, 1)) != s(Partial(min, 1))


@pytest.mark.parametrize("inner", [functools.partial(max, 1), None])
def test_arguments_of_a_wrapped_partial_are_static(pt, inner):
    inner = pt.Partial(max, 1) if inner is None else inner
    outer = pt.Partial(inner, 2)
    assert outer(0) == 2
    assert outer.args == (2,)
    assert pt.tree_leaves(outer) == [2]
    assert pt.tree_structure(outer) == pt.tree_structure(pt.Partial(inner, 3))
    assert hash(pt.tree_structure(outer)) == hash(pt.tree_structure(pt.Partial(inner, 3)))


@pytest.mark.parametrize("args", [(), (3,)])
def test_needs_a_function(pt, args):
    with pytest.raises(TypeError):
        pt.Partial(*args)
