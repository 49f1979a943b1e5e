"""An effect that a library defines is allowed where the library registers it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jax
import jax.experimental
import jax.numpy as jnp
from jax import lax
from jax._src import effects
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

SETS = {
    "lowerable": effects.lowerable_effects,
    "control flow": effects.control_flow_allowed_effects,
    "custom derivatives": effects.custom_derivatives_allowed_effects,
    "remat": effects.remat_allowed_effects,
}


def make_send(*places: str) -> Primitive:
    """The identity with an effect, which is allowed in the given places."""

    class Sends(effects.Effect):
        def __str__(self):
            return "Sends"

    for place in places:
        SETS[place].add_type(Sends)
    sends = Sends()
    send = Primitive("send")
    send.def_impl(lambda x: x)
    send.def_effectful_abstract_eval(lambda x: (x, {sends}))
    ad.defjvp(send, lambda t, x: t)
    batching.primitive_batchers[send] = lambda args, dims: (send.bind(*args), dims[0])
    mlir.register_lowering(send, lambda ctx, x: [x])
    return send


def _custom_jvp(send):
    fun = jax.custom_jvp(lambda x: send(x))
    fun.defjvp(lambda primals, tangents: (send(primals[0]), tangents[0]))
    return fun


def _custom_vjp(send):
    fun = jax.custom_vjp(lambda x: send(x))
    fun.defvjp(lambda x: (send(x), None), lambda _, ct: (send(ct),))
    return fun


def _root(f):
    return lambda x: lax.custom_root(
        lambda y: f(y) - x, 1.0, lambda g, x: x + 0 * g(x), lambda g, y: y / g(1.0)
    )


type Operation = Callable[[Callable[..., Any]], Callable[..., Any]]

# Where an effect is refused unless it is declared: the place, and the operation.
REFUSED: dict[str, tuple[str, Operation]] = {
    "scan": ("control flow", lambda f: lambda x: lax.scan(lambda c, _: (f(c), 0), x, None, 2)[0]),
    "fori_loop": ("control flow", lambda f: lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x)),
    "map": ("control flow", lambda f: lambda x: lax.map(f, jnp.stack([x, x]))[0]),
    "while_loop body": (
        "control flow",
        lambda f: lambda x: lax.while_loop(lambda c: c < 1, lambda c: f(c) + 1, x),
    ),
    "while_loop condition": (
        "control flow",
        lambda f: lambda x: lax.while_loop(lambda c: f(c) < 1, lambda c: c + 1, x),
    ),
    "cond": ("control flow", lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x)),
    "switch": ("control flow", lambda f: lambda x: lax.switch(1, [f, lambda x: x], x)),
    "cond of scan": (
        "control flow",
        lambda f: (
            lambda x: lax.cond(
                x > 0, lambda x: lax.scan(lambda c, _: (f(c), 0), x, None, 2)[0], lambda x: x, x
            )
        ),
    ),
    "scan of jit": (
        "control flow",
        lambda f: lambda x: lax.scan(lambda c, _: (jax.jit(f)(c), 0), x, None, 2)[0],
    ),
    "custom_root": ("custom derivatives", _root),
    "grad of checkpoint": ("remat", lambda f: jax.grad(jax.checkpoint(lambda x: f(x) * x / 2))),
    "linearize of checkpoint": (
        "remat",
        lambda f: lambda x: jax.linearize(jax.checkpoint(lambda x: f(x) * x), x)[0],
    ),
}
# Where an effect need not be declared, unless the program is compiled.
ACCEPTED: dict[str, Operation] = {
    "bind": lambda f: f,
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x]))[0],
    "linearize": lambda f: lambda x: jax.linearize(f, x)[0],
    "custom_jvp": _custom_jvp,
    "grad of custom_jvp": lambda f: jax.grad(_custom_jvp(f)),
    "vmap of custom_jvp": lambda f: lambda x: jax.vmap(_custom_jvp(f))(jnp.stack([x, x]))[0],
    "custom_vjp": _custom_vjp,
    "grad of custom_vjp": lambda f: jax.grad(_custom_vjp(f)),
    "tangent_solve": lambda f: (
        lambda x: lax.custom_root(
            lambda y: y - x, 1.0, lambda g, x: x + 0 * g(x), lambda g, y: f(y / g(1.0))
        )
    ),
    "closure_convert": lambda f: lambda x: jax.closure_convert(f, x)[0](x),
}


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.make_jaxpr])
@pytest.mark.parametrize("name", REFUSED)
def test_an_effect_that_is_not_declared_is_refused(name, transform):
    place, operation = REFUSED[name]
    send = make_send(*(set(SETS) - {place}))
    with pytest.raises(NotImplementedError, match=r"effects \{Sends\} are not supported"):
        transform(operation(send.bind))(1.0)


@pytest.mark.sampled(29)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
@pytest.mark.parametrize("name", REFUSED)
def test_an_effect_that_is_declared_happens(name, transform, wide):
    with jax.enable_x64(wide):
        place, operation = REFUSED[name]
        send = make_send("lowerable", place)
        assert transform(operation(send.bind))(1.0) == 1.0


def test_an_effect_that_is_declared_after_it_was_refused():
    send = make_send("lowerable")
    looped = jax.jit(REFUSED["scan"][1](send.bind))
    with pytest.raises(NotImplementedError):
        looped(1.0)
    (sends,) = jax.make_jaxpr(send.bind)(1.0).effects
    effects.control_flow_allowed_effects.add_type(type(sends))
    assert looped(1.0) == 1.0


@pytest.mark.parametrize("name", ACCEPTED)
def test_only_compiled_programs_need_lowerable_effects(name):
    fun = ACCEPTED[name](make_send().bind)
    assert fun(1.0) == 1.0
    if jax.make_jaxpr(fun)(1.0).effects:
        with pytest.raises(ValueError, match=r"effects \{Sends\}.*lowerable = True"):
            jax.jit(fun)(1.0)
    assert jax.jit(ACCEPTED[name](make_send("lowerable").bind))(1.0) == 1.0


def test_io_callback_is_refused_where_it_would_happen_again():
    find = _root(lambda y: jax.experimental.io_callback(np.asarray, y, y))
    with pytest.raises(NotImplementedError, match=r"custom_root.*\{IO\}"):
        find(jnp.float32(1.0))


def test_programs_that_are_lowered_without_running():
    jitted = jax.jit(make_send().bind)
    assert list(map(str, jitted.trace(1.0).jaxpr.effects)) == ["Sends"]
    with pytest.raises(ValueError, match="lowerable"):
        jitted.lower(1.0)


def test_subclasses_are_of_the_kind_and_other_kinds_are_not():
    class Base(effects.Effect): ...

    class Derived(Base): ...

    class Other(effects.Effect): ...

    for allowed in SETS.values():
        assert not allowed.contains(Base())
        allowed.add_type(Base)
        assert allowed.contains(Base())
        assert allowed.contains(Derived())
        assert not allowed.contains(Other())
        base, other = Base(), Other()
        assert allowed.filter_in([base, other]) == [base]
        assert allowed.filter_not_in([base, other]) == [other]


@pytest.mark.parametrize("wrong", [3, str, effects.Effect()])
def test_only_classes_of_effects_are_added(wrong):
    with pytest.raises(TypeError, match="subclass of Effect"):
        effects.lowerable_effects.add_type(wrong)


# For control flow, custom derivatives, lowering, order and checkpoint, as in JAX.
BUILT_IN = {
    "debug": (lambda x: jax.debug.print("{}", x), [True, True, True, False, True]),
    "ordered debug": (
        lambda x: jax.debug.print("{}", x, ordered=True),
        [True, True, True, True, True],
    ),
    "io": (lambda x: jax.experimental.io_callback(np.sin, x, x), [True, False, True, False, False]),
    "ordered io": (
        lambda x: jax.experimental.io_callback(np.sin, x, x, ordered=True),
        [True, False, True, True, False],
    ),
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_where_callbacks_may_happen(name):
    fun, expected = BUILT_IN[name]
    (effect,) = jax.make_jaxpr(fun)(jnp.float32(1.0)).effects
    sets = (
        effects.control_flow_allowed_effects,
        effects.custom_derivatives_allowed_effects,
        effects.lowerable_effects,
        effects.ordered_effects,
        effects.remat_allowed_effects,
    )
    assert [s.contains(effect) for s in sets] == expected
