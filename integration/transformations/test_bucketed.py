"""``bucketed`` gives what the function gives, whatever the padding holds."""

import os
import random

import numpy as np
import pytest

pytest.importorskip("ricci_buckets", reason="the light tests run where it is not installed")


import bucket_cases
from symbolic_cases import cases, function_of, recorded_errors

import ricci
from ricci_buckets import PaddingError, padding
from ricci_ir import use_backend
from ricci_reference import reference_backend

SIZE = 8


@pytest.fixture(autouse=True)
def _extreme_padding():
    """Padding is NaN and the greatest integers, so that a result it reached would show it."""
    padding.extreme = True
    yield
    padding.extreme = False


def _sample(length):
    return np.random.default_rng(length).normal(size=(length, 4)).astype(np.float32)


def _check(fun, lengths):
    function = ricci.bucketed(fun, sizes=[SIZE])
    for length in lengths:
        x = _sample(length)
        found = ricci.tree.leaves(function(x))
        with use_backend(reference_backend):
            wanted = ricci.tree.leaves(fun(ricci.numpy.asarray(x)))
        for a, b in zip(found, wanted, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=f"length {length}")
    assert function.compiled == [{"n": SIZE}]


def test_random_keys():
    def draw(keys, x):
        return ricci.vmap(ricci.random.normal)(keys) + x, ricci.vmap(ricci.random.split)(keys)[:, 0]

    function = ricci.bucketed(draw, sizes=[SIZE])
    for length in (3, 5):
        keys = ricci.random.split(ricci.random.key(1), length)
        found, wanted = (f(keys, np.zeros(length, np.float32)) for f in (function, draw))
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
        assert found[1].dtype == wanted[1].dtype
        data, same = (ricci.random.key_data(keys) for keys in (found[1], wanted[1]))
        np.testing.assert_array_equal(data, same)


def test_nan_is_looked_for_in_results_only():
    with ricci.debug_nans(True):
        function = ricci.bucketed(lambda x: (1 / x, x.sum()), sizes=[SIZE])
        assert function(np.array([1, 2], np.float32))[0].tolist() == [1, 0.5]
        with pytest.raises(FloatingPointError):
            function(np.array([np.nan, 2], np.float32))


# The calls of the NumPy API and of lax that can be traced with a symbolic size.
SYMBOLIC = [case for case in cases() if not recorded_errors().get(str(case), ("", ""))[1]]
EVERYTHING = os.environ.get("RICCI_SYMBOLIC_CASES") == "all"
SAMPLE = SYMBOLIC if EVERYTHING else random.Random("buckets").sample(SYMBOLIC, 10)


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_calls_with_symbolic_sizes(case):
    fun, arrays = function_of(case), list(case.arrays.values())
    names = (", ".join("n" if n == case.size else "_" for n in x.shape) for x in arrays)
    axis = tuple(name if "n" in name else None for name in names)
    function = ricci.bucketed(fun, axis=axis, sizes=[case.size + 5])
    try:
        found = ricci.tree.leaves(function(*arrays))
    except PaddingError:
        return  # a refusal is not wrong
    for a, b in zip(found, ricci.tree.leaves(ricci.jit(fun)(*arrays)), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if ricci.dtypes.issubdtype(a.dtype, ricci.dtypes.prng_key):
            a, b = ricci.random.key_data(a), ricci.random.key_data(b)
        a, b = (np.asarray(v).astype(complex) for v in (a, b))
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", bucket_cases.FUNCTIONS)
def test_results_are_those_of_the_function(name):
    _check(bucket_cases.FUNCTIONS[name], (1, 6))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", bucket_cases.GRADIENTS)
def test_gradients_are_those_of_the_function(name):
    _check(bucket_cases.GRADIENTS[name], (5,))
