"""``jax.extend.source_info_util``: the user's line, and the names around operations."""

import jax
import jax.numpy as jnp
from jax.extend import source_info_util as siu


def names():
    return str(siu.current_name_stack())


def test_names_in_force():
    with jax.named_scope("a"):
        assert names() == "a"
        with siu.extend_name_stack("b") as inside:
            assert (names(), str(inside)) == ("a/b", "a/b")
        with siu.transform_name_stack("jvp"):
            assert names() == "a/jvp()"
            with siu.extend_name_stack("c"):
                assert names() == "a/jvp(c)"
        with siu.reset_name_stack():
            assert names() == ""
        with siu.set_name_stack(siu.new_name_stack("z")):
            assert names() == "z"
        assert names() == "a"


def test_stacks_are_values():
    stack = siu.new_name_stack("q").extend("r").transform("vmap")
    assert (str(stack), len(stack.stack)) == ("q/r/vmap()", 3)
    assert siu.new_name_stack() == siu.NameStack()
    assert str(siu.new_name_stack("q") + siu.new_name_stack("r")) == "q/r"


def test_an_operation_gets_the_place_and_the_names_of_another():
    (original,) = jax.make_jaxpr(jnp.sin)(1.0).eqns

    def replay(x):
        place = original.source_info.traceback
        with siu.user_context(place, name_stack=siu.new_name_stack("inner")):
            return jax.lax.cos(x)

    for transform in (lambda f: f, jax.vmap):
        jaxpr = jax.make_jaxpr(transform(replay))(jnp.ones(2))
        (copy,) = jaxpr.eqns
        assert siu.summarize(copy.source_info) == siu.summarize(original.source_info)
        assert str(copy.source_info.name_stack).endswith("inner")
    (free,) = jax.make_jaxpr(jnp.sin)(1.0).eqns
    assert str(free.source_info.name_stack) == ""


def test_an_error_puts_the_context_back():
    try:
        with siu.user_context(None, name_stack=siu.new_name_stack("broken")):
            raise ZeroDivisionError
    except ZeroDivisionError:
        assert names() == ""


def test_places():
    assert "test_places_and_names.py" in siu.summarize(siu.current())
    made = siu.SourceInfo(siu.current().traceback, siu.new_name_stack("r"))
    assert (str(made.name_stack), made.function) == ("r", "test_places")
    assert siu.new_source_info().traceback is None
