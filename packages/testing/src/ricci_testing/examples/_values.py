"""Arrays for the tables of examples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ricci_ir import bfloat16, iinfo, issubdtype

F32, C64, I32, U8, I8, U32 = np.float32, np.complex64, np.int32, np.uint8, np.int8, np.uint32

# A function that applies a primitive, and its arguments.
Call = tuple[Callable[..., Any], tuple[Any, ...]]


def array_of(*shape: int, dtype: npt.DTypeLike = F32, seed: int = 0) -> np.ndarray:
    """An array of floats between -2 and 2 without ties, of small integers, or of Booleans."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return random.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    values = random.permutation(np.linspace(-2, 2, count + 3)[1:-1])[:count].reshape(shape)
    if kind == "c":
        values = values + 1j * array_of(*shape, dtype=np.float64, seed=seed + 1)
    return np.asarray(values + 0.03 * seed).astype(dtype)


def in_dtypes(
    fun: Callable[..., Any], *shape: int, dtypes: tuple = (F32, C64, I32, bool, bfloat16)
) -> list[Call]:
    """Calls of a function with an array of this shape, one for each dtype."""
    return [(fun, (array_of(*shape, dtype=t),)) for t in dtypes]


def lowest(dtype: npt.DTypeLike) -> Any:
    """The least value of a dtype."""
    if issubdtype(dtype, np.integer):
        return np.asarray(iinfo(dtype).min).astype(dtype)[()]
    return np.asarray(False if dtype == np.bool_ else -np.inf).astype(dtype)[()]
