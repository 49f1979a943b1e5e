"""Errors of the functions that are compositions on a TPU, from the text of kernels, beside SciPy.

The evaluator computes each operation of the text with NumPy in float32, so that what is measured is
the composition: a device adds the errors of its own exponential and logarithm.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

from kernel_cases import Kernel, kernel_texts, operation_kernel
from scipy import special

import ricci
from ricci import lax

SHAPE = (8, 128)
MOST_ULPS = 10


def geometric(low, high, *, negative=True):
    """Numbers of many magnitudes, of both signs."""
    x = np.geomspace(low, high, np.prod(SHAPE))
    return x * (-1.0) ** np.arange(x.size) if negative else x


def evenly(low, high):
    return np.linspace(low, high, np.prod(SHAPE))


def near_one(*, negative):
    x = 1 - np.geomspace(6e-8, 1, np.prod(SHAPE))
    return -x if negative else x


def remainder(x):
    return lax.rem(x, lax.full_like(x, 0.7))


# By name: the function, the same in float64, and arguments in float32's range.
FUNCTIONS = {
    "acos": (lax.acos, np.arccos, [near_one(negative=False), near_one(negative=True)]),
    "acosh": (
        lax.acosh,
        np.arccosh,
        [1 + geometric(1.2e-7, 1, negative=False), geometric(1, 3e38, negative=False)],
    ),
    "asin": (lax.asin, np.arcsin, [near_one(negative=False), geometric(1e-30, 1)]),
    "asinh": (lax.asinh, np.arcsinh, [geometric(1e-30, 3e38)]),
    "atan": (lax.atan, np.arctan, [geometric(1e-30, 3e38)]),
    "atanh": (lax.atanh, np.arctanh, [near_one(negative=True), geometric(1e-30, 0.9)]),
    "cbrt": (lax.cbrt, np.cbrt, [geometric(1e-37, 3e38)]),
    "cosh": (lax.cosh, np.cosh, [evenly(-89, 89), geometric(1e-20, 10)]),
    "digamma": (
        lax.digamma,
        special.digamma,
        [geometric(1e-6, 1e30, negative=False), evenly(-10, 3), evenly(-1000, 0) + 1e-3],
    ),
    "erf_inv": (lax.erf_inv, special.erfinv, [near_one(negative=True), geometric(1e-30, 0.9)]),
    "erfc": (lax.erfc, special.erfc, [evenly(-5, 9), geometric(1e-10, 1)]),
    "expm1": (lax.expm1, np.expm1, [evenly(-20, 88), geometric(1e-30, 2)]),
    "integer_pow": (lambda x: x**-3, lambda x: x**-3.0, [geometric(1e-10, 1e10)]),
    "lgamma": (
        lax.lgamma,
        special.gammaln,
        [geometric(1e-30, 1e30, negative=False), evenly(-10, 3), evenly(-1000, 0) + 1e-3],
    ),
    "log2": (lax.log2, np.log2, [geometric(1e-37, 3e38, negative=False), evenly(0.5, 2)]),
    "rem": (
        remainder,
        lambda x: np.fmod(x, np.float64(np.float32(0.7))),
        [evenly(-1000, 1000), geometric(1e-3, 1e9)],
    ),
    "sinh": (lax.sinh, np.sinh, [evenly(-89, 89), geometric(1e-30, 2)]),
    "square": (lax.square, np.square, [geometric(1e-15, 1e15)]),
}
# Functions with roots between floats, near which the result is a difference: there the error is
# that of a result of 1.
LEAST_SCALE = {"digamma": 1.0, "lgamma": 1.0}

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3e38, -3e38]
# JAX's limits, where SciPy's are others.
LIMITS = {("digamma", "-0.0"): -np.inf, ("erf_inv", "-0.0"): -0.0, ("lgamma", "-inf"): np.inf}


def kernel_of(function):
    x = ricci.ShapeDtypeStruct(SHAPE, np.float32)
    call = operation_kernel(function)
    module = ricci.jit(call).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    (text,) = kernel_texts(module)
    kernel = Kernel(text)

    def run(values):
        x = np.resize(np.asarray(values, np.float32), SHAPE)
        with np.errstate(all="ignore"):
            (result,) = kernel.run([x], [(SHAPE, np.float32)], {})
        return x.astype(np.float64), result

    return run


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_composition_has_the_digits_of_float32(name):
    function, exact, ranges = FUNCTIONS[name]
    run = kernel_of(function)
    for values in ranges:
        x, result = run(values)
        expected = exact(x)
        scale = np.maximum(np.abs(expected), LEAST_SCALE.get(name, np.finfo(np.float32).tiny))
        finite = scale < np.finfo(np.float32).max
        np.testing.assert_array_equal(result[~finite], expected[~finite].astype(np.float32))
        errors = np.abs(result[finite] - expected[finite])
        ulps = errors / np.spacing(scale[finite].astype(np.float32))
        assert ulps.max() <= MOST_ULPS, f"at {x[finite][ulps.argmax()]}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_composition_has_the_limits_of_the_function(name):
    function, exact, _ = FUNCTIONS[name]
    x, result = kernel_of(function)(SPECIAL)
    x, result = (v.reshape(-1)[: len(SPECIAL)] for v in (x, result))
    with np.errstate(all="ignore"):
        expected = exact(x).astype(np.float32)
    for (other, place), limit in LIMITS.items():
        if other == name:
            expected[[str(v) for v in SPECIAL].index(place)] = limit
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-37)
    zeros = (x == 0) & (expected == 0)
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros]))
