"""Calls after a captured variable has changed since their function was traced.

As in JAX: what keeps the programs of a function keeps the values that it closed over; what traces
a function in each call sees new ones.
"""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

X = np.arange(3, dtype=np.float32)


class Factor:
    """A number that changes."""

    def __init__(self):
        self.value = 1.0


SEEN = {
    "map": lambda b, f: lambda x: lax.map(f, x),
    "map in batches": lambda b, f: lambda x: lax.map(f, x, batch_size=2),
    "vmap": lambda b, f: lambda x: ricci.vmap(f)(x),
    "grad": lambda b, f: lambda x: ricci.grad(lambda x: f(x).sum())(x),
    "jvp": lambda b, f: lambda x: ricci.jvp(f, (x,), (x,)),
    "linearize": lambda b, f: lambda x: ricci.linearize(f, x)[1](x),
    "make_jaxpr": lambda b, f: lambda x: np.float32(str(ricci.make_jaxpr(f)(x)).count("1.0")),
    "pure_callback": lambda b, f: lambda x: ricci.pure_callback(lambda x: x * b.value, x, x),
    "apply_along_axis": lambda b, f: lambda x: jnp.apply_along_axis(f, 0, x),
    "jit of a partial": lambda b, f: (
        lambda x: ricci.jit(ricci.tree_util.Partial(lambda n, x: f(x) + n, 1.0))(x)
    ),
}
KEPT = {
    "jit": lambda b, f: ricci.jit(f),
    "jit, wrapped anew": lambda b, f: lambda x: ricci.jit(f)(x),
    "scan": lambda b, f: (
        lambda g: lambda x: lax.scan(g, jnp.float32(1), x)
    )(lambda c, x: (c * b.value, f(x))),
    "cond": lambda b, f: lambda x: lax.cond(True, f, jnp.sin, x),
    "switch": lambda b, f: lambda x: lax.switch(jnp.int32(0), [f, jnp.sin], x),
    "fori_loop": lambda b, f: (
        lambda g: lambda x: lax.fori_loop(0, 3, g, x)
    )(lambda i, x: f(x)),
    "while_loop": lambda b, f: (
        lambda p, g: lambda x: lax.while_loop(p, g, (0, x))
    )(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1]))),
    "checkpoint": lambda b, f: ricci.checkpoint(f),
    "at.apply": lambda b, f: lambda x: x.at[1:].apply(f),
}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "sees"),
    [*((make, True) for make in SEEN.values()), *((make, False) for make in KEPT.values())],
    ids=[*SEEN, *KEPT],
)
def test_a_variable_that_has_changed(make, sees):
    factor = Factor()
    call = make(factor, lambda x: x * factor.value)
    x = jnp.asarray(X)
    before = ricci.tree.leaves(call(x))
    factor.value = 2.0
    after = ricci.tree.leaves(call(x))
    changed = any(np.any(np.asarray(a) != b) for a, b in zip(before, after, strict=True))
    assert changed == sees
    ricci.clear_caches()
    if not sees:
        again = ricci.tree.leaves(make(factor, lambda x: x * factor.value)(x))
        assert any(np.any(np.asarray(a) != b) for a, b in zip(before, again, strict=True))


def test_unchanged_map_is_not_recompiled():
    names = []

    def listener(event, seconds, **about):
        if event.endswith("backend_compile_duration"):
            names.append(about["fun_name"])

    factor = Factor()
    offset = jnp.ones(3)
    f = lambda x: x * factor.value + offset
    x = jnp.asarray(X)
    lax.map(f, x)
    ricci.monitoring.register_event_duration_secs_listener(listener)
    try:
        for _ in range(3):
            lax.map(f, x)
        assert names == []
        offset = jnp.zeros(3)  # an operand of the program
        assert np.asarray(lax.map(f, x)).tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
        assert names == []
        factor.value = 2.0
        assert np.asarray(lax.map(f, x)).tolist() == [[0, 0, 0], [2, 2, 2], [4, 4, 4]]
        assert len(names) == 1
    finally:
        ricci.monitoring.unregister_event_duration_listener(listener)


EAGER_CALLS = {
    "checkpoint": lambda x: ricci.checkpoint(lambda y: jnp.sin(y) * 2)(x),
    "composite": lambda x: lax.composite(lambda y: jnp.sin(y) * 2, "test.twice_sine")(x),
    "platform_dependent": lambda x: lax.platform_dependent(x, default=lambda y: jnp.sin(y) * 2),
    "dce_sink": lambda x: (lax.dce_sink(x), jnp.sin(x) * 2)[1],
}


def wave(scale=2.0):
    """Return a function with a checkpoint around a new inner function."""
    return ricci.checkpoint(lambda y: jnp.sum(jnp.sin(y) * scale))


# Derivatives and batches of a function at an array.
TRANSFORMATIONS = {
    "grad": lambda fun, x: ricci.grad(fun)(x),
    "jvp": lambda fun, x: ricci.jvp(fun, (x,), (x,))[1],
    "vmap": lambda fun, x: ricci.vmap(fun)(x),
    "grad of vmap": lambda fun, x: ricci.grad(lambda x: jnp.sum(ricci.vmap(fun)(x)))(x),
    "jacfwd of grad": lambda fun, x: ricci.jacfwd(ricci.grad(fun))(x),
}


def compiled_in(call):
    """Return the names of the compilations in the last three of seven calls."""
    compiled = []

    def listener(event, seconds, **about):
        if event.endswith("backend_compile_duration"):
            compiled.append(about["fun_name"])

    for _ in range(4):
        call()
    ricci.monitoring.register_event_duration_secs_listener(listener)
    try:
        for _ in range(3):
            call()
    finally:
        ricci.monitoring.unregister_event_duration_listener(listener)
    return compiled


@pytest.mark.parametrize("transform", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)
def test_derivatives_of_a_new_checkpoint_each_compile_nothing(transform):
    x = jnp.asarray(X)
    expected = transform(lambda y: jnp.sum(jnp.sin(y) * 2), x)
    for _ in range(4):  # beyond the first calls of one function, which are compiled at last
        np.testing.assert_allclose(transform(wave(), x), expected, rtol=1e-6)
    np.testing.assert_allclose(ricci.jit(lambda x: transform(wave(), x))(x), expected, rtol=1e-6)
    assert compiled_in(lambda: transform(wave(), x)) == []
    scales = iter(range(2, 20))  # each is a literal of the function's jaxpr
    assert compiled_in(lambda: transform(wave(float(next(scales))), x)) == []
    lasting = wave()
    for _ in range(5):
        np.testing.assert_allclose(transform(lasting, x), expected, rtol=1e-6)


@pytest.mark.parametrize("call", EAGER_CALLS.values(), ids=EAGER_CALLS)
def test_eager_calls_with_a_new_function_each_compile_nothing(call):
    x = jnp.asarray(X)
    assert compiled_in(lambda: call(x)) == []
    values = [np.asarray(call(x)) for _ in range(3)]
    np.testing.assert_allclose(values, [np.sin(X) * 2] * 3, rtol=1e-6)
    np.testing.assert_allclose(ricci.jit(call)(x), np.sin(X) * 2, rtol=1e-6)
