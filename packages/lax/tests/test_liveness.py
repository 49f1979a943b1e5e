"""The estimate of a jaxpr's peak memory: fused results take none, others while they live."""

import numpy as np
import pytest

from ricci_ir import ShapeDtypeStruct, make_jaxpr
from ricci_lax import add, dot, exp, full, mul, reduce_sum, scan, sin, slice_in_dim
from ricci_lax.recomputation import estimated_peak

ROWS = 64
X = np.ones((ROWS, ROWS), np.float32)
SIZE = X.nbytes


def peak(fun, *args):
    return estimated_peak(make_jaxpr(fun)(*args))


def chain(x):
    for _ in range(5):
        x = dot(x, x)
    return x


def stored_until_the_end(x):
    products = [dot(x, x) for _ in range(5)]
    total = products[0]
    for y in products[1:]:
        total = dot(total, y)
    return total


def zeros(x):
    return full(x.shape, 0, x.dtype)


PROGRAMS = {
    # The argument, and the results that are in memory at a time.
    "elementwise results are fused": (lambda x: add(mul(x, x), mul(sin(x), x)), 2),
    "the operand of a product is in memory": (lambda x: dot(sin(x), x), 3),
    "a function that two fusions read is in memory, until one takes its place": (
        lambda x: (lambda y: (add(y, x), mul(y, x)))(exp(x)),
        3,
    ),
    "a result's memory is free after its last use": (chain, 3),
    "results are in memory until their last use": (stored_until_the_end, 7),
    "a reduction over the last axis is fused": (lambda x: reduce_sum(mul(x, x), (1,)), 1),
    "one over the first is not": (lambda x: reduce_sum(mul(x, x), (0,)), 2),
    "a result has memory before it is computed": (
        lambda x: slice_in_dim(chain(x), 0, ROWS // 2),
        3.5,
    ),
    "what a loop adds to its sum is in the memory of the sum": (
        lambda x: scan(lambda c, _: (add(c, dot(x, x)), None), zeros(x), None, 8)[0],
        2,
    ),
    "a loop's body counts once": (
        lambda x: scan(lambda c, _: (dot(dot(c, c), c), None), x, None, 8)[0],
        3,
    ),
    "collected results count in full": (
        lambda x: scan(lambda c, _: (dot(c, c), c), x, None, 8),
        10,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_estimate_counts_the_arrays_that_are_in_memory(name):
    fun, arrays = PROGRAMS[name]
    described = ShapeDtypeStruct(X.shape, X.dtype)
    # Up to a vector of a reduction, and an index.
    assert abs(peak(fun, described) - arrays * SIZE) <= ROWS * 4 + 8
