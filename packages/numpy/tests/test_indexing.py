"""Indexing: jaxprs as JAX prints them, values as NumPy computes them, and errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import NonConcreteBooleanIndexError, ShapeDtypeStruct, config, make_jaxpr, staged_call
from ricci_numpy.indexing import _basic_indexing
from ricci_numpy.indexing._entries import ds

M = np.arange(12.0, dtype=np.float32).reshape(3, 4)
T = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5)
IV = np.array([0, 2])
GRID = np.array([[0, 1], [2, 0]])
MASK = np.array([True, False, True])

INDICES = [
    0,
    -1,
    (1, 2),
    (slice(None), 1),
    slice(1, 3),
    slice(None, None, -1),
    (slice(3, 0, -2), Ellipsis),
    (slice(None, None, 2), slice(1, 4, 2)),
    slice(2, 1),
    None,
    (None, 0, Ellipsis, None),
    (Ellipsis, 0),
    (),
    Ellipsis,
    IV,
    GRID,
    (slice(None), IV),
    (IV, IV),
    (IV, 0),
    (0, IV),
    (IV[:, None], IV),
    (IV, slice(1, 3)),
    (IV, slice(None, None, -1)),
    (IV, None),
    (None, IV, slice(None), None),
    (slice(1, 3), IV),
    MASK,
    (MASK, 0),
    (MASK, slice(None), None),
    np.array([-1, -3]),
    np.array(1),
    np.zeros(0, int),
    (np.zeros((0,), int), 0),
    True,
    False,
    (0, True),
    np.int64(2),
]
WIDE = [
    (IV, slice(None), IV),
    (0, slice(None), IV),
    (slice(None), IV, IV),
    (IV, slice(1, 3), IV),
    (IV, slice(None, None, 2), IV),
    (slice(None), 0, IV),
    (IV, None, IV),
    (slice(None, None, 2), IV, slice(1, 3)),
    (GRID, slice(None), IV),
    (Ellipsis, IV, None),
    (T > 30),
    (slice(None), np.array([True, False, True, False])),
    (np.array([[True, False, True, False]] * 3), 0),
]


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_value_is_numpys(index, backend):
    found = jnp.asarray(M)[index]
    np.testing.assert_array_equal(found, M[index])
    assert found.dtype == M.dtype


@pytest.mark.parametrize("index", WIDE, ids=lambda i: repr(i)[:60])
def test_value_of_three_dimensions_is_numpys(index, backend):
    np.testing.assert_array_equal(jnp.asarray(T)[index], T[index])


@pytest.mark.parametrize("index", [(1, slice(1, 3)), (-3, Ellipsis), (slice(0, 2), -1)], ids=repr)
def test_array_of_rank_0_is_an_int(index, backend):
    traced = tuple(jnp.asarray(i) if type(i) is int else i for i in index)
    np.testing.assert_array_equal(jnp.asarray(M)[traced], M[index])


@pytest.mark.parametrize(("index", "moved_to"), [(7, 2), (-4, 0), (3, 2), (-9, 0)])
@pytest.mark.parametrize("as_array", [False, True])
def test_int_out_of_bounds_gives_the_nearest_row(index, moved_to, as_array, backend):
    # -9 counts from the end once, to -6, and is then moved to 0.
    index = jnp.asarray(index) if as_array else index
    np.testing.assert_array_equal(jnp.asarray(M)[index], M[moved_to])


def test_indices_of_one_form_share_an_executable(backend):
    x = jnp.asarray(M)
    x[0, 1], x[1:2, 0]
    before = len(_basic_indexing._steps.entries)
    x[2, 3], x[-1, -1], x[2:3, 3]
    assert len(_basic_indexing._steps.entries) == before


def test_windows(backend):
    x = jnp.asarray(M)
    np.testing.assert_array_equal(x[ds(1, 2), 0], M[1:3, 0])
    np.testing.assert_array_equal(x[ds(jnp.asarray(1), 2)], M[1:3])
    np.testing.assert_array_equal(x[jnp.asarray([0, 1]), ds(jnp.asarray(1), 2)], M[:2, 1:3])


@pytest.mark.parametrize(
    ("index", "error", "says"),
    [
        ([0, 1], TypeError, "jnp.array"),
        (1.0, TypeError, "integer"),
        ("a", TypeError, "string"),
        (np.array([1.0]), TypeError, "selects nothing: indices are integers or"),
        ((0, 0, 0), IndexError, "dimensions was given to an array of"),
        ((Ellipsis, Ellipsis), IndexError, "whose numbers of dimensions are ambiguous"),
        ({1}, IndexError, "of type set is not an index"),
        (np.array([True, False]), IndexError, "boolean index at position 0"),
        (slice(None, None, 0), ValueError, "zero"),
        (slice(1.5), TypeError, "slice indices"),
    ],
    ids=repr,
)
def test_invalid_index_raises(index, error, says):
    x = ShapeDtypeStruct((3, 4), np.dtype("float32"))
    with pytest.raises(error, match=says):
        make_jaxpr(lambda x: x[index])(x)


def test_traced_masks_and_traced_slices_raise():
    x = ShapeDtypeStruct((5,), np.dtype("float32"))
    i = ShapeDtypeStruct((), np.dtype("int32"))
    with pytest.raises(NonConcreteBooleanIndexError):
        make_jaxpr(lambda x: x[x > 2])(x)
    with pytest.raises(IndexError, match="position 0"):
        make_jaxpr(lambda x, i: x[i : i + 2])(x, i)


def test_row_of_an_empty_array_raises():
    with pytest.raises(IndexError, match="size 0"):
        make_jaxpr(lambda x: x[0])(ShapeDtypeStruct((0, 2), np.dtype("float32")))


def test_jaxprs_of_indexing_have_no_calls():
    jaxpr = make_jaxpr(lambda x: x[0, 1:])(ShapeDtypeStruct((3, 4), np.dtype("float32")))
    assert all(eqn.primitive is not staged_call.call for eqn in jaxpr.eqns)


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        ((slice(None), -2, Ellipsis, np.array([0])), (1, 3)),
        ((slice(None), -2, np.array([0])), (3, 1)),
        ((0, 1, Ellipsis, IV), (2,)),
    ],
    ids=repr,
)
def test_ellipsis_of_no_dimensions_separates_index_arrays(index, shape, backend):
    found = jnp.asarray(T)[index]
    assert found.shape == T[index].shape == shape
    np.testing.assert_array_equal(found, T[index])


@pytest.mark.parametrize("part", ["a", b"a", range(2), 1.5])
def test_invalid_part_of_an_index_raises_a_type_error(part):
    with pytest.raises(TypeError):
        make_jaxpr(lambda x: x[None, part])(ShapeDtypeStruct((3, 4), np.dtype("float32")))


static_indices = config.state("jax_check_static_indices")

OUTSIDE = [3, -4, (0, 4), (slice(None), -5), (None, 3), (3, IV), (Ellipsis, 4), np.int32(3)]
NOT_CHECKED = [2, -3, slice(2, 9), (IV + 9,), (1, slice(-9, 9)), np.array(5)]


@pytest.mark.parametrize("index", OUTSIDE, ids=repr)
def test_static_indices_out_of_bounds_raise_with_the_option(index, backend):
    x = jnp.asarray(M)
    with static_indices(True):
        with pytest.raises(IndexError, match="out of bounds for axis"):
            x[index]
        with pytest.raises(IndexError, match="out of bounds for axis"):
            make_jaxpr(lambda x: x[index])(M)
    assert x[index].dtype == M.dtype


@pytest.mark.parametrize("index", NOT_CHECKED, ids=repr)
def test_in_bounds_and_array_indices_pass_the_static_check(index, backend):
    with static_indices(True):
        assert jnp.asarray(M)[index].dtype == M.dtype


def test_updates_out_of_bounds_are_dropped_with_static_checks(backend):
    with static_indices(True):
        assert jnp.asarray(M).at[9].set(1.0).tolist() == M.tolist()
