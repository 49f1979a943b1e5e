"""Intended differences from JAX in values or derivatives, with reasons; others are defects."""

import cmath
from fnmatch import fnmatchcase
from typing import NamedTuple

from .case import Disagreement


class Expected(NamedTuple):
    """An expected difference, and the reason.

    Attributes:
      function, part: patterns.
      pairs: the kinds of both sides' values, as in `0/nan number/inf`; of outcomes the errors.
      at: the operands of which it is expected, such as `x=0`; all of them where empty.
      dtype: the dtype of which it is expected; all of them where empty.
    """

    function: str
    part: str
    pairs: str
    reason: str
    at: tuple[str, ...] = ()
    dtype: str = ""

    def covers(self, found: Disagreement) -> bool:
        at = {f"{name}={value:g}" for name, value in found.at.items()}
        return (
            fnmatchcase(found.case.function, self.function)
            and fnmatchcase(found.part, self.part)
            and at.issuperset(self.at)
            and self.dtype in ("", found.case.dtype)
            and f"{kind(found.ours)}/{kind(found.theirs)}" in self.pairs.split()
        )


def kind(value: str) -> str:
    """The kind of a value: nan, inf, -inf, 0 or number; of an outcome the error's name.

    >>> kind("-0.0"), kind("1e-30"), kind("-inf"), kind("a value")
    ('0', 'number', '-inf', 'a-value')
    """
    try:
        number = complex(value)
    except ValueError:
        return value.replace(" ", "-")
    if cmath.isnan(number):
        return "nan"
    if cmath.isinf(number):
        return "inf" if number.real > 0 else "-inf"
    return "number" if number else "0"


_STANDARD = "the array API standard's value with an infinite or zero operand"
_LIMIT = "the limit, which exists; JAX's formula misses it"
_CANCELLED = "exact; JAX's formula cancels to 0, or rounds at each step"
_SMALL_ORDER = "of a tiny order JAX's series gives the value for 0"
_ROUNDED = "products of few digits are rounded elsewhere"
_BETWEEN = "the probability of what is no whole number is 0"
_INFINITE = "an infinite exponent, of which there is no distribution"
_DENSITY = "at 0 the derivative of the distribution is the density"

EXPECTED = (
    Expected("jnp.divmod", "*", "-inf/nan 0/number inf/nan", _STANDARD),
    Expected("jnp.floor_divide", "*", "-inf/nan 0/number inf/nan", _STANDARD),
    Expected(
        "jnp.ldexp", "*slopes*", "number/number", "the power of two, at 0 too, where JAX's is 1"
    ),
    Expected(
        "lax.random_gamma_grad",
        "outcome",
        "NotImplementedError/ValueError",
        "it has no derivative in JAX either",
    ),
    Expected(
        "lax.zeta",
        "outcome",
        "a-value/NotImplementedError",
        "only zeta of jax.scipy.special has derivatives in JAX",
    ),
    Expected(
        "*special.zeta",
        "*slopes*",
        "number/number",
        "sums that cancel at negative q, and powers in bfloat16",
    ),
    Expected("*igamma*", "*", "0/number number/0 number/number", _SMALL_ORDER),
    Expected("*gammainc*", "*", "0/number number/0 number/number", _SMALL_ORDER),
    Expected(
        "*dawsn", "*slopes*", "number/0 number/number", "JAX cancels digits of large operands"
    ),
    Expected(
        "*erfcx", "*slopes*", "number/0 number/number", "JAX cancels digits of large operands"
    ),
    Expected(
        "*log_ndtr", "*slopes*", "number/number", "JAX's asymptotic series is off far to the left"
    ),
    Expected(
        "*norm.logcdf",
        "*slopes*",
        "number/number",
        "JAX's asymptotic series is off far to the left",
    ),
    Expected(
        "*norm.logsf", "*slopes*", "number/number", "JAX's asymptotic series is off far to the left"
    ),
    Expected("*spence", "*", "-inf/nan number/0", _LIMIT),
    Expected("*special.beta", "*slopes*", "number/number", _ROUNDED),
    Expected(
        "*special.betaln", "*slopes*", "number/number", "JAX's derivative is off by its rounding"
    ),
    Expected("*special.boxcox*", "*slopes*", "number/0 number/number", _ROUNDED, dtype="bf16"),
    Expected("*special.poch", "*slopes*", "number/number", _ROUNDED, dtype="bf16"),
    Expected("*special.sici", "*slopes*", "number/number", _ROUNDED, dtype="bf16"),
    Expected(
        "*beta*",
        "*value*",
        "-inf/nan -inf/number 0/nan 0/number nan/-inf nan/inf nan/number",
        "JAX's logarithm of the gamma function differs at the largest",
    ),
    Expected(
        "*betabinom.*",
        "*slopes*",
        "number/0",
        "JAX's derivative by k is 0 at the ends of the support",
    ),
    Expected(
        "*comb",
        "*slopes*",
        "0/number number/0 number/number",
        "JAX's derivative is off by its rounding",
    ),
    Expected(
        "*kl_div",
        "*slopes*",
        "0/number number/0 number/number",
        "outside of the domain derivatives are 0",
    ),
    Expected(
        "*hyp1f1",
        "*slopes*",
        "nan/0 number/0 number/number",
        "by parameters a difference of half the digits; JAX's is 0 at 0",
    ),
    Expected(
        "*hyp1f1",
        "*value*",
        "0/nan inf/nan",
        "the limit at an infinity, where JAX's is NaN",
        at=("z=-inf",),
    ),
    Expected(
        "*gumbel_?.*pdf", "*value*", "-inf/nan 0/nan", "the density vanishes at both infinities"
    ),
    Expected(
        "*gumbel_?.ppf",
        "outcome",
        "a-value/TypeError",
        "JAX fails where it differentiates its quantiles",
    ),
    Expected(
        "*.stats.t.*",
        "*value*",
        "number/nan",
        "the limit of many degrees, where JAX's is NaN",
        at=("a=3.40282e+38",),
    ),
    Expected(
        "*.stats.t.pdf", "*slopes*", "number/number", "a difference of most digits", at=("a=100",)
    ),
    Expected("*.pareto.*", "*value*", "nan/-inf nan/0 nan/number", _INFINITE, at=("a=inf",)),
    Expected(
        "*.pareto.?[dp]f",
        "*value*",
        "number/0 number/number",
        "accurate near 0, where JAX's is rounded",
        at=("a=1.17549e-38",),
    ),
    Expected(
        "*.vonmises.*",
        "*slopes*",
        "number/0",
        "the one-sided derivative, where JAX's is 0",
        at=("a=0",),
    ),
    Expected(
        "*.vonmises.*",
        "*slopes*",
        "number/0",
        "the one-sided derivative, where JAX's is 0",
        at=("a=-0",),
    ),
    Expected("*.geom.pmf", "*slopes*", "0/number", _BETWEEN, at=("k=0.5",)),
    Expected("*.binom.*pmf", "*", "-inf/0 -inf/number 0/number", _BETWEEN, at=("k=0.5",)),
    Expected(
        "*.binom.*pmf",
        "*",
        "-inf/number 0/number",
        "a number of trials that is no whole number",
        at=("m=0.5",),
    ),
    Expected(
        "*.binom.*pmf", "*slopes*", "number/0", "JAX's derivative is 0 without trials", at=("m=0",)
    ),
    Expected(
        "*.binom.pmf",
        "*slopes*",
        "number/number",
        "0 in the middle, but for rounding",
        at=("k=1", "m=2"),
    ),
    Expected(
        "*.poisson.*pmf",
        "*slopes*",
        "0/number",
        "0 at the mean, where JAX's is rounded",
        at=("mu=10",),
    ),
    Expected(
        "*.poisson.*pmf",
        "*slopes*",
        "0/number",
        "0 at the mean, where JAX's is rounded",
        at=("mu=100",),
    ),
    Expected("*.cauchy.*", "*slopes*", "number/number", "0 outside of the probabilities"),
    Expected(
        "*.cauchy.*", "*slopes*", "number/0", "that of the quantile, π at the median", at=("x=0.5",)
    ),
    Expected("*.gamma.*", "*slopes*", "inf/0 number/0", _DENSITY, at=("x=0",)),
    Expected("*.gamma.*", "*slopes*", "inf/0 number/0", _DENSITY, at=("x=-0",)),
    Expected("*.gamma.*", "*value*", "number/0 number/number", _SMALL_ORDER, at=("a=1.17549e-38",)),
    Expected("*.chi2.*", "*slopes*", "-inf/0 inf/0 number/0", _DENSITY, at=("x=0",)),
    Expected("*.chi2.*", "*slopes*", "-inf/0 inf/0 number/0", _DENSITY, at=("x=-0",)),
    Expected(
        "*.logistic.*", "*slopes*", "0/number", "outside of the probabilities derivatives are 0"
    ),
    Expected("*.beta.*", "*slopes*", "number/number", "at the ends derivatives are one-sided"),
    *(
        Expected(f"*.{name}", "*slopes*", "number/0", _CANCELLED)
        for name in "expm1 celu elu selu soft_sign".split()
    ),
    *(
        Expected(f"*.{name}", "*slopes*", "number/number", _CANCELLED, dtype="bf16")
        for name in "exp2 logaddexp logaddexp2 soft_sign".split()
    ),
    Expected("jnp.exp2", "value", "number/number", _CANCELLED, dtype="bf16"),
    Expected("lax.exp2", "value", "number/number", _CANCELLED, dtype="bf16"),
    Expected("jax.nn.sparse_sigmoid", "*slopes*", "0/number number/number", "x + 1 is not rounded"),
)


def reason_for(found: Disagreement) -> str | None:
    """Return why a difference is expected, or None."""
    return next((row.reason for row in EXPECTED if row.covers(found)), None)
