"""Eager calls that are dispatched by the types of their operands."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
import ricci.scipy.linalg as linalg
import ricci.scipy.stats as stats
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


# Calls whose settings or numbers are passed in each way that the dispatcher tells apart.
REPEATED = {
    "pad": lambda x, v: jnp.pad(x, ((1, 0), (0, 2)), constant_values=7),
    "pad, a list of widths": lambda x, v: jnp.pad(x, [1, 2], mode="edge"),
    "pad, pairs of values": lambda x, v: jnp.pad(v, 2, constant_values=(1, 2)),
    "linspace of numbers": lambda x, v: jnp.linspace(0, 1, 5),
    "linspace of arrays": lambda x, v: jnp.linspace(v, 2.0, 3, dtype="float16"),
    "linspace with its step": lambda x, v: jnp.linspace(0.0, v, 4, retstep=True),
    "power": lambda x, v: jnp.power(v, v),
    "power of a scalar array": lambda x, v: jnp.power(v, jnp.array(2)),
    "dynamic_index_in_dim": lambda x, v: lax.dynamic_index_in_dim(x, -1, 1, keepdims=False),
    "of integers": lambda x, v: lax.dynamic_index_in_dim(v.astype(int), 1),
    "dynamic_update_index_in_dim": lambda x, v: lax.dynamic_update_index_in_dim(x, v, 1, axis=0),
    "outer": lambda x, v: jnp.add.outer(v, v),
    "reduce": lambda x, v: jnp.add.reduce(x, axis=(0, 1), keepdims=True),
    "reduce, masked": lambda x, v: jnp.maximum.reduce(x, initial=0.0, where=x > 5),
    "accumulate": lambda x, v: jnp.multiply.accumulate(x, axis=1),
    "reduceat": lambda x, v: jnp.add.reduceat(v, jnp.array([0, 2])),
    "at": lambda x, v: jnp.add.at(v, jnp.array([0, 0]), 1.0, inplace=False),
    "at, a slice": lambda x, v: jnp.add.at(v, slice(1, None), 1.0, inplace=False),
    "a float beside integers": lambda x, v: jnp.linspace(v.astype(int), 2.6, 3),
    "lu_solve": lambda x, v: linalg.lu_solve(linalg.lu_factor(x), v),
    "lu_solve of the transpose": lambda x, v: linalg.lu_solve(linalg.lu_factor(x), v, trans=1),
    "eigh": lambda x, v: linalg.eigh(x @ x.T, eigvals_only=True),
    "generalized eigh": lambda x, v: linalg.eigh(x @ x.T, x @ x.T, eigvals_only=True),
    "qr": lambda x, v: linalg.qr(x, mode="r"),
    "rankdata": lambda x, v: stats.rankdata(x, "dense", axis=1),
    "mode": lambda x, v: stats.mode(x, keepdims=True),
    "sem": lambda x, v: stats.sem(x, ddof=0),
    "density, by name": lambda x, v: stats.norm.logpdf(v, scale=2.0),
    "mass": lambda x, v: stats.betabinom.logpmf(v.astype(int), 5, 1.0, 2.0),
}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("enabled", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("call", REPEATED.values(), ids=REPEATED)
def test_every_call_returns_the_same(call, enabled):
    with ricci.enable_x64(enabled):
        x, v = jnp.asarray(X), jnp.asarray(V)
        first, tree = ricci.tree.flatten(call(x, v))
        for _ in range(CALLS):
            leaves, again = ricci.tree.flatten(call(x, v))
            assert again == tree
            for a, b in zip(leaves, first, strict=True):
                assert a.dtype == b.dtype and a.aval.weak_type == b.aval.weak_type
                np.testing.assert_allclose(a, b, rtol=1e-6)
        compiled = ricci.tree.leaves(ricci.jit(call)(x, v))
        for a, b in zip(compiled, first, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_pad_calls_a_function_each_time():
    calls = []

    def fill(vector, widths, axis, options):
        calls.append(axis)
        return vector.at[: widths[0]].set(9)

    for _ in range(CALLS):
        assert jnp.pad(jnp.asarray(V), 1, fill).tolist() == [9, 0, 1, 2, 0]
    assert calls == [0] * CALLS


@pytest.mark.parametrize(
    "call",
    [
        lambda v: stats.norm.logpdf(v),
        lambda v: stats.norm.logpdf(v, v),
        lambda v: stats.norm.logpdf(v, scale=v),
        lambda v: stats.truncnorm.logpdf(v, v, v + v),
        lambda v: stats.expon.pdf(x=v),
    ],
)
def test_defaults_of_distributions_are_not_copied_to_the_device(call):
    v = jnp.asarray(V) + jnp.asarray(V) + jnp.ones(3)
    expected = call(v)
    with ricci.transfer_guard("disallow"):
        result = call(v)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_allclose(ricci.jit(call)(v), expected, rtol=1e-6)
