"""Linear operations on unreduced (partial-sum) arrays."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci import lax
from ricci.sharding import PartitionSpec as P
from ricci_ir import ShardingTypeError

pytestmark = pytest.mark.usefixtures("eight_devices")
LEFT = (np.arange(32, dtype=np.float32) / 8).reshape(4, 8)
RIGHT = np.cos(np.arange(48, dtype=np.float32)).reshape(8, 6)


@pytest.fixture(autouse=True)
def mesh(eight_devices):
    with jax.set_mesh(jax.make_mesh((2, 4), ("x", "y"))):
        yield


def terms(imaginary=0):
    left = jax.reshard(jnp.asarray(LEFT * (1 + imaginary)), P("x", "y"))
    right = jax.reshard(jnp.asarray(RIGHT), P("y", None))
    return jnp.dot(left, right, out_sharding=P("x", None, unreduced={"y"}))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("fun", "imaginary"),
    [
        (lambda t: lax.complex(t, lax.neg(t)), 0),
        (lambda t: lax.real(t) - lax.imag(t), 2j),
        (
            lambda t: lax.convert_element_type_p.bind(
                t, new_dtype=np.dtype("float32"), weak_type=False, sharding=None
            ),
            2j,
        ),
        (lambda t: lax.cumsum(lax.rev(t, (1,)), 1)[:, 1:4], 0),
        (lambda t: t.astype("complex64").T.reshape(2, 3, 4), 0),
        (lambda t: lax.split(t, (2, 4), axis=1)[1], 0),
        (lambda t: lax.pad(t, 0.0, ((0, 0, 0), (1, 2, 1))), 0),
        (lambda t: lax.select_n(np.arange(6) % 2 == np.zeros((4, 1)), t, t + t), 0),
        (lambda t: lax.dynamic_update_slice(t, t[:2, :3], (0, 1)), 0),
        (lambda t: lax.dynamic_slice(t, (0, 1), (4, 2)), 0),
        (lambda t: t.at[:, np.array([0, 1])].get(mode="clip"), 0),
        (lambda t: t.at[:, 2].add(t[:, 3]), 0),
        (lambda t: t * 3.0 / 2.0, 0),
    ],
)
def test_sums_are_those_that_are_done_before(fun, imaginary):
    kept = jax.jit(fun)(terms(imaginary))
    assert jax.typeof(kept).sharding.spec.unreduced == {"y"}
    found = np.asarray(jax.reshard(kept, P()))
    expected = fun(jax.reshard(terms(imaginary), P()))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("fun", "imaginary"),
    [
        (lambda t: t.astype("int32"), 0),
        (lambda t: t.astype("bool"), 0),
        (lambda t: lax.convert_element_type(lax.real(t), "int8"), 2j),
        (lambda t: lax.conj(t), 2j),  # linear, but made of several operations
        (lambda t: jnp.stack([t, t]), 0),
        (lambda t: lax.sin(t), 0),
    ],
)
def test_nonlinear_operations_refuse_unreduced_operands(fun, imaginary):
    with pytest.raises(NotImplementedError, match="Compute the sum first, with"):
        fun(terms(imaginary))
    assert fun(jax.reshard(terms(imaginary), P("x", None))).size >= 24


def test_operations_on_terms_refuse_what_every_device_would_add():
    for fun in (
        lambda t: lax.pad(t, 1.0, ((0, 0, 0), (1, 1, 0))),
        lambda t: t.at[:, 0].add(1.0),
        lambda t: 2.0 / t,
    ):
        with pytest.raises(ShardingTypeError, match="unreduced"):
            jax.jit(fun)(terms())


@pytest.mark.parametrize(
    "fun",
    [
        lambda r: lax.split(r, (8, 8), axis=1)[0],
        lambda r: lax.dynamic_slice(r, (0, 1), (2, 15)),
        lambda r: lax.select_n(r > 9, r, r * 2),
        lambda r: r[np.array([0, 1])],
        lambda r: r[:2],
        lambda r: lax.pad(r, 0.0, ((0, 0, 0), (1, 1, 0))),
        lambda r: r.max(0),
        lambda r: lax.dynamic_update_slice(r, r[:2] * 2, (0, 0)),
        lambda r: r / (r + 1) * 3,
    ],
)
def test_derivatives_by_reduced_arrays_are_unreduced(fun):
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    slope = jax.jit(jax.grad(lambda r: fun(r).sum()))
    ours = slope(jax.reshard(x, P(reduced={"x"})))
    assert jax.typeof(ours).sharding.spec.unreduced == {"x"}
    np.testing.assert_allclose(np.asarray(jax.reshard(ours, P())), slope(x), rtol=1e-6)
