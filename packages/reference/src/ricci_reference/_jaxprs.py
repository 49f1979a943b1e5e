"""Evaluation of the jaxprs that primitives hold, and conversion between arrays and NumPy arrays.

An element of an extended dtype, such as a random key, is an array of numbers itself. NumPy holds it
as an element of a structured dtype, whose only field is that array. So rules that move
elements apply to keys, too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ricci_ir import ExtendedDType, Jaxpr, ShapedArray, Token, eval_jaxpr, eval_trace, set_trace

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
    # An array of keys has its numbers in ``physical``; other arrays have no such attribute.
    numbers = getattr(x, "physical", None)
    if numbers is None:
        return np.asarray(x, dtype)
    # The field's own shape follows the array's, as the numbers of a key do.
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


def run_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr on the current backend.

    Its arguments become arrays of the types that it was traced for: otherwise a NumPy array of
    float64 would be of float64 in operations traced with 64-bit dtypes on, of float32 in others.
    """
    operands = [to_array(x, var.aval) for x, var in zip(args, jaxpr.invars, strict=True)]
    with set_trace(eval_trace):
        results = eval_jaxpr(jaxpr, jaxpr.consts, *operands)
    avals: list[Any] = jaxpr.out_avals
    return list(map(to_array, results, avals))


def run_jaxpr_numpy(jaxpr: Jaxpr, args: Sequence[ArrayLike]) -> list[np.ndarray]:
    """Evaluate a jaxpr on the current backend; return its results as NumPy arrays."""
    avals: list[Any] = [var.aval for var in jaxpr.invars]
    # Views become read-only, not the user's arrays.
    operands = [
        from_numpy(np.asarray(x, numpy_dtype(aval.dtype)).view(), aval)
        for x, aval in zip(args, avals, strict=True)
    ]
    out_avals: list[Any] = jaxpr.out_avals
    return list(map(to_numpy, run_jaxpr(jaxpr, operands), out_avals))


def fold(
    jaxpr: Jaxpr,
    consts: Sequence[ArrayLike],
    inits: Sequence[ArrayLike],
    rows: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Fold each row of arrays, from the first element of the last dimension to its last.

    Args:
      jaxpr: a function of scalars, from accumulators and elements to the new accumulators.
      consts: its leading arguments.
      inits: the accumulators at the start of each row.
      rows: one array for each accumulator, all of one shape.
    """
    outer, length = rows[0].shape[:-1], rows[0].shape[-1]
    results = [np.empty(outer, row.dtype) for row in rows]
    for place in np.ndindex(outer):
        state: Sequence[ArrayLike] = inits
        # The order is fixed, so that functions that are not associative give the same result each
        # time.
        for i in range(length):
            state = run_jaxpr_numpy(jaxpr, [*consts, *state, *(row[(*place, i)] for row in rows)])
        for result, value in zip(results, state, strict=True):
            result[place] = np.asarray(value)
    return results
