"""Set operations: NaNs, and growth with the sum of their operands' sizes, not the product."""

import itertools

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import make_jaxpr


def _largest(jaxpr) -> int:
    """Return the number of elements of the largest array that a jaxpr computes."""
    sizes = [0]
    for eqn in jaxpr.eqns:
        sizes += [int(np.prod(var.aval.shape)) for var in eqn.outvars]
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                sizes.append(_largest(inner))
    return max(sizes)


@pytest.mark.parametrize("name", ["intersect1d", "setdiff1d", "setxor1d", "union1d"])
def test_set_operations_compare_no_pairs(name):
    x = np.arange(1000, dtype=np.int32)
    jaxpr = make_jaxpr(lambda x, y: getattr(jnp, name)(x, y, size=2000))(x, x + 500)
    assert _largest(jaxpr.jaxpr) <= 4 * (len(x) + len(x))


def test_isin_compares_no_pairs():
    x = np.arange(1000, dtype=np.int32)
    assert _largest(make_jaxpr(jnp.isin)(x, x + 500).jaxpr) <= 4 * (len(x) + len(x))


def _in_one_alone(x: tuple, y: tuple) -> list:
    """Return what one vector has and the other lacks, where no NaN equals one of the other."""
    numbers = sorted(v for v in {*x} ^ {*y} if v == v)
    return numbers + [np.nan] * ((np.nan in x) + (np.nan in y))


VECTORS = [
    vector for size in range(4) for vector in itertools.product((-1.0, 2.0, np.nan), repeat=size)
]


def test_setxor1d_keeps_the_nans_of_each_vector(backend):
    for x, y in itertools.product(VECTORS, VECTORS):
        values = jnp.setxor1d(np.array(x, np.float32), np.array(y, np.float32))
        np.testing.assert_array_equal(np.asarray(values), _in_one_alone(x, y), str((x, y)))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.complex64, jnp.bfloat16])
def test_isin_and_setxor1d_of_dtype(dtype, backend):
    x, y = np.arange(3).astype(dtype), np.arange(1, 100).astype(dtype)
    expected = np.isin(x.astype(np.complex64), y.astype(np.complex64))
    np.testing.assert_array_equal(np.asarray(jnp.isin(x, y)), expected)
    different = np.setxor1d(x.astype(np.complex64), y.astype(np.complex64))
    values = np.asarray(jnp.setxor1d(x, y))
    assert values.dtype == dtype
    np.testing.assert_array_equal(values.astype(np.complex64), different)
