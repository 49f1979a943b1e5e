"""Eager functions under axes of another type, and jaxprs that end on another mesh."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci.sharding import (
    AbstractMesh,
    AxisType,
    NamedSharding,
    auto_axes,
    explicit_axes,
    reshard,
    use_abstract_mesh,
)
from ricci.sharding import PartitionSpec as P

pytestmark = pytest.mark.usefixtures("eight_devices")
AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


def mesh_of(kind):
    return jax.make_mesh((4, 2), ("x", "y"), (kind, kind))


@pytest.fixture(params=["x", None])
def axes(request):
    return request.param


def seen_in(calls):
    def fun(x):
        calls.append((isinstance(x, jax.core.Tracer), x.sharding, str(jax.typeof(x))))
        return x * 2 if x.sum() > 3 else x

    return fun


def test_eager_auto_axes_show_the_arrays_and_their_shardings(axes):
    calls = []
    with jax.set_mesh(mesh_of(EXPLICIT)):
        x = reshard(jnp.arange(8.0), P("x"))
        for _ in range(2):
            y = auto_axes(seen_in(calls), axes=axes, out_sharding=P("y"))(x)
            assert y.sharding == NamedSharding(mesh_of(EXPLICIT), P("y"))
            np.testing.assert_array_equal(y, 2 * np.arange(8.0))
    inner = jax.make_mesh((4, 2), ("x", "y"), (AUTO, EXPLICIT if axes else AUTO))
    assert calls == [(False, NamedSharding(inner, P("x")), "float32[8]")] * 2


def test_eager_explicit_axes_show_the_arrays_and_their_shardings(axes):
    calls = []
    with jax.set_mesh(mesh_of(AUTO)):
        f = explicit_axes(seen_in(calls), axes=axes, in_sharding=(P("x"),))
        y = f(jnp.arange(8.0))
        assert y.sharding == NamedSharding(mesh_of(AUTO), P("x"))
        np.testing.assert_array_equal(y, 2 * np.arange(8.0))
    inner = jax.make_mesh((4, 2), ("x", "y"), (EXPLICIT, AUTO if axes else EXPLICIT))
    assert calls == [(False, NamedSharding(inner, P("x")), "float32[8@x]")]


@pytest.mark.parametrize(
    "make", [lambda: np.arange(8.0), lambda: jnp.arange(8.0), lambda: [1.0, jax.random.key(0)]]
)
def test_eager_auto_axes_take_arrays_of_any_place(make):
    with jax.set_mesh(mesh_of(EXPLICIT)):
        y = auto_axes(lambda x: x, out_sharding=P())(make())
        expected = make()
        leaves = jax.tree.leaves(expected)
        assert [leaf.shape for leaf in jax.tree.leaves(y)] == [np.shape(x) for x in leaves]


def test_eager_auto_axes_sum_unreduced_arguments():
    with jax.set_mesh(mesh_of(EXPLICIT)):
        x = reshard(jnp.arange(8.0), P(unreduced={"x"}))
        y = auto_axes(lambda x: x + 1, out_sharding=P("x"))(x)
        np.testing.assert_array_equal(y, np.arange(8.0) + 1)


def test_explicit_axes_take_keyword_arguments():
    with jax.set_mesh(mesh_of(AUTO)):
        f = explicit_axes(lambda x, y: x + y, in_sharding=(P("x"),))
        for call in (f, jax.jit(f)):
            np.testing.assert_array_equal(call(jnp.arange(8.0), y=1.0), np.arange(8.0) + 1)


@pytest.mark.parametrize("spec", [P("i"), P("i", None), P(None, "i")])
def test_results_on_another_mesh_are_named_by_its_axes(spec):
    other = AbstractMesh((8,), ("i",), (EXPLICIT,))

    def f(x):
        with use_abstract_mesh(other):
            return reshard(x, spec) * 2

    with jax.set_mesh(mesh_of(EXPLICIT)):
        x = reshard(jnp.arange(64.0).reshape(8, 8), P(None, "x"))
        batched = jax.vmap(f) if spec == P("i") else f
        for call in (jax.jit(f), jax.jit(f), jax.jit(batched), f):
            y = call(x)
            assert y.sharding.mesh.axis_names == ("i",)
            assert list(y.sharding.mesh.devices.flat) == jax.devices()[:8]
            np.testing.assert_array_equal(y, 2 * np.arange(64.0).reshape(8, 8))
        back = jax.jit(lambda x: reshard(f(x), P("y")))(x)
        assert back.sharding.spec == P("y", None)
