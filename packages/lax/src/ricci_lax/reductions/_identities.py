"""The values that maxima and minima start from."""

import numpy as np

import ricci_ir as ir
from ricci_ir import ArrayLike, DTypeLike


def lowest(dtype: DTypeLike) -> ArrayLike:
    """The least value of a dtype, which a maximum starts from."""
    if ir.issubdtype(dtype, np.bool_):
        return np.bool_(False)
    if ir.issubdtype(dtype, np.integer):
        return np.asarray(ir.iinfo(dtype).min).astype(dtype)[()]
    return _infinity(dtype, -1)


def highest(dtype: DTypeLike) -> ArrayLike:
    """The greatest value of a dtype, which a minimum starts from."""
    if ir.issubdtype(dtype, np.bool_):
        return np.bool_(True)
    if ir.issubdtype(dtype, np.integer):
        return np.asarray(ir.iinfo(dtype).max).astype(dtype)[()]
    return _infinity(dtype, 1)


def _infinity(dtype: DTypeLike, sign: int) -> ArrayLike:
    """Infinity, or the extreme finite value of a dtype without infinities."""
    value = np.asarray(sign * np.inf, np.float32).astype(dtype)
    if not ir.issubdtype(dtype, np.complexfloating) and not np.isinf(value.astype(np.float32)):
        value = np.asarray(ir.finfo(dtype).max if sign > 0 else ir.finfo(dtype).min).astype(dtype)
    return value[()]
