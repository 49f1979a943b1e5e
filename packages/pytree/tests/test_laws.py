"""Laws of all trees."""

import collections

from hypothesis import given, settings
from hypothesis import strategies as st

Point = collections.namedtuple("Point", "a b")


def _containers(children):
    keys = st.text("abc", max_size=2)
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(keys, children, max_size=3),
        st.dictionaries(keys, children, max_size=3).map(collections.OrderedDict),
        st.dictionaries(keys, children, max_size=3).map(lambda d: collections.defaultdict(int, d)),
        st.builds(Point, children, children),
    )


TREES = st.recursive(st.none() | st.integers(), _containers, max_leaves=12)
few = settings(max_examples=50, deadline=None)


@few
@given(tree=TREES)
def test_unflatten_inverts_flatten(pt, tree):
    leaves, treedef = pt.tree_flatten(tree)
    rebuilt = pt.tree_unflatten(treedef, leaves)
    assert rebuilt == tree
    assert pt.tree_structure(rebuilt) == treedef
    assert treedef.num_leaves == len(leaves)


@few
@given(tree=TREES)
def test_flatten_inverts_unflatten(pt, tree):
    treedef = pt.tree_structure(tree)
    leaves = [object() for _ in range(treedef.num_leaves)]
    assert pt.tree_leaves(pt.tree_unflatten(treedef, leaves)) == leaves


@few
@given(tree=TREES)
def test_paths_are_distinct_and_in_leaf_order(pt, tree):
    keyed = pt.tree_leaves_with_path(tree)
    assert [leaf for _, leaf in keyed] == pt.tree_leaves(tree)
    assert len({path for path, _ in keyed}) == len(keyed)


@few
@given(outer=TREES, inner=TREES)
def test_compose_is_substitution(pt, outer, inner):
    composed = pt.tree_structure(outer).compose(pt.tree_structure(inner))
    assert composed == pt.tree_structure(pt.tree_map(lambda _: inner, outer))


@few
@given(outer=TREES, inner=TREES)
def test_a_tree_is_a_prefix_of_itself_extended(pt, outer, inner):
    full = pt.tree_map(lambda _: inner, outer)
    treedef = pt.tree_structure(outer)
    assert treedef.flatten_up_to(full) == [inner] * treedef.num_leaves
    assert pt.prefix_errors(outer, full) == []
    repeated = [x for x in pt.tree_leaves(outer) for _ in pt.tree_leaves(inner)]
    assert pt.broadcast_prefix(outer, full) == repeated


@few
@given(a=TREES, b=TREES)
def test_prefix_errors_agree_with_flatten_up_to(pt, a, b):
    try:
        pt.tree_structure(a).flatten_up_to(b)
    except ValueError:
        fits = False
    else:
        fits = True
    assert fits == (not pt.prefix_errors(a, b))
