"""NumPy's outcome of a case whose positions are in bounds."""

from typing import Any

import numpy as np

from .case import Case

_UFUNCS = {"add": np.add, "subtract": np.subtract, "min": np.minimum, "max": np.maximum}


def numpy_result(case: Case) -> np.ndarray | None:
    """The value of a case, `None` where NumPy has no such operation."""
    if case.options.get("wrap_negative_indices") is False:
        return None
    x, index = case.array, case.index
    if case.method in ("getitem", "get"):
        return x[index]
    if case.dtype == "bool" and case.method != "set":
        return None
    found = x.copy()
    with np.errstate(all="ignore"):
        if case.method == "set":
            found[index] = case.value
        elif case.method in _UFUNCS:
            _UFUNCS[case.method].at(found, index, _cast(case.value, x.dtype))
        elif case.method == "apply":
            for place in np.arange(x.size).reshape(x.shape)[index].flat:
                found.flat[place] = found.flat[place] * found.flat[place]
        else:
            return _by_factors(case, index)
    return found


def _cast(value: Any, dtype: np.dtype) -> np.ndarray:
    return np.asarray(value).astype(dtype)


def _by_factors(case: Case, index: tuple[Any, ...]) -> np.ndarray:
    """Products; quotients and powers are taken by the product of all values for an element."""
    factors = np.ones_like(case.array)
    np.multiply.at(factors, index, _cast(case.value, factors.dtype))
    if case.method == "divide":
        return case.array / factors
    return case.array**factors if case.method == "power" else case.array * factors
