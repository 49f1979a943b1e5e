"""The type of rules, and wider dtypes for the narrow ones (``bfloat16``, ``int4``) NumPy lacks."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import Token, issubdtype

_wide: dict[np.dtype, np.dtype] = {}  # as many as there are dtypes


def wide_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype to compute in: float32 for narrower floats, 8-bit integers for narrower ones."""
    wide = _wide.get(dtype)
    if wide is None:
        if dtype.kind in "biufc" and dtype != np.float16:
            wide = dtype
        elif issubdtype(dtype, np.floating):
            wide = np.dtype(np.float32)
        else:
            wide = np.dtype(np.uint8 if issubdtype(dtype, np.unsignedinteger) else np.int8)
        _wide[dtype] = wide
    return wide


def widen(x: np.ndarray) -> np.ndarray:
    """An array in the dtype to compute in."""
    return x.astype(wide_dtype(x.dtype), copy=False)


def widened(fun: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """A rule that computes in the wide dtype and rounds the result to the first operand's dtype.

    A result of another dtype (the Booleans of a comparison) is not rounded.
    """

    def rule(*operands: np.ndarray, **params: Any) -> np.ndarray:
        dtype = operands[0].dtype
        wide = wide_dtype(dtype)
        if wide == dtype:
            return fun(*operands, **params)
        result = np.asarray(fun(*map(widen, operands), **params))
        return result.astype(dtype) if result.dtype == wide else result

    return rule


def per_element(fun: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of floats, applied in double precision to each element of arrays.

    It has one accuracy, which meets any that is asked for.
    """
    vectorized = np.vectorize(fun, otypes=[np.float64])

    def rule(*operands: np.ndarray, accuracy: object = None, **params: Any) -> np.ndarray:
        dtype = operands[0].dtype
        return vectorized(*(x.astype(np.float64) for x in operands), **params).astype(dtype)

    return rule


def lowest(dtype: np.dtype) -> complex:
    """The least value of a dtype of NumPy: the identity of the maximum."""
    if dtype.kind == "b":
        return False
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return complex(-np.inf, -np.inf) if dtype.kind == "c" else -np.inf


def highest(dtype: np.dtype) -> complex:
    """The greatest value of a dtype of NumPy: the identity of the minimum."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return complex(np.inf, np.inf) if dtype.kind == "c" else np.inf


Rule = Callable[..., np.ndarray | Token | Sequence[np.ndarray]]
