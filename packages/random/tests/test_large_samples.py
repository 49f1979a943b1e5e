"""Samples of large arrays, for which CPUs compute functions elsewhere by formulas of other bits."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_random as random
from ricci_ir import enable_x64, make_jaxpr
from ricci_lax.authoring import CompilerAccuracy

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

KEY = random.key(1)
LARGE, SMALL = 16384, 4000
DRAWS = {
    "cauchy": lambda shape: random.cauchy(KEY, shape),
    "chisquare": lambda shape: random.chisquare(KEY, 3.0, shape),
    "exponential": lambda shape: random.exponential(KEY, shape),
    "gamma": lambda shape: random.gamma(KEY, 0.5, shape),
    "generalized_normal": lambda shape: random.generalized_normal(KEY, 1.5, shape),
    "gumbel": lambda shape: random.gumbel(KEY, shape),
    "laplace": lambda shape: random.laplace(KEY, shape),
    "logistic": lambda shape: random.logistic(KEY, shape),
    "lognormal": lambda shape: random.lognormal(KEY, 0.5, shape),
    "pareto": lambda shape: random.pareto(KEY, 1.5, shape),
    "rayleigh": lambda shape: random.rayleigh(KEY, 1.5, shape),
    "weibull_min": lambda shape: random.weibull_min(KEY, 2.0, 1.5, shape),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", DRAWS)
def test_large_arrays_begin_with_the_bits_of_small_ones(name, wide):
    with enable_x64(wide):
        large, small = (np.asarray(DRAWS[name]((size,))) for size in (LARGE, SMALL))
    assert large.dtype == (np.float64 if wide else np.float32)
    np.testing.assert_array_equal(large[:SMALL], small)


def test_jaxprs_do_not_show_that_a_function_is_the_compiler_s():
    own = make_jaxpr(lambda x: lax.log1p_p.bind(x, accuracy=CompilerAccuracy.OWN))(1.0)
    assert str(own) == str(make_jaxpr(lax.log1p)(1.0))
