"""Where a value or a derivative differs from JAX's on purpose, and why; else it is a defect."""

from fnmatch import fnmatchcase
from typing import NamedTuple

from .case import Disagreement


class Expected(NamedTuple):
    """An expected difference, and the reason.

    Attributes:
      function, part: patterns.
      at: the operands of which it is expected, such as `x=0`; all of them where empty.
      dtype: the dtype of which it is expected; all of them where empty.
    """

    function: str
    part: str
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
        )


_STANDARD = "the array API standard's value with an infinite or zero operand"
_LIMIT = "the limit, which exists; JAX's formula misses it"
_SMALL_ORDER = "of a tiny order JAX's series gives the value for 0"
_ROUNDED = "products of few digits are rounded elsewhere"
_BETWEEN = "the probability of what is no whole number is 0"
_INFINITE = "an infinite exponent, of which there is no distribution"
_DENSITY = "at 0 the derivative of the distribution is the density"

EXPECTED = (
    Expected("jnp.divmod", "*", _STANDARD),
    Expected("jnp.floor_divide", "*", _STANDARD),
    Expected("jnp.logaddexp*", "*slopes*", _LIMIT),
    Expected("jnp.ldexp", "*slopes*", "the power of two, at 0 too, where JAX's is 1"),
    Expected("lax.random_gamma_grad", "outcome", "it has no derivative in JAX either"),
    Expected("lax.zeta", "outcome", "only zeta of jax.scipy.special has derivatives in JAX"),
    Expected("*special.zeta", "*slopes*", "sums that cancel at negative q, and powers in bfloat16"),
    Expected("*igamma*", "*", _SMALL_ORDER),
    Expected("*gammainc*", "*", _SMALL_ORDER),
    Expected("*dawsn", "*slopes*", "JAX cancels digits of large operands"),
    Expected("*erfcx", "*slopes*", "JAX cancels digits of large operands"),
    Expected("*log_ndtr", "*slopes*", "JAX's asymptotic series is off far to the left"),
    Expected("*norm.logcdf", "*slopes*", "JAX's asymptotic series is off far to the left"),
    Expected("*norm.logsf", "*slopes*", "JAX's asymptotic series is off far to the left"),
    Expected("*ndtri", "*slopes*", "infinite at the ends of the domain"),
    Expected("*norm.ppf", "*slopes*", "infinite at the ends of the domain"),
    Expected("*norm.isf", "*slopes*", "infinite at the ends of the domain"),
    Expected("*spence", "*", _LIMIT),
    Expected("*special.beta", "*slopes*", _ROUNDED),
    Expected("*special.betaln", "*slopes*", "JAX's derivative is off by its rounding"),
    Expected("*special.boxcox*", "*slopes*", _ROUNDED, dtype="bf16"),
    Expected("*special.poch", "*slopes*", _ROUNDED, dtype="bf16"),
    Expected("*beta*", "*value*", "JAX's logarithm of the gamma function differs at the largest"),
    Expected("*comb", "*slopes*", "JAX's derivative is off by its rounding"),
    Expected("*kl_div", "*slopes*", "outside of the domain derivatives are 0"),
    Expected("*rel_entr", "*slopes*", "outside of the domain derivatives are 0"),
    Expected(
        "*hyp1f1", "*slopes*", "by parameters a difference of half the digits; JAX's is 0 at 0"
    ),
    Expected("*hyp1f1", "*value*", "the limit at an infinity, where JAX's is NaN", at=("z=-inf",)),
    Expected("*gumbel_?.*pdf", "*value*", "the density vanishes at both infinities"),
    Expected("*gumbel_?.ppf", "outcome", "JAX fails where it differentiates its quantiles"),
    Expected(
        "*.stats.t.*",
        "*value*",
        "the limit of many degrees, where JAX's is NaN",
        at=("a=3.40282e+38",),
    ),
    Expected("*.stats.t.pdf", "*slopes*", "a difference of most digits", at=("a=100",)),
    Expected("*.pareto.*", "*value*", _INFINITE, at=("a=inf",)),
    Expected(
        "*.pareto.?[dp]f",
        "*value*",
        "accurate near 0, where JAX's is rounded",
        at=("a=1.17549e-38",),
    ),
    Expected("*.vonmises.*", "*slopes*", "the one-sided derivative, where JAX's is 0", at=("a=0",)),
    Expected(
        "*.vonmises.*", "*slopes*", "the one-sided derivative, where JAX's is 0", at=("a=-0",)
    ),
    Expected("*.geom.pmf", "*slopes*", _BETWEEN, at=("k=0.5",)),
    Expected("*.binom.*pmf", "*", _BETWEEN, at=("k=0.5",)),
    Expected("*.binom.*pmf", "*", "a number of trials that is no whole number", at=("m=0.5",)),
    Expected("*.binom.*pmf", "*slopes*", "JAX's derivative is 0 without trials", at=("m=0",)),
    Expected("*.binom.pmf", "*slopes*", "0 in the middle, but for rounding", at=("k=1", "m=2")),
    Expected("*.poisson.*pmf", "*slopes*", "0 at the mean, where JAX's is rounded", at=("mu=10",)),
    Expected("*.poisson.*pmf", "*slopes*", "0 at the mean, where JAX's is rounded", at=("mu=100",)),
    Expected("*.cauchy.log?*", "*value*", "accurate far out, where JAX's is rounded"),
    Expected("*.cauchy.?[ps]f", "*value*", "accurate near 0, where JAX's is rounded"),
    Expected("*.cauchy.ppf", "*value*", "accurate near 0, where JAX's is rounded"),
    Expected("*.cauchy.*", "*slopes*", "0 outside of the probabilities"),
    Expected("*.gamma.*", "*slopes*", _DENSITY, at=("x=0",)),
    Expected("*.gamma.*", "*slopes*", _DENSITY, at=("x=-0",)),
    Expected("*.gamma.*", "*value*", _SMALL_ORDER, at=("a=1.17549e-38",)),
    Expected("*.chi2.*", "*slopes*", _DENSITY, at=("x=0",)),
    Expected("*.chi2.*", "*slopes*", _DENSITY, at=("x=-0",)),
    Expected("*.chi2.*pdf", "*value*", "the limit, of infinitely many degrees", at=("a=inf",)),
    Expected("*.logistic.*", "*slopes*", "outside of the probabilities derivatives are 0"),
    Expected("*.beta.*", "*slopes*", "at the ends derivatives are one-sided"),
)


def reason_for(found: Disagreement) -> str | None:
    """Return why a difference is expected, or None."""
    return next((row.reason for row in EXPECTED if row.covers(found)), None)
