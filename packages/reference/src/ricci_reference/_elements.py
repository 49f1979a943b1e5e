"""Conversion between the NumPy arrays that rules compute with and the backend's arrays.

An element of an extended dtype, such as a random key, is an array of numbers itself. NumPy holds it
as an element of a structured dtype, whose only field is that array. So rules that move
elements apply to keys, too.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ricci_ir import ExtendedDType, ShapedArray, Token

from ._array import ReferenceArray

_FIELD = "numbers"


def numpy_dtype(dtype: Any) -> np.dtype:
    """The dtype of the NumPy arrays that hold elements of a dtype, which may be an extended one."""
    if not isinstance(dtype, ExtendedDType):
        return dtype
    element: ShapedArray = dtype.physical_aval(ShapedArray((), dtype))
    return np.dtype([(_FIELD, element.dtype, element.shape)])


def to_numpy(x: Any, aval: ShapedArray) -> Any:
    """The values of an array, a NumPy array or a scalar; a token is returned unchanged."""
    if type(x) is Token:
        return x
    if type(x) is ReferenceArray:
        return x._value
    dtype = numpy_dtype(aval.dtype)
    numbers = getattr(x, "physical", None)
    if numbers is None:
        return np.asarray(x, dtype)
    elements = np.empty(aval.shape, dtype)
    elements[_FIELD] = np.asarray(numbers)
    return elements


def from_numpy(value: ArrayLike | Token, aval: ShapedArray) -> Any:
    """An array of a type that shares a NumPy array's memory, which becomes read-only."""
    if type(value) is Token:
        return value
    values = np.asarray(value)
    if not isinstance(aval.dtype, ExtendedDType):
        return ReferenceArray(values, aval)
    numbers = values[_FIELD].copy()
    return aval.dtype.from_physical(ReferenceArray(numbers, aval.dtype.physical_aval(aval)))


def to_array(x: Any, aval: ShapedArray) -> Any:
    """An array of a type: ``x`` itself if it is one of this backend, else a copy of its values."""
    if type(x) is Token:
        return x
    if type(getattr(x, "physical", x)) is ReferenceArray and x.aval is aval:
        return x
    return from_numpy(np.array(to_numpy(x, aval), numpy_dtype(aval.dtype)), aval)
