"""Special functions: recorded values of SciPy, derivatives, dtypes, invalid arguments.

``data/special.json`` holds what SciPy computes in float64; a row is arguments and results.
"""

import json
from decimal import Decimal, localcontext
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import enable_x64
from ricci_scipy import special

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

RECORDED = json.loads((Path(__file__).parent / "data" / "special.json").read_text())


def _row(name):
    arguments, results = RECORDED[name]
    floats = lambda rows: [np.array([float(v) for v in row]) for row in rows]
    return floats(arguments), floats(results)


@pytest.mark.sampled(11)
@pytest.mark.parametrize("name", RECORDED)
def test_values_are_those_of_scipy(name):
    arguments, results = _row(name)
    found = getattr(special, name)(*[a.astype(np.float32) for a in arguments])
    found = found if isinstance(found, tuple) else (found,)
    with np.errstate(over="ignore"):
        for ours, expected in zip(found, results, strict=True):
            assert ours.dtype == np.float32
            expected = expected.astype(np.float32)
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=2e-6)


DERIVATIVES = {
    "dawsn": (1.3,),
    "erfcx": (1.3,),
    "erfcinv": (0.3,),
    "kl_div": (0.3, 0.31),
    "exp1": (0.7,),
    "expi": (-0.8,),
    "log_ndtr": (-1.7,),
    "ndtri": (0.3,),
    "spence": (0.4,),
    "betaln": (12.0, 2.5),
    "boxcox": (2.0, 0.4),
    "poch": (2.0, 1.5),
    "owens_t": (0.7, 1.6),
    "rel_entr": (0.3, 0.6),
    "xlogy": (0.3, 0.6),
    "hyp1f1": (0.8, 1.7, 0.9),
    "i1": (0.4,),
    "entr": (0.3,),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_gradients_are_the_slopes(name):
    point, function = DERIVATIVES[name], getattr(special, name)
    count = tuple(range(len(point)))
    found = grad(function, count)(*point)
    for i in count:
        ends = []
        for step in (2e-2, -2e-2):
            moved = [np.float32(x + step * (j == i)) for j, x in enumerate(point)]
            ends.append(float(function(*moved)))
        slope = (ends[0] - ends[1]) / 4e-2
        assert float(found[i]) == pytest.approx(slope, rel=2e-2, abs=2e-3)


@pytest.mark.parametrize("name", ["erfcx", "expi", "gamma", "spence", "dawsn"])
def test_vmap_is_the_elementwise_function(name):
    x = jnp.array([0.3, 1.5, 4.0])
    function = getattr(special, name)
    np.testing.assert_array_equal(vmap(function)(x), function(x))


@pytest.mark.parametrize(
    ("argument", "dtype"),
    [
        (np.int32([1, 2]), "float32"),
        (np.float16([0.5]), "float16"),
        (np.array([0.5], ml_dtypes.bfloat16), "bfloat16"),
        (np.array([True]), "float32"),
    ],
)
def test_results_are_floats(argument, dtype):
    for name in ("dawsn", "entr", "gammaln", "expi"):
        assert getattr(special, name)(argument).dtype == dtype


@pytest.mark.parametrize(("name", "weak"), [("entr", True), ("erf", True), ("dawsn", False)])
def test_results_of_python_scalars(name, weak):
    assert getattr(special, name)(0.5).weak_type is weak


X = np.float32([0.5])
REFUSED = [
    (lambda: special.dawsn(np.complex64(1)), ValueError, "real numbers"),
    (lambda: special.entr([1.0]), TypeError, "asarray"),
    (lambda: special.ndtr(1), TypeError, "float32 or float64"),
    (lambda: special.spence(np.int32([1])), TypeError, "int32"),
    (lambda: special.log_ndtr(X, -1), ValueError, "series_order"),
    (lambda: special.log_ndtr(X, 1.5), TypeError, "series_order"),
    (lambda: special.polygamma(0.5, X), ValueError, "integer"),
    (lambda: special.zeta(2.0), NotImplementedError, "q must be given"),
    (lambda: special.factorial(3, exact=True), NotImplementedError, "math.factorial"),
    (lambda: special.bernoulli(-1), ValueError, "-1"),
    (lambda: special.bessel_jn(np.complex64([1]), v=1), ValueError, "complex64"),
    (lambda: special.lpmn(2, 3, X), NotImplementedError, "m=2 and n=3"),
    (lambda: special.lpmn(2, 2, X[None]), ValueError, "one-dimensional"),
    (lambda: special.lpmn_values(2, 2, np.int32([0]), True), TypeError, "int32"),
    (lambda: special.sph_harm_y(1, 1, X, X, diff_n=1), NotImplementedError, "diff_n"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("normalized", [False, True])
def test_legendre_tables_are_products_of_recorded_polynomials(normalized):
    z = np.float32([-0.5, 0.9])
    table = np.asarray(special.lpmn_values(2, 2, z, normalized))
    root = np.sqrt(1 - z * z)
    plain = {(0, 2): (3 * z * z - 1) / 2, (1, 2): -3 * z * root, (2, 2): 3 * root**2}
    norms = {
        0: np.sqrt(5 / (4 * np.pi)),
        1: np.sqrt(5 / (24 * np.pi)),
        2: np.sqrt(5 / (96 * np.pi)),
    }
    for (m, n), values in plain.items():
        expected = values * (norms[m] if normalized else 1)
        np.testing.assert_allclose(table[m, n], expected, rtol=1e-5)


def test_bessel_functions_at_zero_and_at_one():
    found = np.asarray(special.bessel_jn(np.float32([0.0, 1.0]), v=2))
    expected = [[1.0, 0.7651977], [0.0, 0.4400506], [0.0, 0.1149035]]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_faddeeva_function_of_complex_numbers():
    z = np.complex64([1 + 1j, 5.0, -0.5 - 0.3j])
    found = np.asarray(special.wofz(z))
    np.testing.assert_allclose(
        found[:2], [0.3047442 + 0.2082189j, 1.3887944e-11 + 0.11524596j], rtol=1e-5
    )
    mirrored = 2 * np.exp(-(z[2] ** 2)) - np.asarray(special.wofz(-z[2:]))[0]
    np.testing.assert_allclose(found[2], mirrored, rtol=1e-5)


INF = np.inf
HYP1F1_AT_BORDERS = [
    ((0.0, 0.0, 2.0), 1.0),
    ((0.0, -1.0, INF), 1.0),
    ((0.0, INF, -INF), 1.0),
    ((2.0, -1.0, 0.0), 1.0),
    ((INF, 0.5, 0.0), 1.0),
    ((2.0, INF, -1.0), 1.0),
    ((INF, -INF, 2.0), 1.0),
    ((-1.0, -1.0, 2.0), np.exp(2.0)),
    ((INF, INF, -1.0), np.exp(-1.0)),
    ((-1.0, -1.0, -INF), 0.0),
    ((2.0, 0.0, -1.0), INF),
    ((-INF, -1.0, 0.5), INF),
    ((-1.0, -2.0, 3.0), 2.5),  # a polynomial that ends before the pole
    ((np.nan, 0.0, 0.0), np.nan),
    ((0.0, 1.0, np.nan), np.nan),
]


@pytest.mark.parametrize(("operands", "expected"), HYP1F1_AT_BORDERS)
def test_hyp1f1_where_its_series_is_not_summed(operands, expected):
    np.testing.assert_allclose(special.hyp1f1(*map(np.float32, operands)), expected, rtol=1e-5)


_LARGEST = 3.4028234663852886e38


@pytest.mark.parametrize(
    "a, b, expected",  # by SciPy, in float64
    [
        (_LARGEST, 1.0, -88.72283905206835),
        (1e38, 1.0, -87.4982335018023),
        (3e38, 0.5, -43.72605796921251),
        (1e38, 2.0, -174.9964670036046),
        (_LARGEST, 1e36, -6.831243635060118e36),
    ],
)
def test_betaln_of_the_largest_numbers_neither_underflows_nor_overflows(a, b, expected):
    for operands in ((a, b), (b, a)):
        value = special.betaln(*np.float32(operands))
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    # The derivatives are log(a / (a + b)) and log(b / (a + b)) for large arguments.
    by_a, _ = grad(special.betaln, argnums=(0, 1))(*np.float32([a, a]))
    np.testing.assert_allclose(by_a, -np.log(2), rtol=1e-4)


@pytest.mark.parametrize("n", [0.0, 1e-38, 0.5, 5.0, 1e8, 1e30, 1e38, _LARGEST])
def test_comb_of_none_and_of_all_is_one(n):
    n = np.float32(n)
    assert special.comb(n, np.float32(0)) == 1
    assert special.comb(n, n) == 1
    assert grad(special.comb)(n, np.float32(0)) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_divergence_of_close_numbers_keeps_its_digits(dtype):
    p = np.float32([1.0000001, 1e-3, 5, 0.75, 1.5, 3.0])
    q = np.float32([1, 1.0001e-3, 5.000001, 1, 1, 1.4])
    with localcontext(prec=60):
        pairs = [(Decimal(float(x)), Decimal(float(y))) for x, y in zip(p, q, strict=True)]
        expected = [float(x * (x / y).ln() - x + y) for x, y in pairs]
    with enable_x64(dtype == "float64"):
        values = special.kl_div(p.astype(dtype), q.astype(dtype))
    np.testing.assert_allclose(values, expected, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("y", [1e-30, 1e-6, 0.3, 1.0, 1.7, 1.9999])
def test_derivative_of_erfcinv_is_the_reciprocal_slope_of_erfc(y):
    y = float(np.float32(y))
    with enable_x64(True):
        inverse = float(special.erfcinv(y))
    expected = -np.sqrt(np.pi) / 2 * np.exp(np.longdouble(inverse) ** 2)
    np.testing.assert_allclose(grad(special.erfcinv)(np.float32(y)), expected, rtol=2e-6)


def test_erfcinv_is_steep_at_the_ends():
    assert grad(special.erfcinv)(0.0) == -np.inf
    assert grad(special.erfcinv)(2.0) == -np.inf


@pytest.mark.sampled(8)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    ("a", "x", "lower"),  # of SciPy
    [
        (1e4, 1e4, 0.5013298083399552),
        (1e6, 1.001e6, 0.8413447863683402),
        (1e6, 1.003e6, 1 - 0.0013617406462175913),
        (1e8, 1e8 + 2e4, 0.9772444692251447),
        (1e10, 1e10, 0.5000013298076014),
        (1e20, 1e20, 0.500000000013298),
    ],
)
def test_incomplete_gamma_functions_of_large_orders(a, x, lower, wide):
    with enable_x64(wide):
        dtype = np.float64 if wide else np.float32
        a, x = dtype(a), dtype(x)
        accuracy = {"rtol": 1e-8} if wide else {"rtol": 2e-3}
        for _ in range(2):
            np.testing.assert_allclose(special.gammainc(a, x), lower, **accuracy)
            np.testing.assert_allclose(vmap(special.gammainc)(a[None], x[None]), lower, **accuracy)
        np.testing.assert_allclose(special.gammaincc(a, x), 1 - lower, rtol=1e-7 if wide else 4e-2)


def test_large_and_small_orders_share_an_array():
    a, x = np.float32([1.0, 1e8, 0.0]), np.float32([2.0, 1e8, 1.0])
    np.testing.assert_allclose(special.gammainc(a, x), [0.8646647, 0.5000133, 1.0], rtol=1e-5)
    np.testing.assert_allclose(special.gammaincc(a, x), [0.1353353, 0.4999867, 0.0], rtol=1e-5)


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_complex_poles_are_nan(name):
    poles = np.array([0, -1, -2, -5, -0.0, complex(-1, -0.0)], np.complex64)
    ours = np.asarray(getattr(special, name)(poles))
    assert np.isnan(ours.real).all() and np.isnan(ours.imag).all()


@pytest.mark.parametrize(
    "name, operands",
    [
        ("gammaincc", (1e-30, 1e-30)),
        ("gammaincc", (1e-10, 0.5)),
        ("gammaincc", (0.01, 1.0)),
        ("beta", (-1e-20, 1.5)),
        ("beta", (-1e-20, -1e-20)),
        ("betaln", (-1e-20, 33.0)),
        ("i0", (88.9,)),
        ("i1", (-90.5,)),
        ("boxcox1p", (1e-30, -1e-20)),
        ("polygamma", (20, 88.0)),
        ("polygamma", (3, 1e10)),
    ],
)
def test_small_and_large_arguments_do_not_cancel_underflow_or_overflow(name, operands):
    operands = [x if isinstance(x, int) else np.float32(x) for x in operands]
    wide = [x if isinstance(x, int) else float(x) for x in operands]
    expected = getattr(scipy.special, name)(*wide)
    ours = getattr(special, name)(*operands)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, expected, rtol=2e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_gamma_is_precise_near_its_zeros(dtype):
    # log Γ(1 + z) is -γ z + ζ(2) z² / 2 - ..., log Γ(2 + z) (1 - γ) z + (ζ(2) - 1) z² / 2 - ...
    gamma, square = 0.5772156649015329, np.pi**2 / 6
    z = np.array([-(2.0**-20), 2.0**-20, 2.0**-22], dtype)
    wide = z.astype(np.longdouble)
    cube = 1.2020569031595942  # ζ(3)
    near_one = -gamma * wide + square * wide**2 / 2 - cube * wide**3 / 3
    near_two = (1 - gamma) * wide + (square - 1) * wide**2 / 2 - (cube - 1) * wide**3 / 3
    with enable_x64(True):
        for x, expected in ((1 + z, near_one), (2 + z, near_two)):
            value = special.gammaln(x)
            np.testing.assert_allclose(value, expected, rtol=4 * float(np.finfo(dtype).eps))
