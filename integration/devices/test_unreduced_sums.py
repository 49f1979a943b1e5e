"""Linear operations on unreduced (partial-sum) arrays."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci import lax
from ricci.sharding import PartitionSpec as P

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
