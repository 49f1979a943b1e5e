"""Cached scalar constants."""

import numpy as np
import pytest

from ricci_numpy._promotion import strong_constant


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_cached_constants_keep_the_sign_of_zero(dtype):
    for value in (0.0, -0.0, 0, 0.0, -0.0):
        found = strong_constant(np.dtype(dtype), value)
        assert found.dtype == dtype
        assert np.signbit(found.real) == np.signbit(value)
