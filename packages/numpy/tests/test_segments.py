"""Reductions by segment, ``ravel_pytree``, and their errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import ConcretizationTypeError, ShapeDtypeStruct, make_jaxpr
from ricci_numpy import ops
from ricci_numpy.flatten_util import ravel_pytree

X = np.arange(10.0, dtype=np.float32).reshape(5, 2) + 1
IDS = np.array([2, 0, 2, -1, 7])
JOINS = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}


@pytest.mark.parametrize("bucket_size", [None, 2, 5])
@pytest.mark.parametrize("name", JOINS)
def test_segments_are_reduced_row_by_row(name, bucket_size, backend):
    found = getattr(ops, f"segment_{name}")(jnp.asarray(X), IDS, 3, bucket_size=bucket_size)
    np.testing.assert_allclose(found[0], X[1])
    np.testing.assert_allclose(found[2], JOINS[name](X[[0, 2]], axis=0))
    empty = {"sum": 0, "prod": 1, "min": np.inf, "max": -np.inf}[name]
    np.testing.assert_allclose(found[1], empty)


def test_rows_of_no_segment_have_no_gradient(backend):
    found = grad(lambda x: ops.segment_sum(x, IDS, 3).sum())(jnp.asarray(X))
    assert found.tolist() == [[1, 1], [1, 1], [1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(("dtype", "largest"), [("int8", 127), ("uint8", 255), ("int16", 32767)])
def test_number_of_segments_is_counted_past_the_dtype_of_the_ids(dtype, largest, backend):
    ids = np.array([0, largest], dtype)
    found = ops.segment_sum(jnp.ones(2), ids)
    assert found.shape == (largest + 1,)
    assert found[largest] == 1


def test_number_of_segments_must_be_concrete():
    with pytest.raises(ConcretizationTypeError, match="num_segments"):
        make_jaxpr(lambda i: ops.segment_sum(X, i))(ShapeDtypeStruct((5,), np.dtype(np.int32)))


def test_unravel_gives_structure_shapes_and_dtypes_back(backend):
    tree = {"a": jnp.ones((2, 3)), "b": [jnp.arange(2), jnp.float16(3)], "c": None}
    flat, unravel = ravel_pytree(tree)
    assert (flat.shape, flat.dtype) == ((9,), np.float32)
    found = unravel(flat)
    assert found["c"] is None
    assert [x.dtype.name for x in (found["a"], *found["b"])] == ["float32", "int32", "float16"]
    np.testing.assert_allclose(found["b"][0], [0, 1])


def test_unravel_functions_of_equal_trees_are_equal(backend):
    first, second = (ravel_pytree([jnp.zeros(n)])[1] for n in (3, 3))
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        (np.zeros(4, np.float32), ValueError, "shape"),
        (np.zeros((1, 5), np.float32), ValueError, "shape"),
        (np.zeros(5, np.float16), TypeError, "dtype float32"),
    ],
)
def test_unravel_checks_the_vector(vector, error, message, backend):
    _, unravel = ravel_pytree([jnp.zeros(3), jnp.zeros(2, int)])
    with pytest.raises(error, match=message):
        unravel(vector)
