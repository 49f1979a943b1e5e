"""Views `ref.at[...]` are arguments of transformations, as references are."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci import lax


def doubled(transform, jitted):
    """The array of a reference after a transformed function has doubled a view of it."""

    def program(x):
        ref = ricci.new_ref(x)
        transform(ref.at[:3])
        return ref[...]

    return (ricci.jit(program) if jitted else program)(jnp.arange(5.0)).tolist()


def double(view):
    view[...] = view[...] * 2


TRANSFORMED = {
    "jit": ricci.jit(double),
    "cond": lambda view: lax.cond(True, double, lambda view: None, view),
    "switch": lambda view: lax.switch(1, [lambda view: None, double], view),
    "jit of jit": ricci.jit(lambda view: ricci.jit(double)(view)),
    "a view of the view": ricci.jit(lambda view: double(view.at[...])),
    "shard_map": ricci.shard_map(
        double,
        mesh=ricci.make_mesh((1,), ("x",), devices=ricci.devices()[:1]),
        in_specs=ricci.P(),
        out_specs=ricci.P(),
    ),
}


@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_writes_to_a_view_reach_the_reference(name, jitted):
    for _ in range(2):
        assert doubled(TRANSFORMED[name], jitted) == [0.0, 2.0, 4.0, 3.0, 4.0]


def test_views_at_traced_positions_are_arguments():
    def program(x, i):
        ref = ricci.new_ref(x)
        ricci.jit(double)(ref.at[i])
        return ref[...]

    assert ricci.jit(program)(jnp.arange(4.0), 2).tolist() == [0.0, 1.0, 4.0, 3.0]


@pytest.mark.parametrize("transform", [ricci.checkpoint, ricci.jit], ids=["checkpoint", "jit"])
def test_derivatives_pass_through_views(transform):
    def total(x):
        return transform(lambda view: (view[...] ** 2).sum())(ricci.new_ref(x).at[1:])

    assert ricci.grad(total)(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


def test_a_view_and_its_reference_are_aliases():
    ref = ricci.new_ref(jnp.arange(3.0))
    with pytest.raises(ValueError, match="reference"):
        ricci.jit(lambda a, b: None)(ref, ref.at[:2])


def test_the_shape_of_a_view_follows_its_reference():
    ref = ricci.new_ref(np.zeros((4, 3, 2)))
    assert ref.at[1:3].at[:, 0].shape == (2, 2)


@pytest.mark.parametrize("transform", [ricci.vmap, lambda f: lambda v: lax.map(f, v)])
def test_a_view_cannot_be_mapped(transform):
    view = ricci.new_ref(jnp.arange(10.0).reshape(2, 5)).at[:, 1:3]
    with pytest.raises(TypeError, match="cannot be mapped"):
        transform(lambda v: v[...].sum())(view)
