"""Special functions at the edges of their domains, compared with SciPy.

A row is a function and values of each operand; it is called with their product, some 400 points.
SciPy computes in float64, of the operands as they are in the width of the call. A result may differ
by some units in the last place, by what a change of the operands by one of theirs makes of it, and
by what the row accepts.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import scipy.special

from ricci import enable_x64
from ricci.scipy import special

ANY = (
    *(-inf, -1e30, -1e4, -200.5, -33.0, -10.0, -5.0, -3.5, -2.0, -1.0, -0.75, -0.5, -1e-3, -1e-20),
    *(-0.0, 0.0, 1e-30, 1e-10, 1e-3, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.5, 10.0, 20.5, 33.0, 88.0),
    *(170.5, 709.0, 1e3, 1e5, 1e10, 1e30, inf, nan),
)
SOME, OTHERS = ANY[1::2], ANY[::2]
POSITIVE = tuple(x for x in ANY if not x < 0)
ORDERS = (1e-30, 1e-10, 1e-5, 1e-2, 0.1, 0.5, 1.0, 1.5, 2.0, 5.0, 10.0, 33.3, 100.0, 1e3, 1e4)
LINE = (*np.linspace(-9, 9, 181), *np.linspace(-200, 200, 181), *ANY)


def _around(*points: float) -> tuple[float, ...]:
    """Points next to those where a function changes its formula."""
    sizes = (1e-14, 1e-9, 2e-7, 1e-5, 1e-3, 0.01, 0.03, 0.05, 0.08, 0.11)
    steps = (0.0, *sizes, *(-size for size in sizes))
    return tuple(point * (1 + step) for point in points for step in steps)


type Values = np.ndarray
type Condition = Callable[..., Values]


@dataclass(frozen=True, slots=True)
class Accepted:
    """Points at which more is accepted.

    Attributes:
        where: whether operands are such a point.
        error: the error that is accepted, of operands, the reference and the spacing at 1.
        reason: why.
    """

    where: Condition
    error: Callable[..., Any]
    reason: str


@dataclass(frozen=True, slots=True)
class Right:
    """Points at which SciPy is wrong.

    Attributes:
        where: whether operands are such a point.
        value: what is right there, of the operands.
        reason: where that comes from.
    """

    where: Condition
    value: Callable[..., Any]
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """A function of `scipy.special`, and the values of its operands.

    Attributes:
        name: the function.
        operands: the values of each operand.
        places: the relative error that is allowed, in units of the last place.
        integers: the operands that are integers.
        part: which of several results it is about.
        right, accepted: exceptions.
    """

    name: str
    operands: tuple[Sequence[float], ...]
    places: float = 200.0
    integers: tuple[int, ...] = ()
    part: int | None = None
    right: tuple[Right, ...] = ()
    accepted: tuple[Accepted, ...] = ()


def _logarithms(a: Values, b: Values, ref: Values, eps: float) -> Values:
    of = scipy.special.gammaln
    return 8 * 2.3e-16 * (np.abs(of(a)) + np.abs(of(b)) + np.abs(of(a + b)))


_NAN = Right(lambda a, b: np.isnan(a) | np.isnan(b), lambda a, b: nan, "NaN stays NaN")
_CANCELS = "SciPy takes the difference of logarithms of the gamma function"
_BETA = Accepted(
    lambda a, b: np.isfinite(a + b),
    lambda a, b, ref, eps: _logarithms(a, b, ref, eps) * np.abs(ref),
    _CANCELS,
)
_BETALN = Accepted(lambda a, b: np.isfinite(a + b), _logarithms, _CANCELS)


def _is_pole(z: Values, m: Values) -> Values:
    pole = (z <= 0) & (z == np.floor(z)) & (z > -1e4) & ((m == -1e4) | (np.abs(m - 1e-30) < 1e-36))
    return pole | (np.abs(z) < 1e-15) & (m == -1e4)


_POLE = Right(
    _is_pole, lambda z, m: 0.0, "1/Γ is zero at poles, and the limit along integers underflows"
)


def _dawson_series(x: Values) -> Values:
    total = np.zeros_like(x)
    for k in range(39, 0, -2):
        total = 1 + k / (2 * x * x) * total
    return total / (2 * x)


_FAR_DAWSON = Right(
    lambda x: (np.abs(x) > 8) & (np.abs(x) < 1e8),
    _dawson_series,
    "SciPy is up to 13 units off up to 50; by the series it is at most 1.4 (DLMF 7.6.1, 7.12.1)",
)


def _kl_div_series(p: Values, q: Values) -> Values:
    d = (p - q) / q
    terms = (np.power(-d, k) / ((k + 1) * (k + 2)) for k in range(24))
    return q * d * d * sum(terms)


_NEAR_KL_DIV = Right(
    lambda p, q: np.abs(p - q) < 0.2 * q, _kl_div_series, "in SciPy p log(p/q) - p + q cancels"
)
_FAR_GAMMA = Accepted(
    lambda a, x: (a > 100) & (x < a / 2),
    lambda a, x, ref, eps: 2.3e-16 * a * np.abs(ref),
    "SciPy rounds the exponent of the factor",
)
_NEAR_ONE = Accepted(
    lambda a, b, c, x: (x > 0.9985) & (x < 1),
    lambda a, b, c, x, ref, eps: 1000 * eps,
    "the series of some hundred terms near 1",
)
# Next to the points where the functions change their formulas.
_ORDERS = (0.3, 2.0, 9.9, 10.1, 33.0, 180.0, 220.0, 950.0, 1050.0)
SWITCHES = (
    *(Row(name, (_around(8, -8, 88, 700),), 10.0) for name in ("i0", "i0e", "i1", "i1e")),
    Row("erf", (_around(0.5, -0.5, 1, -1, 2, 4),), 4.0),
    Row("erfc", (_around(0.5, -0.5, 1, -1, 2, 4, 9, 26),), 4.0),
    Row("erfinv", (_around(0.5, -0.75, 0.85),), 4.0),
    Row("erfcinv", (_around(0.0034, 0.15, 1, 1.75, 2e-11, 1e-30),), 4.0),
    Row("ndtri", (_around(1e-30, 1.3888e-11, 0.075, 0.5, 0.89),), 4.0),
    Row("log_ndtr", (_around(-20, -5, -1, 1, 5),), 4.0),
    Row("logit", (_around(0.001, 0.3, 0.5, 0.65),), 4.0),
    Row("exp1", (_around(0.5, 1, 2, 6, 20),), 8.0),
    Row("expi", (_around(-6, -1, 1, 6, 20),), 8.0),
    Row("digamma", (_around(-1.5, -0.5, 0.5, 1, 2, 3, 10),), 16.0),
    Row("gammaln", (_around(0.5, 1, 1.5, 2, 2.5, 3, 7, 10),), 4.0),
    Row("gamma", (_around(-1.5, -0.5, 0.5, 1, 1.5, 2, 2.5, 10, 33),), 4.0),
    Row("erfcx", (_around(-4, -0.1, 0.1, 1, 10),), 4.0),
    Row(
        "dawsn",
        (_around(0.2, 1, np.sqrt(3.0), np.sqrt(15.0), 8, 44.44),),
        5.0,
        right=(_FAR_DAWSON,),
    ),
    Row("spence", (_around(0.1, 0.5, 1, 1.5, 2, 3),), 4.0),
    *(Row("sici", (_around(-4, 1, 4, 8),), 16.0, part=part) for part in (0, 1)),
    *(Row("fresnel", (_around(-1.6, 0.5, 1.6, 3),), 4.0, part=part) for part in (0, 1)),
    Row("expn", ((1.0, 2.0, 3.0, 5.0, 12.0), _around(1)), 8.0, integers=(0,)),
    Row("zeta", ((1.1, 2.5, 4.8, 12.5, 19.6), _around(9, 100, 1e4, 1e8)), 4.0),
    Row("polygamma", ((1.0, 3.0, 10.0), _around(6, 12, 33, 1e8)), 8.0, integers=(0,)),
    Row("betaln", (_around(10), (0.2, 1.3, 5.0, 9.9, 10.1, 50.0)), accepted=(_BETALN,)),
    Row("beta", (_around(10), (0.2, 1.3, 5.0, 9.9, 10.1, 50.0)), accepted=(_BETA,)),
    Row("poch", (_around(10, 100), (0.2, 1.3, 5.0, 9.9)), accepted=(_BETA,)),
    Row("kl_div", (_around(0.5, 1, 1.5), (1.0,)), 4.0, right=(_NEAR_KL_DIV,)),
    Row(
        "gammainc", (_ORDERS, _around(0.3, 1, 10, 180, 220, 950, 1050)), 8.0, accepted=(_FAR_GAMMA,)
    ),
    Row(
        "gammaincc",
        (_ORDERS, _around(0.3, 1, 10, 180, 220, 950, 1050)),
        8.0,
        accepted=(_FAR_GAMMA,),
    ),
    Row("owens_t", ((0.1, 1.0, 2.5, 4.0), _around(-1, 1)), 8.0),
    Row("hyp1f1", ((0.4, 2.5), (0.8, 3.3), _around(-60, 60)), 16.0),
    Row("hyp2f1", ((0.4, 2.5), (0.8, 1.5), (0.7, 3.3), _around(0.9)), 16.0, accepted=(_NEAR_ONE,)),
    Row("boxcox", (_around(1), _around(1e-3)), 4.0),
)
TABLE = (
    *(
        Row(name, (LINE,))
        for name in """gammasgn i0 i0e i1 i1e erf erfc erfinv erfcinv ndtr ndtri
        log_ndtr expit logit entr exp1 expi digamma gammaln gamma""".split()
    ),
    Row("erfcx", (LINE,), 4.0),
    Row("dawsn", (LINE,), 4.0, right=(_FAR_DAWSON,)),
    Row("spence", (LINE,), right=(Right(lambda x: x == inf, lambda x: -inf, "DLMF 25.12.7"),)),
    Row("gammainc", (ORDERS, POSITIVE)),
    Row("gammaincc", (ORDERS, POSITIVE)),
    Row(
        "betainc",
        (ORDERS[::2], (*ORDERS[1::2], 1e7), (0.0, 1e-30, 1e-7, 1e-5, 0.1, 0.5, 0.9, 0.999, 1.0)),
        accepted=(
            Accepted(
                lambda a, b, x: b <= 0.01,
                lambda a, b, x, ref, eps: eps * (32 + 2 * np.abs(scipy.special.gammaln(a))),
                "1 - I(b, a, 1 - x) cancels where I is near 0",
            ),
        ),
    ),
    Row(
        "owens_t",
        (OTHERS, SOME),
        right=(
            Right(
                lambda h, a: (np.abs(a) < 1e-8) & (np.abs(h) < 1e5),
                lambda h, a: a * np.exp(-h * h / 2) / (2 * np.pi),
                "the integrand is constant on a short interval",
            ),
        ),
    ),
    Row(
        "hyp1f1",
        (
            (-3.0, -1.5, 0.5, 2.0, 30.0, 100.0),
            (-3.5, -2.0, -0.5, 0.5, 1.0, 4.0, 20.5),
            (-100.0, -30.0, -2.0, -0.1, -1e-5, 0.0, 1e-5, 0.1, 1.0, 10.0, 50.0),
        ),
        accepted=(
            Accepted(
                lambda a, b, x: (a == 100) & (b < 0) & (x > -1) & (x < 0),
                lambda a, b, x, ref, eps: 6e3 * eps,
                "next to a root of waves that are 14 times as high",
            ),
        ),
    ),
    Row(
        "hyp2f1",
        (
            (-2.0, -0.5, 0.5, 1.5),
            (-1.5, 0.5, 2.0),
            (-1.5, 0.5, 1.0, 3.5),
            (-1.0, -0.5, 0.0, 0.3, 0.6, 0.9, 0.999, 1.0),
        ),
        accepted=(_NEAR_ONE,),
    ),
    Row("beta", (SOME, OTHERS), right=(_NAN,), accepted=(_BETA,)),
    Row("betaln", (SOME, OTHERS), right=(_NAN,), accepted=(_BETALN,)),
    Row("poch", (SOME[1:], OTHERS), right=(_POLE,), accepted=(_BETA,)),
    Row(
        "zeta",
        (SOME, OTHERS),
        right=(
            Right(lambda x, q: np.isnan(x) | np.isnan(q), lambda x, q: nan, "NaN stays NaN"),
            Right(lambda x, q: (x >= 1e30) & (x < inf) & (q > 1), lambda x, q: 0.0, "q^-x is 0"),
        ),
        accepted=(
            Accepted(
                lambda x, q: (x == 709) & (q == -0.75),
                lambda x, q, ref, eps: nan if eps > 1e-10 else 0.0,
                "terms of both signs overflow in float32: NaN, where the limit is inf",
            ),
        ),
    ),
    Row("polygamma", ((0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0), ANY), 1000.0, integers=(0,)),
    *(
        Row(name, (OTHERS, SOME))
        for name in "xlogy xlog1py rel_entr kl_div boxcox boxcox1p".split()
    ),
    Row("expn", ((0.0, 1.0, 2.0, 5.0, 10.0, 50.0), ANY), integers=(0,)),
    *SWITCHES,
)


def _result(row: Row, module: Any, operands: Sequence[Values]) -> Any:
    results = getattr(module, row.name)(*operands)
    return results if row.part is None else results[row.part]


def _reference(row: Row, operands: Sequence[Values]) -> Values:
    wide = [x.astype(np.int64) if i in row.integers else x for i, x in enumerate(operands)]
    result = np.asarray(_result(row, scipy.special, wide), np.float64)
    for right in row.right:
        result = np.where(right.where(*operands), right.value(*operands), result)
    return result


def _movement(row: Row, operands: Sequence[Values], reference: Values, eps: float) -> Values:
    """The change of the result by a change of each operand by a unit of its last place."""
    total = np.zeros_like(reference)
    for i, sign in itertools.product(range(len(operands)), (1, -1)):
        if i not in row.integers:
            moved = [x * (1 + sign * eps) if i == j else x for j, x in enumerate(operands)]
            change = np.abs(_reference(row, moved) - reference)
            total += np.where(np.isfinite(change), change, 0)
    return total


def disagreements(row: Row, dtype: str) -> list[str]:
    """Return a line for each point at which a function is neither SciPy's nor accepted."""
    limits: Any = np.finfo(dtype)
    eps, largest = float(limits.eps), float(limits.max)
    points = np.array(list(itertools.product(*row.operands)), dtype).T
    operands = [x.astype(np.float64) for x in points]
    narrow = [x.astype(np.int32) if i in row.integers else x for i, x in enumerate(points)]
    with enable_x64(dtype == "float64"), np.errstate(all="ignore"):
        ours = np.asarray(_result(row, special, narrow)).astype(np.float64)
        theirs = _reference(row, operands)
        bound = row.places * eps * np.abs(theirs) + 4 * _movement(row, operands, theirs, eps)
        bound = bound + 2 * float(limits.tiny)
        for accepted in row.accepted:
            more = accepted.error(*operands, theirs, eps)
            bound = np.where(accepted.where(*operands), bound + more, bound)
        rounded = np.where(np.abs(theirs) > largest, np.sign(theirs) * inf, theirs)
        # Next to the largest number one side may be infinite.
        large = np.minimum(np.abs(ours), np.abs(theirs)) > largest / 8
        agree = (np.abs(ours - rounded) <= bound) | (ours == rounded) | np.isinf(bound)
        agree |= large & (np.sign(ours) == np.sign(theirs))
        agree |= np.isnan(ours) & (np.isnan(rounded) | np.isnan(bound))
    return [
        f"{row.name}{tuple(float(x[k]) for x in points)} in {dtype}: {ours[k]}, not {theirs[k]}"
        for k in np.flatnonzero(~agree)
    ]
