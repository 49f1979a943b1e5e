"""The reference backend's arrays."""

import copy
import pickle

import numpy as np
import pytest

from ricci_ir import Array, ShapedArray, as_array, bfloat16
from ricci_reference import ReferenceArray

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_array_has_the_type_of_its_values():
    x = as_array(X)
    assert isinstance(x, ReferenceArray)
    assert isinstance(x, Array)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == ((2, 3), np.float32, 2, 6, 24)
    assert x.weak_type is False
    assert as_array(2.0).weak_type is True


def test_array_does_not_share_memory_with_its_source():
    source = X.copy()
    x = as_array(source)
    source[0, 0] = 9
    assert x.tolist() == X.tolist()
    assert source.flags.writeable


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (X[0], "Array([0., 1., 2.], dtype=float32)"),
        (np.int32(3), "Array(3, dtype=int32)"),
        (2.0, "Array(2., dtype=float32, weak_type=True)"),
        (np.zeros((2, 0), np.float32), "Array([], shape=(2, 0), dtype=float32)"),
        (np.array([1], bfloat16), "Array([1], dtype=bfloat16)"),
        (np.array([True]), "Array([ True], dtype=bool)"),
    ],
)
def test_repr(value, expected):
    assert repr(as_array(value)) == expected


@pytest.mark.parametrize(
    ("convert", "value", "expected"),
    [
        (float, np.float32(1.5), 1.5),
        (int, np.int32(3), 3),
        (complex, np.complex64(1j), 1j),
        (bool, np.array([True]), True),
        (len, X, 2),
        (lambda x: x.item(), np.float32([1.5]), 1.5),
        (lambda x: x.tolist(), X[0], [0.0, 1.0, 2.0]),
        (lambda x: [float(y) for y in x], X[0], [0.0, 1.0, 2.0]),
        (lambda x: [float(y) for y in reversed(x)], X[0], [2.0, 1.0, 0.0]),
        (lambda x: "abc"[x], np.int32(1), "b"),
        (lambda x: f"{x:.1f}", np.float32(1.25), "1.2"),
    ],
)
def test_conversions(convert, value, expected):
    assert convert(as_array(value)) == expected


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda x: float(x), TypeError),
        (lambda x: bool(x), ValueError),
        (lambda x: x.item(), ValueError),
        (lambda x: range(x), TypeError),
        (lambda x: hash(x), TypeError),
        (lambda x: x.__setitem__(0, 1), TypeError),
        (lambda x: np.asarray(x).__setitem__(0, 1), ValueError),
        (lambda x: x.__array__(np.int32, copy=False), ValueError),
    ],
)
def test_invalid_operations_raise(operation, error):
    with pytest.raises(error):
        operation(as_array(X))


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies(duplicate):
    x = as_array(X)
    assert duplicate(x).aval is ShapedArray((2, 3), np.float32)
    assert duplicate(x).tolist() == x.tolist()
