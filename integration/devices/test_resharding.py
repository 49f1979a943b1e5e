"""Moves between shardings: the types of their results, and no communication without a request."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci
import ricci.numpy as jnp
from ricci.sharding import AxisType, NamedSharding, auto_axes
from ricci.sharding import PartitionSpec as P


@pytest.fixture
def mesh(eight_devices):
    explicit = AxisType.Explicit
    devices = np.array(eight_devices).reshape(4, 2)
    found = ricci.sharding.Mesh(devices, ("x", "y"), axis_types=(explicit, explicit))
    with ricci.set_mesh(found):
        yield found


def put(mesh, shape, *spec):
    return ricci.device_put(np.ones(shape, np.float32), NamedSharding(mesh, P(*spec)))


def test_eval_shape_has_the_sharding_of_the_type(mesh):
    a = put(mesh, (8, 4), "x", "y")
    for described in (ricci.eval_shape(jnp.transpose, a), ricci.jit(jnp.transpose).eval_shape(a)):
        assert described.sharding.spec == P("y", "x")
    assert ricci.eval_shape(jnp.sum, a).sharding.spec == P()


def test_each_stage_describes_the_results_as_their_types_say(mesh):
    traced = ricci.jit(lambda a: (a.T, a.sum(), 1)).trace(put(mesh, (8, 4), "x", None))
    lowered = traced.lower()
    compiled = lowered.compile()
    turned, _, one = traced.out_info
    assert turned.sharding == NamedSharding(mesh.abstract_mesh, P(None, "x"))
    assert one.weak_type and not lowered.out_info[2].weak_type
    expected = [NamedSharding(mesh, P(*spec)) for spec in ((None, "x"), (), ())]
    assert [info.sharding for info in lowered.out_info] == expected
    assert list(compiled.output_shardings) == expected


@pytest.mark.parametrize("part", [None, "y"])
def test_unreduced_axes_are_in_the_sharding_of_a_type(mesh, part):
    def copied(a):
        found = ricci.typeof(ricci.reshard(a, spec))
        assert (found.sharding.spec, found.mat) == (spec, ricci.sharding.ManualAxisType())
        return a

    spec = P(None, part, reduced={"x"})
    ricci.jit(copied)(put(mesh, (8, 4), "x", "y"))


@pytest.mark.parametrize("call", [lambda f, a: f(a), lambda f, a: ricci.jit(f)(a)])
def test_a_spec_that_does_not_fit_is_refused(mesh, call):
    with pytest.raises(ValueError, match=r"dimension 0, of size 3, .*'x' of size 4"):
        call(lambda a: ricci.reshard(a, P("x")), jnp.ones((3, 4)))
    with pytest.raises(ValueError, match="shape \\(3, 4\\)"):
        call(lambda a: ricci.reshard(a, P(None, None, "x")), jnp.ones((3, 4)))
    assert call(lambda a: ricci.reshard(a, P(None, "x")), jnp.ones((3, 4))).shape == (3, 4)


def test_auto_axes_gathers_no_operand(mesh):
    a, w = put(mesh, (8, 4), "x", "y"), put(mesh, (4, 8), "y", None)
    product = auto_axes(lambda a, w: a @ w, out_sharding=P("x", None))
    text = ricci.jit(product).lower(a, w).compile().as_text()
    assert "all-gather" not in text and text.count(" all-reduce(") == 1
    assert str(ricci.typeof(product(a, w))) == "float32[8@x,8]"
