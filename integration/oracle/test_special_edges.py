"""Functions of ``scipy.special`` at poles, limits, negative arguments: compared with SciPy's."""

import numpy as np
import pytest
import scipy.special

import ricci
from ricci.scipy import special

INF = np.inf
GRID = (-INF, -100.3, -20, -5.5, -3, -2.5, -2, -1, -0.5, -1e-10, 0, 1e-10, 0.5, 1, 2, 2.5, 7)
GRID = np.array([*GRID, 33.7, 170.5, 1e10, INF])
EDGES = np.array([*GRID, -1e300, -745.5, -0.0, 1e-300, 0.1, 10.5, 50, 171.7, 709, 713, 745, 1e100])
ORDERS = np.array([0, 1, 2, 3, 10])

PAIRS = tuple(x.ravel() for x in np.meshgrid(GRID, GRID, indexing="ij"))
DERIVATIVES = tuple(x.ravel() for x in np.meshgrid(ORDERS, EDGES, indexing="ij"))
ONE = "digamma gammaln loggamma gammasgn gamma erf erfc erfinv i0 i0e i1 i1e ndtr ndtri log_ndtr"
ONE += " expi exp1 expit logit entr spence dawsn factorial erfcx"
TWO = "beta betaln poch zeta xlogy xlog1py rel_entr kl_div boxcox boxcox1p"
ARGUMENTS = dict.fromkeys(ONE.split(), (EDGES,)) | dict.fromkeys(TWO.split(), PAIRS)
ARGUMENTS["polygamma"] = DERIVATIVES

# Where SciPy has no limit, another sign of a pole, or lost digits: arguments, and the true value.
DIFFERENT = {
    "beta": (lambda a, b: (a <= 0) & (b <= 0), "poles have the sign +, SciPy's that of an order"),
    "digamma": (lambda x: x == -INF, "no limit"),
    "gammaln": (lambda x: np.isinf(x), "no limit at -inf"),
    "i0": (lambda x: x == 713, "exp(713) overflows in SciPy; the value is 6.7e307"),
    "i1": (lambda x: x == 713, "exp(713) overflows in SciPy; the value is 6.7e307"),
    "expi": (lambda x: x == 713, "6.302117e306 by mpmath; SciPy overflows"),
    "spence": (lambda x: x == INF, "-inf, the limit; SciPy has NaN"),
    "poch": (lambda z, m: np.isinf(z), "the limit for large z; SciPy has NaN"),
    "zeta": (lambda x, q: x == INF, "0, the limit for q above 1; SciPy has NaN"),
    "polygamma": (
        lambda n, x: (n == 10) & (x < 0),
        "SciPy's sum cancels: -1.333e-5 for polygamma(10, -10.5), -1.34797e-5 by mpmath",
    ),
}


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_bessel_functions_whose_exponential_overflows(name):
    with ricci.enable_x64(True):
        value = float(getattr(special, name)(713.0))
    scaled = getattr(scipy.special, f"{name}e")(713.0)
    np.testing.assert_allclose(np.log(value), 713 + np.log(scaled), 1e-13)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("width", ["float32", "float64"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_special_functions_at_the_edges_are_those_of_scipy(name, width):
    arguments = [a if a.dtype.kind == "i" else a.astype(width) for a in ARGUMENTS[name]]
    wide = [a if a.dtype.kind == "i" else a.astype("float64") for a in arguments]
    with ricci.enable_x64(True), np.errstate(all="ignore"):
        result = np.asarray(getattr(special, name)(*arguments))
        expected = getattr(scipy.special, name)(*wide).astype(width)
    assert result.dtype == width
    both = ~np.isinf(wide[0]) | ~np.isinf(wide[-1]) if len(wide) > 1 else ~np.isnan(wide[0])
    if name in DIFFERENT:
        both &= ~DIFFERENT[name][0](*wide)
    digits = 3e-5 if width == "float32" else 1e-9
    tiny = float(np.finfo(width).tiny)
    np.testing.assert_allclose(result[both], expected[both], digits, 4 * tiny)


# By mpmath.
TRUE = [
    ("beta", (INF, INF), 0.0),
    ("beta", (-2.0, -3.0), INF),
    ("betaln", (INF, INF), -INF),
    ("expi", (713.0,), 6.30211701191949611553702133346e306),
    ("polygamma", (10, -10.5), -0.0000134797131804369119913211431018),
    ("polygamma", (10, -1.5), -156.229596593232994759388783112),
    ("poch", (INF, 2.5), INF),
    ("poch", (INF, -3.0), 0.0),
    ("spence", (INF,), -INF),
    ("zeta", (INF, 2.0), 0.0),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "arguments", "expected"), TRUE)
def test_special_functions_where_scipy_differs(name, arguments, expected):
    with ricci.enable_x64(True):
        result = float(getattr(special, name)(*map(np.asarray, arguments)))
    np.testing.assert_allclose(result, expected, 1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("function", "point"),
    [
        (special.beta, (-2.5, 7.0)),
        (special.betaln, (-5.5, 33.7)),
        (special.poch, (-2.5, 1.2)),
        (special.poch, (120.0, 2.5)),
        (lambda q: special.zeta(3.0, q), (-2.3,)),
        (lambda x: special.polygamma(2, x), (-2.3,)),
    ],
)
def test_derivatives_of_reflected_functions_are_the_slopes(function, point):
    with ricci.enable_x64(True):
        slopes = ricci.grad(function, tuple(range(len(point))))(*point)
        for i, slope in enumerate(slopes):
            ends = [[x + step * (i == j) for j, x in enumerate(point)] for step in (1e-6, -1e-6)]
            difference = float(function(*ends[0])) - float(function(*ends[1]))
            assert float(slope) == pytest.approx(difference / 2e-6, rel=1e-6)
            assert np.isfinite(ricci.vmap(function)(*(np.full(2, x) for x in point))).all()
