"""Reductions: jaxprs and types as JAX's, values as NumPy's."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import ShapeDtypeStruct, make_jaxpr

M = np.array([[0.5, 1.5, 2.0], [3.0, -1.0, 0.0]], np.float32)
NAN = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan, 4.0, 5.0, 7.0]], np.float32)
N = np.array([[1, 5, 2], [3, -1, 0]], np.int32)


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


def test_types_are_jaxs(types, outcome):
    name, rows = types
    wrong = []
    for row in rows.splitlines():
        arguments, _, expected = row.rpartition(" -> ")
        result = outcome(f"jnp.{name}({arguments})")
        if expected not in (result if isinstance(result, list) else [result]):
            wrong.append(f"{name}({arguments}) gives {result}, not {expected}")
    assert not wrong, "\n".join(wrong)


PLAIN = "sum prod mean var std max min any all ptp median argmax argmin cumsum cumprod"


@pytest.mark.sampled(33)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", PLAIN.split())
def test_value_is_numpys(name, axis, backend):
    for x in (M, N):
        result = getattr(jnp, name)(jnp.asarray(x), axis=axis)
        np.testing.assert_allclose(result, getattr(np, name)(x, axis=axis), rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, (0, 1), (1,)])
@pytest.mark.parametrize("name", "sum prod mean var std max min any all count_nonzero".split())
def test_keepdims_is_numpys(name, axis, backend):
    result = getattr(jnp, name)(jnp.asarray(M), axis=axis, keepdims=True)
    expected = getattr(np, name)(M, axis=axis, keepdims=True)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.sampled(22)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    "name",
    "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian nancumsum nancumprod "
    "nanargmax nanargmin".split(),
)
def test_nan_functions_are_numpys(name, axis, backend):
    result = getattr(jnp, name)(jnp.asarray(NAN), axis=axis)
    np.testing.assert_allclose(result, getattr(np, name)(NAN, axis=axis), rtol=1e-6)


@pytest.mark.parametrize("name", "sum prod mean var std any all".split())
def test_where_is_numpys(name, backend):
    mask = M > 0
    result = getattr(jnp, name)(jnp.asarray(M), axis=1, where=jnp.asarray(mask))
    np.testing.assert_allclose(result, getattr(np, name)(M, axis=1, where=mask), rtol=1e-6)


@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
def test_initial_value_is_reduced_too(name, backend):
    result = getattr(jnp, name)(jnp.asarray(M), initial=2)
    np.testing.assert_allclose(result, getattr(np, name)(M, initial=2), rtol=1e-6)


@pytest.mark.parametrize("ddof", [0, 1, 0.5])
def test_variance_with_fewer_degrees_of_freedom(ddof, backend):
    np.testing.assert_allclose(jnp.var(M, 1, ddof=ddof), np.var(M, 1, ddof=ddof), rtol=1e-6)
    np.testing.assert_allclose(jnp.std(M, correction=ddof), np.std(M, ddof=ddof), rtol=1e-6)
    assert np.isnan(jnp.var(M, ddof=6))


def test_short_floats_are_summed_in_float32(backend):
    x = np.ones(4096, np.float16)
    assert float(jnp.sum(x)) == 4096
    assert float(jnp.mean(jnp.asarray(x, "bfloat16"))) == 1


def test_average_is_numpys(backend):
    weights = np.array([1.0, 2.0, 3.0], np.float32)
    np.testing.assert_allclose(jnp.average(M, 1, weights), np.average(M, 1, weights), rtol=1e-6)
    result = jnp.average(M, axis=1, weights=weights, returned=True)
    assert [part.shape for part in result] == [(2,), (2,)]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 1.0, np.array([0.25, 0.75])])
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "inverted_cdf"])
def test_quantile_is_numpys(q, method, backend):
    x = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0], np.float32)
    expected = np.quantile(x, q, method=method)
    for quantile in (q, jnp.asarray(q, np.float32)):
        np.testing.assert_allclose(jnp.quantile(x, quantile, method=method), expected, rtol=1e-5)


def test_quantile_along_axes(backend):
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4) % 7
    q = np.array([0.2, 0.8])
    np.testing.assert_allclose(
        jnp.quantile(x, q, axis=(0, 2), keepdims=True),
        np.quantile(x, q, axis=(0, 2), keepdims=True),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        jnp.nanpercentile(NAN, np.array([20, 70]), axis=1),
        np.nanpercentile(NAN, [20, 70], axis=1),
        rtol=1e-5,
    )


def test_a_nan_makes_the_quantile_nan(backend):
    result = jnp.quantile(NAN, 0.5, axis=0)
    assert np.isnan(result).tolist() == [True, True, False, False]


def test_cumulative_functions(backend):
    assert jnp.cumulative_sum(N, axis=1, include_initial=True).tolist() == [
        [0, 1, 6, 8],
        [0, 3, 2, 2],
    ]
    assert jnp.cumulative_prod(N[0]).tolist() == [1, 5, 10]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: jnp.sum(x, axis=2), ValueError, "axis 2"),
        (lambda x: jnp.mean(x, axis=-3), IndexError, "axis -3"),
        (lambda x: jnp.sum(x, axis=(0, 0)), ValueError, "twice"),
        (lambda x: jnp.max(x[:0]), ValueError, "no elements"),
        (lambda x: jnp.argmax(x[:0]), ValueError, "no elements"),
        (lambda x: jnp.max(x, where=x > 0), ValueError, "initial"),
        (lambda x: jnp.sum(x, where=x), ValueError, "boolean"),
        (lambda x: jnp.sum(x, initial=x), ValueError, "scalar"),
        (lambda x: jnp.sum(x, out=x), NotImplementedError, "out="),
        (lambda x: jnp.sum([1, 2]), TypeError, "position 0"),
        (lambda x: jnp.var(x, ddof=1, correction=1), ValueError, "not both"),
        (lambda x: jnp.quantile(x, 0.5, method="odd"), ValueError, "method"),
        (lambda x: jnp.average(x, weights=x[0]), ValueError, "axis"),
        (lambda x: jnp.cumulative_sum(x), ValueError, "axis"),
    ],
)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        make_jaxpr(call)(ShapeDtypeStruct((2, 3), np.dtype("float32")))


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
def test_argmax_of_an_empty_axis_raises(name, backend):
    with pytest.raises(ValueError, match=rf"^{name}: .* no elements"):
        getattr(jnp, name)(jnp.zeros((2, 0)), axis=1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", [jnp.std, jnp.nanstd])
def test_deviations_of_16_bit_floats_do_not_pass_through_infinite_variances(
    function, dtype, backend
):
    x = jnp.asarray([60000.0, -60000.0, 30000.0], dtype)
    expected = np.std(np.asarray(x, np.float64))
    # The variance itself is not a float16.
    assert function(x).dtype == x.dtype
    np.testing.assert_allclose(np.asarray(function(x), np.float64), expected, rtol=1e-2)


def test_covariances_of_16_bit_floats_do_not_pass_through_infinite_sums(backend):
    x = jnp.asarray(np.linspace(-100, 100, 1000), "float16")
    exact = np.cov(np.asarray(x, np.float64))
    np.testing.assert_allclose(np.asarray(jnp.cov(x), np.float64), exact, rtol=1e-3)
    assert jnp.cov(x).dtype == jnp.corrcoef(x, x).dtype == x.dtype
    assert jnp.corrcoef(x, -5 * x).tolist() == [[1, -1], [-1, 1]]
    # The product of the deviations is not a float16, and neither are the covariances.
    assert jnp.corrcoef(100 * x, 100 * x).tolist() == [[1, 1], [1, 1]]
