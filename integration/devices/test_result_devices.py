"""Results are on the device that the operands are committed to, empty and constant ones as well."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp


def _put(values: Any, dtype: str = "float32") -> Any:
    return ricci.device_put(np.asarray(values, dtype), ricci.devices()[1])


def _x() -> Any:
    return _put([1, 2, 3])


def _empty(dtype: str = "float32") -> Any:
    return _put([], dtype)


def _mask(*values: bool) -> Any:
    return _put(values, "bool")


def _rows() -> Any:
    return _put(np.zeros((0, 3)))


CASES: dict[str, Callable[[], Any]] = {
    "argwhere": lambda: jnp.argwhere(_x()),
    "argwhere, empty": lambda: jnp.argwhere(_empty()),
    "argwhere, none": lambda: jnp.argwhere(_put([0, 0])),
    "at[].get": lambda: _x().at[_empty("int32")].get(),
    "bincount": lambda: jnp.bincount(_empty("int32"), minlength=3),
    "choose": lambda: jnp.choose(_empty("int32"), [_empty(), _empty()]),
    "compress": lambda: jnp.compress(_mask(False, False, False), _x()),
    "delete": lambda: jnp.delete(_x(), _put([0, 1, 2], "int32")),
    "diagonal": lambda: jnp.diagonal(_rows()),
    "extract": lambda: jnp.extract(_mask(False, False, False), _x()),
    "flatnonzero": lambda: jnp.flatnonzero(_put([0, 0])),
    "histogram": lambda: jnp.histogram(_empty())[0],
    "index by a boolean": lambda: _x()[False],
    "index by a mask": lambda: _x()[_mask(False, True, False)],
    "index by a mask of columns": lambda: _put(np.ones((2, 3)))[:, _mask(False, False, False)],
    "index by a mask of rows": lambda: _put(np.ones((2, 3)))[_mask(False, False)],
    "index by a mask, empty": lambda: _empty()[_empty("bool")],
    "index by a mask, none": lambda: _x()[_mask(False, False, False)],
    "index by a mask of NumPy": lambda: _x()[np.zeros(3, bool)],
    "index by no positions": lambda: _x()[_empty("int32")],
    "index, uncommitted": lambda: _x()[jnp.zeros(3, bool)],
    "insert": lambda: jnp.insert(_empty(), 0, 1.0),
    "intersect1d": lambda: jnp.intersect1d(_x(), _x()),
    "isin": lambda: jnp.isin(_x(), _empty()),
    "isreal": lambda: jnp.isreal(_x()),
    "ix_": lambda: jnp.ix_(_mask(True, False))[0],
    "linspace": lambda: jnp.linspace(_put(0), _put(1), 0),
    "nonzero": lambda: jnp.nonzero(_x())[0],
    "nonzero, empty": lambda: jnp.nonzero(_empty())[0],
    "nonzero, none": lambda: jnp.nonzero(_put(np.zeros((2, 3))))[1],
    "pinv": lambda: jnp.linalg.pinv(_rows()),
    "repeat": lambda: jnp.repeat(_x(), 0),
    "resize": lambda: jnp.resize(_x(), (0,)),
    "searchsorted": lambda: jnp.searchsorted(_empty(), _x()),
    "setdiff1d": lambda: jnp.setdiff1d(_x(), _x()),
    "slice": lambda: _x()[3:],
    "take": lambda: jnp.take(_x(), _empty("int32")),
    "trim_zeros": lambda: jnp.trim_zeros(_put([0, 0])),
    "union1d": lambda: jnp.union1d(_empty(), _empty()),
    "unique": lambda: jnp.unique(_empty()),
    "unique, counts": lambda: jnp.unique(_empty(), return_counts=True)[1],
    "unique, rows": lambda: jnp.unique(_rows(), axis=0),
    "unique, size": lambda: jnp.unique(_empty(), size=2, fill_value=0),
    "where": lambda: jnp.where(_mask(True, False))[0],
    "zeros_like": lambda: jnp.zeros_like(_empty()),
}


@pytest.mark.sampled(27)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_result_is_on_the_device_of_the_operands(eight_devices, name, x64):
    with ricci.enable_x64(x64):
        for _ in range(2):  # the second call is dispatched from C++
            result = CASES[name]()
            assert (result.device, result.committed) == (ricci.devices()[1], True)


def test_result_of_uncommitted_operands_is_uncommitted():
    for result in (jnp.ones(3)[jnp.zeros(3, bool)], jnp.nonzero(jnp.ones(3))[0]):
        assert (result.device, result.committed) == (ricci.devices()[0], False)
