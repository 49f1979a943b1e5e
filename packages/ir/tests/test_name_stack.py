"""Scopes of names, and how a stack of them is written."""

import pytest

from ricci_ir import named_call, named_scope, scope_path, transposed_stack, under_jvp, under_vmap
from ricci_ir.traces._trace import context


def names():
    return scope_path(context.name_stack)


def test_scopes_nest_and_end():
    with named_scope("a"), named_scope("b"):
        assert names() == "a/b"
    assert names() == ""


@pytest.mark.parametrize(
    ("entered", "path"),
    [
        ((under_jvp,), "jvp()"),
        ((lambda: under_vmap(3), under_jvp), "vmap(jvp())"),
        ((under_jvp, lambda: named_scope("a")), "jvp(a)"),
        ((lambda: named_scope("a"), under_jvp), "a/jvp()"),
        (
            (lambda: under_vmap(3), lambda: named_scope("a"), under_jvp, lambda: named_scope("b")),
            "vmap(a)/jvp(b)",
        ),
    ],
)
def test_transformations_enclose_the_scope_after_them(entered, path):
    for enter in entered:
        enter().__enter__()
    found = names()
    context.name_stack = ()
    assert found == path


def test_transposing_keeps_the_names_of_what_is_transposed():
    with under_vmap(3):
        outer = context.name_stack
        with under_jvp(), named_scope("a"), named_scope("b"):
            recorded = context.name_stack
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
