"""Eager calls that are dispatched by the types of their operands."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
import ricci.scipy.linalg as linalg
from ricci import lax, monitoring

CALLS = 6  # the first ones run the function itself
X = np.arange(9, dtype=np.float32).reshape(3, 3) + 4 * np.eye(3, dtype=np.float32)
V = np.arange(3, dtype=np.float32)

PRODUCTS = {
    "dot": lambda x, v: jnp.dot(x, v),
    "inner": lambda x, v: jnp.inner(x, v),
    "matmul": lambda x, v: jnp.matmul(x, v),
    "operator": lambda x, v: x @ v,
    "tensordot": lambda x, v: jnp.tensordot(x, v, axes=((1,), (0,))),
    "vdot": lambda x, v: jnp.vdot(v, v),
    "vecdot": lambda x, v: jnp.vecdot(x, v),
    "linalg.matmul": lambda x, v: jnp.linalg.matmul(x, v),
}


def replaced(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, **options):
    raise LookupError("a library sees this product")


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_a_library_sees_products_that_were_dispatched(product):
    x, v = jnp.asarray(X), jnp.asarray(V)
    before = [np.asarray(product(x, v)) for _ in range(CALLS)]
    code = lax.dot_general.__code__
    lax.dot_general.__code__ = replaced.__code__
    try:
        with pytest.raises(LookupError):
            product(x, v)
    finally:
        lax.dot_general.__code__ = code
    np.testing.assert_array_equal(product(x, v), before[0])


@pytest.mark.parametrize("lower", [True, False])
def test_cho_solve_tells_its_setting_in_each_call(lower):
    matrix = X @ X.T + np.eye(3, dtype=np.float32)
    for flag in [lower, not lower] * CALLS:
        factor = linalg.cho_factor(jnp.asarray(matrix), lower=flag)
        result = linalg.cho_solve(factor, jnp.asarray(V))
        np.testing.assert_allclose(result, np.linalg.solve(matrix, V), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, v: jnp.dot(x, v[:2]), TypeError),
        (lambda x, v: jnp.matmul(x, v[0]), ValueError),
        (lambda x, v: linalg.cho_solve((x, True), v[:2]), ValueError),
        (lambda x, v: linalg.solve_triangular(x, v, trans=9), ValueError),
        (lambda x, v: jnp.fft.fft(x, norm="none"), ValueError),
    ],
)
def test_errors_are_the_same_in_each_call(call, error):
    messages: set[str] = set()
    for _ in range(CALLS):
        with pytest.raises(error) as caught:
            call(jnp.asarray(X), jnp.asarray(V))
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("values", [np.linspace(0.01, 0.99, 20), range(20)], ids=["floats", "ints"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_values_of_quantiles_need_no_executables_of_their_own(values, dtype):
    compiled: list[str] = []

    def note(event, seconds, **details):
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    x = jnp.arange(11).astype(dtype)
    monitoring.register_event_duration_secs_listener(note)
    try:
        results = [jnp.percentile(x, value) for value in values]
    finally:
        monitoring.unregister_event_duration_listener(note)
    assert len(compiled) <= 4
    expected = [np.percentile(np.arange(11), value) for value in values]
    np.testing.assert_allclose(results, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_eager_quantiles_are_those_of_a_jaxpr(method):
    x = np.random.default_rng(0).normal(size=(4, 7)).astype("float32")
    for q in (0.0, 0.15, 0.5, 0.99, 1.0):
        function = lambda x: jnp.quantile(x, q, axis=1, method=method)  # noqa: B023
        np.testing.assert_allclose(function(jnp.asarray(x)), ricci.jit(function)(x), rtol=1e-6)
