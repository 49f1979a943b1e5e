"""Cached scalar constants: zeros of both signs, and both widths of types."""

import numpy as np
import pytest

from ricci_ir import enable_x64
from ricci_lax.elementwise._factories import scalar

FLOAT32 = np.dtype("float32")


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_the_sign_of_zero(dtype):
    for value in (0.0, -0.0, 0, 0.0, -0.0):
        found = scalar(value, np.dtype(dtype))
        assert found.dtype == dtype
        assert np.signbit(found.real) == np.signbit(value)


@pytest.mark.parametrize("wide", [False, True])
def test_a_weak_scalar_in_both_widths(wide):
    for width in (wide, not wide, wide):
        with enable_x64(width):
            # A Python number stands for a float64 while 64-bit types are on.
            assert type(scalar(2, FLOAT32, True)) is (np.float32 if width else float)
