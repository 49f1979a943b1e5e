"""Loops of ufuncs: accumulate, at."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import make_jaxpr

EXACT = ["bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"]


def operand(dtype):
    values = np.random.RandomState(0).randint(0, 100, (7, 3))
    return (values % 3 > 0) if dtype == np.bool_ else values.astype(dtype)


@pytest.mark.sampled(22)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.uint8])
@pytest.mark.parametrize("name", EXACT)
def test_accumulate_equals_numpys(backend, name, dtype, axis):
    x = operand(dtype)
    result = np.asarray(getattr(jnp, name).accumulate(x, axis))
    # NumPy has no identity of logical functions here: it takes the first elements as they are.
    want = getattr(np, name).accumulate(x.astype(bool) if "logical" in name else x, axis)
    np.testing.assert_array_equal(result, want)
    assert result.dtype == want.dtype


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_accumulate_of_a_users_function_starts_with_the_first_row(backend, count):
    rows = np.random.RandomState(0).rand(count, 3).astype(np.float32)
    got = jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1).accumulate(rows)
    want = list(rows[:1])
    for row in rows[1:]:
        want.append(want[-1] * row + 1)
    np.testing.assert_allclose(got, np.reshape(want, rows.shape), rtol=1e-6)


def test_accumulate_copies_no_rows():
    f = jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1)
    text = str(make_jaxpr(f.accumulate)(np.ones((9, 4), np.float32)))
    assert "concatenate" not in text


def test_gradient_of_accumulate_is_finite_where_the_function_of_equal_rows_has_none(backend):
    f = jnp.frompyfunc(lambda a, b: jnp.sqrt(a - b), 2, 1)
    x = np.array([9.0, 5.0, 1.0], np.float32)
    g = grad(lambda x: f.accumulate(x).sum())(x)
    np.testing.assert_allclose(g, [1.375, -0.375, -0.5], rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8])
def test_at_drops_places_out_of_bounds_and_counts_from_the_end(backend, dtype):
    a = np.arange(300, dtype=np.int32)
    indices = np.array([1, 100, 1, 127, 5], dtype)
    if dtype != np.uint8:
        indices[3] = -1
    want = a.copy()
    np.bitwise_xor.at(want, indices.astype(np.int64), 7)
    got = jnp.bitwise_xor.at(a, indices, 7, inplace=False)
    np.testing.assert_array_equal(got, want)
    outside = np.array([-301, 300, 4], np.int32)
    want = a.copy()
    want[4] ^= 7
    np.testing.assert_array_equal(jnp.bitwise_xor.at(a, outside, 7, inplace=False), want)


def test_at_of_a_vector_makes_no_array_of_positions():
    a, i = np.arange(300, dtype=np.int32), np.arange(3, dtype=np.int32)
    text = str(make_jaxpr(lambda a, i: jnp.bitwise_xor.at(a, i, 1, inplace=False))(a, i))
    assert "iota" not in text


@pytest.mark.parametrize("name", ["add", "maximum", "logical_and", "python"])
@pytest.mark.parametrize("shape, axis", [((3,), 0), ((3, 2), 1), ((0, 3), 1), ((3, 0), 0)])
def test_reduceat_without_indices_is_empty(name, shape, axis, backend):
    ufunc = jnp.frompyfunc(lambda a, b: a + b, 2, 1) if name == "python" else getattr(jnp, name)
    result = ufunc.reduceat(np.ones(shape, np.float32), np.zeros(0, np.int32), axis=axis)
    assert result.shape == (*shape[:axis], 0, *shape[axis + 1 :])


@pytest.mark.parametrize("shape, axis", [((0,), 0), ((0, 3), 0), ((3, 0), 1)])
def test_reduceat_along_an_axis_without_elements_is_an_index_error(shape, axis):
    with pytest.raises(IndexError, match="is empty"):
        jnp.add.reduceat(np.ones(shape, np.float32), np.zeros(0, np.int32), axis=axis)
