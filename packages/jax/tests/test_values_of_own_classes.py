"""Values of a library's class that represent arrays: the tables of types and of conversions."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.interpreters import xla


class Variable:
    """Holds an array, and may hold another one later."""

    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype)

    @property
    def dtype(self):
        return self.value.dtype

    @property
    def shape(self):
        return self.value.shape


class Proxy(Variable):
    """Has the class and the attributes of its value, as proxies do."""

    def __getattr__(self, name):
        return getattr(self.value, name)

    @property
    def __class__(self):
        return type(self.value)


for _kind in (Variable, Proxy):
    xla.canonicalize_dtype_handlers[_kind] = xla.canonicalize_dtype_handlers[np.ndarray]
    jax.core.pytype_aval_mappings[_kind] = jax.core.pytype_aval_mappings[np.ndarray]

X = np.float32([1, 2])
USES = {
    "numpy": jnp.sin,
    "lax": jax.lax.sin,
    "jit": jax.jit(jnp.sin),
    "asarray": lambda v: jnp.sin(jnp.asarray(v)),
    "captured": lambda v: jax.jit(lambda x: x + jnp.sin(v))(0.0),
    "grad": lambda v: jax.grad(lambda x: -jnp.cos(x).sum())(v),
    "vmap": lambda v: jax.vmap(jnp.sin)(v),
    "device_put": lambda v: np.sin(jax.device_put(v)),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("kind", [Variable, Proxy])
@pytest.mark.parametrize("use", USES)
def test_a_variable_is_an_array(use, kind, x64):
    with jax.enable_x64(x64):
        for value in (X, jnp.asarray(X), X.astype(np.float64)):
            result = USES[use](kind(value))
            np.testing.assert_allclose(result, np.sin(X), rtol=1e-6)
            wide = x64 and np.asarray(value).dtype == np.float64
            assert result.dtype == (np.float64 if wide else np.float32)


def test_the_value_of_a_variable_may_change():
    variable, double = Variable(X), jax.jit(lambda x: 2 * x)
    for value in (X, X + 1):
        variable.value = value
        np.testing.assert_array_equal(double(variable), 2 * value)
