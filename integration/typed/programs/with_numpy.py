"""Arrays of NumPy on the way in and out."""

from typing import assert_type

import numpy

import ricci.numpy as np
from ricci import Array
from ricci.typing import ArrayLike


def standardized(data: ArrayLike) -> Array:
    x = np.asarray(data)
    return (x - x.mean()) / x.std()


def described(value: ArrayLike) -> str:
    if isinstance(value, Array):
        assert_type(value, Array)
        return f"array of shape {value.shape}"
    if isinstance(value, numpy.ndarray):
        return f"NumPy array of shape {value.shape}"
    return f"scalar {value}"


def main() -> None:
    data = numpy.asarray([[1.0, 2.0], [3.0, 4.0]])
    result = standardized(data)
    back = numpy.asarray(result)
    numpy.testing.assert_allclose(back, result, rtol=1e-6)
    assert standardized(3).shape == ()
    assert described(result).startswith("array")
    assert described(numpy.float32(2)).startswith("scalar")
    scaled: Array = result * numpy.float32(2) + numpy.ones(2)
    assert scaled.shape == (2, 2)
