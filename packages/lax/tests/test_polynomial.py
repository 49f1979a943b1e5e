"""`lax.polynomial`: values of NumPy's, and derivatives in the argument and the coefficients."""

import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, eval_shape, make_jaxpr

X = np.linspace(-1.5, 1.5, 7, dtype=np.float32)
C = np.array([2.0, -1.0, 0.5, 3.0], np.float32)


@pytest.mark.parametrize("unroll", [None, True, False, 0, 1, 2, 3, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_values_do_not_depend_on_unrolling(count, unroll, backend):
    values = lax.polynomial(X, list(C[:count]), unroll=unroll)
    np.testing.assert_allclose(values, np.polyval(C[:count][::-1], X), rtol=1e-6, atol=1e-6)


def test_many_coefficients_are_a_loop():
    jaxpr = make_jaxpr(lambda x: lax.polynomial(x, [1.0] * 200))(X)
    assert [equation.primitive.name for equation in jaxpr.eqns][-1] == "scan"


@pytest.mark.parametrize(
    ("x", "coefficients", "expected"),
    [
        (X, [], (7,)),
        (X, [1.0], (7,)),
        (np.float32(2), [C, 1.0], (4,)),
        (X[:, None], [C[None], 1.0], (7, 4)),
        (X[:0], [1.0, 2.0], (0,)),
    ],
)
@pytest.mark.parametrize("unroll", [None, 1])
def test_the_shape_is_that_of_the_operands(x, coefficients, expected, unroll):
    result = make_jaxpr(lambda: lax.polynomial(x, coefficients, unroll=unroll))()
    assert result.out_avals[0].shape == expected


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "complex64"])
def test_coefficients_are_converted_to_the_dtype_of_x(dtype):
    struct = ShapeDtypeStruct((3,), dtype)
    (aval,) = make_jaxpr(lambda x: lax.polynomial(x, [1.5, np.float32(2), 3]))(struct).out_avals
    assert aval.dtype == dtype
    assert not aval.weak_type


def test_derivatives_are_those_of_the_sum_of_powers(backend):
    def by_powers(x, c):
        return sum(float(0) + ck * x**k for k, ck in enumerate(c))

    tangents = np.ones_like(X), np.arange(1.0, 5.0, dtype=np.float32)
    value, change = jvp(lambda x, c: lax.polynomial(x, lax.unstack(c)), (X, C), tangents)
    wide = np.float64(X)
    slope = sum(k * C[k] * wide ** (k - 1) for k in range(1, 4))
    np.testing.assert_allclose(value, by_powers(wide, C), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(change, slope + by_powers(wide, tangents[1]), rtol=1e-5, atol=1e-5)


def test_batches_of_coefficients_are_polynomials_each(backend):
    values = vmap(lambda c: lax.polynomial(X, lax.unstack(c)))(np.stack([C, 2 * C]))
    expected = np.polyval(C[::-1], X)
    np.testing.assert_allclose(values, [expected, 2 * expected], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((np.array([True]), [1, 2]), TypeError, "bool"),
        ((X, [1j]), TypeError, "complex"),
        ((X, [C, 1.0]), TypeError, "shapes"),
    ],
)
def test_mistakes_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        eval_shape(lambda: lax.polynomial(*arguments))


def test_negative_unrolling_is_refused():
    with pytest.raises(ValueError, match="unroll"):
        lax.polynomial(X, [1.0, 2.0], unroll=-1)
