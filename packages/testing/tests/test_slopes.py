"""The law of derivatives at all representable points, on the primitives of one operand."""

import os

import numpy as np
import pytest

import ricci_ir as ir
import ricci_xla as xla
from ricci_testing import SLOPES, WITHOUT_SLOPES, Samples, check_slope, example_rules, slope_points

COUNT = 60 if os.environ.get("RICCI_SAMPLE") else 200
DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.sampled(60)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SLOPES)
def test_derivative_is_exact_at_representable_points(name, dtype):
    if dtype == "float64" and np.finfo(np.longdouble).nmant < 60:
        pytest.skip("no floats wider than float64 on this processor")
    fun = ir.primitives[name].bind
    with ir.enable_x64(True):
        check_slope(fun, SLOPES[name], dtype, count=COUNT, jit=xla.jit)


def test_points_cover_the_range():
    points = slope_points(np.dtype("float32"))
    assert 180 < len(points) < 220
    assert points.max() == np.finfo(np.float32).max
    assert 0 < abs(points[points != 0]).min() < 3e-38


def test_law_names_wrong_points():
    wrong = SLOPES["expm1"]
    with pytest.raises(AssertionError, match="points are wrong, at"):
        check_slope(ir.primitives["sin"].bind, wrong, "float32", count=20, jit=xla.jit)


def test_wider_bounds_have_reasons():
    wide = {name for name, slope in SLOPES.items() if slope.ulps > 4 or slope.absolute}
    assert {name for name, slope in SLOPES.items() if slope.exempt} == wide


def test_all_elementwise_primitives_have_slopes_or_a_reason():
    rules = example_rules.items()
    unary = {name for name, rule in rules if isinstance(rule, Samples) and len(rule.domains) == 1}
    assert unary == {*SLOPES, *WITHOUT_SLOPES}
