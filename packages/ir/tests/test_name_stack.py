"""Scopes of names, and how a stack of them is written."""

from functools import reduce

import pytest

from ricci_ir import jvp_stack, named_call, named_scope, scope_path, transposed_stack, vmap_stack
from ricci_ir.traces._trace import context


def names():
    return scope_path(context.name_stack)


def mapped(outer):
    return vmap_stack(outer, 3)


def under(outer, entered):
    return (*outer, entered) if isinstance(entered, str) else entered(outer)


def test_scopes_nest_and_end():
    with named_scope("a"), named_scope("b"):
        assert names() == "a/b"
    assert names() == ""


@pytest.mark.parametrize(
    ("entered", "path"),
    [
        ((jvp_stack,), "jvp()"),
        ((mapped, jvp_stack), "vmap(jvp())"),
        ((jvp_stack, "a"), "jvp(a)"),
        (("a", jvp_stack), "a/jvp()"),
        ((mapped, "a", jvp_stack, "b"), "vmap(a)/jvp(b)"),
    ],
)
def test_transformations_enclose_the_scope_after_them(entered, path):
    assert scope_path(reduce(under, entered, ())) == path


def test_transposing_keeps_the_names_of_what_is_transposed():
    outer = mapped(())
    recorded = (*jvp_stack(outer), "a", "b")
    assert scope_path(transposed_stack(outer, recorded)) == "vmap(transpose(jvp(a)))/b"
    assert scope_path(transposed_stack(recorded, outer)).endswith("/b/transpose()")


def test_named_call():
    def layer():
        return names()

    assert named_call(layer)() == "layer"
    assert named_call(layer, name="other")() == "other"
    assert named_call(layer).__name__ == "layer"


def test_a_decorated_function_may_call_itself():
    @named_scope("s")
    def down(n):
        return names() if n == 0 else down(n - 1)

    assert (down(2), names()) == ("s/s/s", "")


@pytest.mark.parametrize("name", [3, None, b"x"])
def test_a_name_is_a_string(name):
    with pytest.raises(TypeError, match="string"):
        named_scope(name)
