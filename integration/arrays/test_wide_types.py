"""Jaxprs traced without 64-bit types run unchanged where they are enabled."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

X = np.ones(3, np.float32)
SLOPE = np.float32(2 * np.cos(1) + 3)


def fun(x):
    return jnp.sin(x) * 2.0 + ricci.lax.cond(x[0] > 0.5, lambda: x * 3.0, lambda: x)


PROGRAM = ricci.make_jaxpr(lambda t: t * float(SLOPE))(X)


def first(function):
    return lambda x: function(x)[0]


MAKERS = {
    "linearize": lambda: ricci.linearize(fun, X)[1],
    "vjp": lambda: first(ricci.vjp(fun, X)[1]),
    "linear_transpose": lambda: first(ricci.linear_transpose(lambda x: x * float(SLOPE), X)),
    "jaxpr": lambda: first(lambda x: ricci.core.eval_jaxpr(PROGRAM.jaxpr, PROGRAM.consts, x)),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit, ricci.vmap], ids=["", "jit", "vmap"])
def test_derivative_of_before(maker, wrap):
    derivative = MAKERS[maker]()
    argument = np.ones((2, 3), np.float32) if wrap is ricci.vmap else X
    with ricci.enable_x64(True):
        result = wrap(derivative)(argument)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, SLOPE * argument, rtol=1e-6)
