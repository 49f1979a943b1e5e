"""Cumulative operations on CPUs run as loops over rows, on other platforms as windows."""

import numpy as np
import pytest

from ricci_ir import ShapeDtypeStruct, make_jaxpr
from ricci_lax import cumlogsumexp, cummax, cummin, cumprod, cumsum
from ricci_stablehlo import lower_jaxpr

CUMULATIVE = [cumsum, cumprod, cummax, cummin, cumlogsumexp]


def text(operation, shape, platform, axis=0):
    x = ShapeDtypeStruct(shape, np.dtype(np.float32))
    jaxpr = make_jaxpr(lambda x: operation(x, axis))(x)
    return lower_jaxpr(jaxpr, "f", platform=platform)


@pytest.mark.parametrize("operation", CUMULATIVE, ids=lambda f: f.__name__)
def test_long_rows_are_combined_in_a_loop_on_cpus_only(operation):
    on_cpu = text(operation, (100, 64), "cpu")
    assert "stablehlo.while" in on_cpu and "stablehlo.reduce_window" not in on_cpu
    for platform in ("cuda", "tpu"):
        other = text(operation, (100, 64), platform)
        assert "stablehlo.while" not in other and other.count("stablehlo.reduce_window") == 1


@pytest.mark.parametrize("shape", [(8, 8), (4, 4096), (4096,), (2048, 4)], ids=str)
def test_small_arrays_and_short_rows_stay_windows(shape):
    assert "stablehlo.while" not in text(cumsum, shape, "cpu")


@pytest.mark.parametrize("shape", [(4096,), (2048, 4)], ids=str)
def test_costly_operations_loop_over_blocks_of_short_rows(shape):
    assert "stablehlo.reduce_window" not in text(cumlogsumexp, shape, "cpu")
