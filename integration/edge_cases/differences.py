"""Where a value or a derivative differs from JAX's on purpose, and why; else it is a defect."""

from fnmatch import fnmatchcase
from typing import NamedTuple

from .case import Disagreement


class Expected(NamedTuple):
    """An expected difference: patterns of the function and of the part, and the reason."""

    function: str
    part: str
    reason: str


_STANDARD = "the array API standard's value with an infinite or zero operand"
_LIMIT = "the limit, which exists; JAX's formula misses it"
_SMALL_ORDER = "of a tiny order JAX's series gives the value for 0"

EXPECTED = (
    Expected("jnp.divmod", "*", _STANDARD),
    Expected("jnp.floor_divide", "*", _STANDARD),
    Expected("jnp.logaddexp*", "*slopes*", _LIMIT),
    Expected("jnp.ldexp", "*slopes*", "the power of two, at 0 too, where JAX's is 1"),
    Expected("lax.random_gamma_grad", "outcome", "it has no derivative in JAX either"),
    Expected("*zeta", "outcome", "no formula for the derivative by the exponent is known here"),
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
    Expected("*special.beta", "*slopes*", "products of few digits are rounded elsewhere"),
    Expected("*beta*", "*value*", "JAX's logarithm of the gamma function differs at the largest"),
    Expected("*comb", "*slopes*", "JAX's derivative is off by its rounding"),
    Expected("*kl_div", "*slopes*", "outside of the domain derivatives are 0"),
    Expected("*rel_entr", "*slopes*", "outside of the domain derivatives are 0"),
    Expected("*hyp1f1", "*", "the series is not summed where a parameter is 0 or infinite"),
    Expected("*gumbel_?.*pdf", "*value*", "the density vanishes at both infinities"),
    Expected("*.cauchy.*", "*", "accurate far out, and 0 outside of the probabilities"),
    Expected("*.logistic.*", "*slopes*", "outside of the probabilities derivatives are 0"),
    Expected("*.gamma.*", "*", "at 0 the derivative of the distribution is the density"),
    Expected("*.chi2.*", "*", "at 0 the derivative of the distribution is the density"),
    Expected("*.beta.*", "*slopes*", "at the ends derivatives are one-sided"),
)


def reason_for(found: Disagreement) -> str | None:
    """Return why a difference is expected, or None."""
    for row in EXPECTED:
        if fnmatchcase(found.case.function, row.function) and fnmatchcase(found.part, row.part):
            return row.reason
    return None
