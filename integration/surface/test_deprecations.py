"""Names that JAX 0.11 deprecates work, with a warning at the user's line."""

import warnings

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci.experimental.shard_map import shard_map
from ricci.scipy import special

TWO, THREE = np.ones(2, "float32"), np.ones(3, "float32")
COMPLEX = np.ones(2, "complex64")


def on_shards():
    mesh = jax.sharding.Mesh(jax.devices()[:1], "i")
    return shard_map(lambda x: 2 * x, mesh, jax.P("i"), jax.P("i"), check_rep=False)(TWO)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda: jnp.ndim([[1, 2]]), 2),
        (lambda: jnp.shape([1, 2]), (2,)),
        (lambda: jnp.size([1, 2]), 2),
        (lambda: jnp.ndim(None), 0),
        (lambda: jnp.asarray(COMPLEX).astype("float32"), TWO),
        (lambda: jnp.astype(jnp.asarray(COMPLEX), int), TWO),
        (lambda: jax.jit(lambda x: x, device=jax.devices()[0])(TWO), TWO),
        (lambda: jax.jit(lambda x: x, backend="cpu")(TWO), TWO),
        (lambda: special.lpmn(0, 0, TWO / 2)[0], [[TWO]]),
        (lambda: special.lpmn_values(0, 0, TWO, False), [[TWO]]),
        (on_shards, 2 * TWO),
    ],
)
def test_deprecated_uses_warn_at_their_line(use, expected):
    with pytest.warns(DeprecationWarning) as caught:
        result = use()
    np.testing.assert_array_equal(result, expected)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    "use",
    [
        lambda: jnp.cross(THREE, THREE),
        lambda: [jnp.ndim(x) for x in (1, 2.0, TWO, np.float32(1), jnp.ones(2))],
        lambda: jnp.size(jax.ShapeDtypeStruct((2,), "float32")),
        lambda: jnp.asarray(COMPLEX).astype(bool),
        lambda: jnp.asarray(COMPLEX).real.astype("float16"),
        lambda: jax.jit(lambda x: x)(TWO),
        lambda: jnp.linalg.cross(THREE, THREE),
    ],
)
def test_uses_that_stay_do_not_warn(use):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use()
