"""Shapes, joining, rearranging, selecting and sorting: jaxprs as JAX's, values as NumPy's."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import ConcretizationTypeError, ShapeDtypeStruct, make_jaxpr

X = np.array([3.0, 1.0, 2.0, 1.0, 5.0], np.float32)
M = np.arange(12.0, dtype=np.float32).reshape(3, 4)
T = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5)
N = np.array([3, 0, 2, 0, 2], np.int32)
NAN = np.array([2.0, np.nan, 1.0, np.nan], np.float32)
B = np.array([True, False, True])

# Expressions that mean the same of NumPy and of ours.
SAME = """
np.reshape(T, (4, -1)) | np.reshape(M, (4, 3), order="F") | np.ravel(M, order="F")
np.transpose(T, (1, 0, 2)) | np.moveaxis(T, (0, 1), (-1, 0)) | np.swapaxes(T, 0, 2)
np.rollaxis(T, 2, 1) | np.squeeze(M[None]) | np.expand_dims(M, (0, -1)) | np.atleast_3d(X)
np.broadcast_to(X, (2, 5)) | np.concatenate([M, M], axis=1) | np.concatenate([M, X], axis=None)
np.concatenate(T, axis=1) | np.stack([X, X], axis=-1) | np.stack(T, axis=1) | np.hstack([M, M])
np.vstack([X, X]) | np.dstack([M, M]) | np.column_stack([X, X]) | np.append(X, M)
np.block([[M, M], [M, M]]) | np.split(X, [1, 3])[1] | np.array_split(X, 2)[1]
np.hsplit(M, 2)[0] | np.vsplit(M, 3)[2] | np.dsplit(T, 5)[4]
np.tile(M, (2, 1, 2)) | np.tile(X, 3) | np.repeat(M, 2) | np.repeat(M, 2, axis=1)
np.repeat(M, np.array([1, 0, 2]), axis=0) | np.flip(M) | np.flip(M, 1) | np.fliplr(M)
np.roll(M, 1) | np.roll(M, (1, 2), axis=(0, 1)) | np.roll(X, -7) | np.rot90(M) | np.rot90(M, 3)
np.resize(X, (2, 4)) | np.trim_zeros(N) | np.pad(X, 1) | np.pad(M, ((1, 0), (0, 2)), mode="edge")
np.pad(M, ((1, 0), (0, 1)), constant_values=((1, 2), (3, 4))) | np.pad(X, 7, mode="wrap")
np.pad(X, (2, 7), mode="reflect") | np.pad(X, (12, 1), mode="symmetric")
np.pad(X, 2, mode="reflect", reflect_type="odd") | np.pad(X, (2, 3), mode="linear_ramp")
np.pad(X, 2, mode="mean") | np.pad(N, 2, mode="maximum", stat_length=2)
np.pad(X, 1, mode="median")
np.where(B[:, None], M, X[:4]) | np.where(N) | np.where(X > 1, X, 0)
np.select([X > 2, X < 2], [X, -X], 7) | np.nonzero(M > 4) | np.argwhere(M > 4) | np.flatnonzero(N)
np.take(M, np.array([[0, 3], [1, -1]]), axis=1) | np.take(M, np.array([5, 1]))
np.take(X, np.array([9, -9]), mode="wrap") | np.take(X, np.array([9, 2]), mode="clip")
np.take_along_axis(M, np.array([[3], [1], [0]]), axis=1) | np.compress(B, M, axis=0)
np.extract(X > 1, X) | np.choose(np.array([0, 1, 1]), [N[:3], N[2:]])
np.delete(M, 1, axis=1) | np.delete(X, np.array([0, 3])) | np.insert(X, 1, 9.0)
np.insert(M, 1, X[:4], axis=0) | np.insert(X, np.array([0, 5]), np.array([7.0, 8.0]))
np.unravel_index(np.array([0, 11]), (3, 4)) | np.ix_(np.array([0, 2]), np.array([1]))
np.ravel_multi_index((np.array([0, 2]), np.array([1, 3])), (3, 4))
np.diag(X) | np.diag(X, -2) | np.diag(M, 1) | np.diagflat(M[:2, :2], 1) | np.diagonal(T, 1, 0, 2)
np.trace(M, 1) | np.trace(T, axis1=1, axis2=2) | np.apply_along_axis(np.cumsum, 0, T)
np.sort(M, axis=0) | np.sort(NAN) | np.sort(M, axis=None) | np.argsort(X, kind="stable")
np.lexsort((N, X)) | np.searchsorted(np.sort(X), M) | np.searchsorted(np.sort(X), M, side="right")
np.searchsorted(X, 2.0, sorter=np.argsort(X)) | np.digitize(M, np.array([1.0, 4.0, 9.0]))
np.sort_complex(X) | np.partition(X, 2)[2] | np.unique(X) | np.unique(NAN) | np.isin(M, X)
np.unique(X, return_index=True, return_inverse=True, return_counts=True)
np.unique(np.array([[1, 2], [1, 2], [0, 1]]), axis=0) | np.union1d(N, np.array([7]))
np.setdiff1d(N, np.array([2])) | np.intersect1d(X, np.array([5.0, 2.0, 8.0]))
np.setxor1d(N, np.array([2, 8]))
"""
CASES = [case.strip() for line in SAME.strip().splitlines() for case in line.split("|")]


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


def _without_kind(expression):
    return expression.replace(', kind="stable"', "").replace("np.", "jnp.")


@pytest.mark.sampled(20)
@pytest.mark.parametrize("expression", CASES)
def test_value_is_numpys(expression, backend):
    names = {"X": X, "M": M, "T": T, "N": N, "NAN": NAN, "B": B}
    expected = eval(expression, {"np": np, **names})
    ours = {name: jnp.asarray(value) for name, value in names.items()}
    # Sequences that only NumPy turns into arrays are arrays of ours.
    found = eval(_without_kind(expression), {"jnp": jnp, **ours})
    if not isinstance(expected, tuple | list):
        expected, found = [expected], [found]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert a.shape == np.shape(b)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("fun", "expected"),
    [
        (lambda n: jnp.nonzero(n, size=4)[0], [0, 2, 4, 0]),
        (lambda n: jnp.nonzero(n, size=4, fill_value=9)[0], [0, 2, 4, 9]),
        (lambda n: jnp.nonzero(n, size=2)[0], [0, 2]),
        (lambda n: jnp.unique(n, size=4), [0, 2, 3, 0]),
        (lambda n: jnp.unique(n, size=4, fill_value=7), [0, 2, 3, 7]),
        (lambda n: jnp.unique(n, size=2), [0, 2]),
        (lambda n: jnp.extract(n > 0, n, size=4, fill_value=-1), [3, 2, 2, -1]),
        (lambda n: jnp.repeat(n[:2], jnp.asarray([2, 1]), total_repeat_length=5), [3, 3, 0, 0, 0]),
        (lambda n: jnp.setdiff1d(n, jnp.asarray([2]), size=3), [0, 3, 0]),
    ],
)
def test_results_of_static_size(fun, expected, backend):
    assert fun(jnp.asarray(N)).tolist() == expected


@pytest.mark.parametrize("method", ["scan", "compare_all", "sort"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_methods_of_searchsorted_agree(method, side, backend):
    edges = np.array([1.0, 2.0, 2.0, np.nan], np.float32)
    values = np.array([2.0, np.nan, 0.0, 5.0, -0.0], np.float32)
    found = jnp.searchsorted(jnp.asarray(edges), jnp.asarray(values), side=side, method=method)
    np.testing.assert_array_equal(found, np.searchsorted(edges, values, side=side))


def test_descending_order_is_stable(backend):
    x = jnp.asarray([2.0, 1.0, 2.0, 1.0])
    assert jnp.sort(x, descending=True).tolist() == [2, 2, 1, 1]
    assert jnp.argsort(x, descending=True).tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("k", [0, 2, 4])
def test_partition_keeps_all_elements(k, backend):
    found = np.asarray(jnp.partition(jnp.asarray(X), k))
    assert sorted(found) == sorted(X)
    assert max(found[: k + 1]) == found[k] == min(found[k:])


@pytest.mark.parametrize(
    ("fun", "error"),
    [
        (lambda x: jnp.reshape(x, (2, 3)), TypeError),
        (lambda x: jnp.reshape(x, (-1, -1)), TypeError),
        (lambda x: jnp.squeeze(x, 0), ValueError),
        (lambda x: jnp.transpose(x, (0, 1)), ValueError),
        (lambda x: jnp.expand_dims(x, 5), ValueError),
        (lambda x: jnp.swapaxes(x, 0, 1), IndexError),
        (lambda x: jnp.moveaxis(x, 0, (0, 1)), ValueError),
        (lambda x: jnp.broadcast_to(x, (4,)), ValueError),
        (lambda x: jnp.concatenate([]), ValueError),
        (lambda x: jnp.concatenate(x, x), TypeError),
        (lambda x: jnp.concatenate([x, x[None]]), TypeError),
        (lambda x: jnp.concatenate([x, [1.0]]), TypeError),
        (lambda x: jnp.stack([x, x[:2]]), ValueError),
        (lambda x: jnp.stack(3), TypeError),
        (lambda x: jnp.split(x, 2), ValueError),
        (lambda x: jnp.pad(x, (1, 2, 3)), ValueError),
        (lambda x: jnp.pad(x, -1), ValueError),
        (lambda x: jnp.pad(x, 1.5), TypeError),
        (lambda x: jnp.pad(x, 1, mode="foo"), NotImplementedError),
        (lambda x: jnp.where(x, x), TypeError),
        (lambda x: jnp.take(x, 1.5), ValueError),
        (lambda x: jnp.take_along_axis(x, x, 0), TypeError),
        (lambda x: jnp.take_along_axis(x, jnp.asarray([[1]]), 0), ValueError),
        (lambda x: jnp.diag(x[None, None]), ValueError),
        (lambda x: jnp.sort(x, axis=2), ValueError),
        (lambda x: jnp.sort(x, kind="foo"), TypeError),
        (lambda x: jnp.searchsorted(x[None], 1.0), ValueError),
        (lambda x: jnp.tile([1], 2), TypeError),
        (lambda x: jnp.rot90(x), ValueError),
        (lambda x: jnp.nonzero(x), ConcretizationTypeError),
        (lambda x: jnp.unique(x), ConcretizationTypeError),
        (lambda x: jnp.put(x, 0, 1.0), ValueError),
    ],
)
def test_invalid_arguments_raise(fun, error):
    with pytest.raises(error):
        make_jaxpr(fun)(ShapeDtypeStruct((5,), np.dtype("float32")))


@pytest.mark.parametrize(
    ("fun", "weak"),
    [
        (lambda x: jnp.concatenate([jnp.full(2, 1.0), jnp.full(2, 1.0)]), True),
        (lambda x: jnp.concatenate([jnp.full(2, 1.0), x]), False),
        (lambda x: jnp.stack([1.0, 2]), True),
        (lambda x: jnp.where(x > 0, 1.0, 0), True),
        (lambda x: jnp.where(x > 0, x, 0), False),
    ],
)
def test_weak_type(fun, weak):
    jaxpr = make_jaxpr(fun)(ShapeDtypeStruct((2,), np.dtype("float32")))
    assert jaxpr.out_avals[0].weak_type is weak


SHAPED = {
    "reshape": lambda shape: jnp.reshape(jnp.arange(6), shape),
    "method": lambda shape: jnp.arange(6).reshape(shape),
    "tile": lambda shape: jnp.tile(jnp.arange(2), shape),
    "zeros": jnp.zeros,
    "broadcast_to": lambda shape: jnp.broadcast_to(jnp.ones(()), shape),
}


@pytest.mark.parametrize("function", SHAPED.values(), ids=SHAPED)
def test_shapes_are_taken_from_generators_and_maps(function, backend):
    for sizes in (map(int, (2, 3)), (n for n in (2, 3)), iter([2, 3])):
        np.testing.assert_array_equal(function(sizes), function((2, 3)))


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "dstack"])
def test_arrays_to_join_that_are_no_sequence_are_answered_with_one(name):
    x = np.ones(2, np.float32)
    for second in (x, jnp.asarray(x)):
        with pytest.raises(
            TypeError, match=rf"{name} takes the arrays .* Write {name}\(\[a, b\]\)"
        ):
            getattr(jnp, name)(x, second)
    assert getattr(jnp, name)([x, x]).size == 4


class Blocks:
    """A sequence of arrays with the attributes of arrays, each a tuple of its elements'."""

    def __init__(self, *arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, i):
        return self.arrays[i]

    aval = property(lambda self: tuple(x.aval for x in self.arrays))
    shape = property(lambda self: tuple(x.shape for x in self.arrays))


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "dstack"])
def test_sequences_with_the_attributes_of_arrays_are_joined(name):
    join = getattr(jnp, name)
    arrays = jnp.ones(3), jnp.arange(3)
    np.testing.assert_array_equal(join(Blocks(*arrays)), join(list(arrays)))
