"""Polynomials, fits and roots: types, values, derivatives and errors as JAX's."""

import numpy as np
import pytest

import ricci_numpy as jnp


@pytest.mark.sampled(18)
def test_result_is_jaxs(recorded, check):
    check(recorded)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_integral_undoes_the_derivative(order, backend):
    p = np.array([1.0, -2.0, 3.0, 0.5], np.float32)
    found = jnp.polyder(jnp.polyint(p, order, k=2), order)
    np.testing.assert_allclose(found, p, rtol=1e-6)


def test_quotient_and_remainder_give_the_dividend(backend):
    u, v = np.array([2.0, 3.0, -1.0, 4.0], np.float32), np.array([2.0, 1.0], np.float32)
    quotient, remainder = jnp.polydiv(u, v)
    np.testing.assert_allclose(jnp.polyadd(jnp.polymul(quotient, v), remainder), u, rtol=1e-6)


def test_values_at_weakly_typed_points_are_strong(backend):
    weak = jnp.broadcast_to(jnp.asarray(2.0), (3,))
    assert weak.weak_type
    assert not jnp.polyval(jnp.ones(3), weak).weak_type
    assert jnp.hypot(weak, weak).weak_type
    assert not jnp.hypot(weak, jnp.ones(3)).weak_type
