"""JAX's API of partial evaluation, for libraries written for JAX."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci_ir import (
    AbstractValue,
    Array,
    ArrayLike,
    Jaxpr,
    Primitive,
    WrappedFun,
    eval_jaxpr,
    get_aval,
    trace_to_jaxpr,
)

from ._partial_eval import Split, split_jaxpr

# Rules by which libraries split an operation. Ricci stores them, so that a library can read them,
# but calls none: an equation is known if it depends on no unknown variable, and jaxprs inside of
# operations are split by rules of kind ``linearize`` and ``saving``.
custom_partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}
partial_eval_jaxpr_custom_rules: dict[Primitive, Callable[..., Any]] = {}


class PartialVal(NamedTuple):
    """A value in partial evaluation: a known value, or the type of an unknown one.

    Attributes:
      aval: the type of an unknown value; ``None`` if the value is known.
      value: the known value; ``None`` if it is unknown.
    """

    aval: AbstractValue | None
    value: ArrayLike | None

    @staticmethod
    def known(value: ArrayLike) -> "PartialVal":
        """A known value."""
        return PartialVal(None, value)

    @staticmethod
    def unknown(aval: AbstractValue) -> "PartialVal":
        """An unknown value of a type."""
        return PartialVal(aval, None)

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.aval is None

    def get_known(self) -> ArrayLike | None:
        """The known value; ``None`` if it is unknown."""
        return self.value

    def get_aval(self) -> AbstractValue:
        """The type of the value."""
        return get_aval(self.value) if self.aval is None else self.aval


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Array]]:
    """Evaluate a function partially: compute all values that depend on known arguments alone.

    Args:
      fun: takes and returns flat sequences of arrays.
      pvals: the arguments.
      instantiate: for each result (or for all), whether to treat it as unknown even if it is known.

    Returns:
      A jaxpr that takes the residuals, followed by the unknown arguments, and returns the unknown
      results; the results; and the residuals.
    """
    pvals = [PartialVal(*p) for p in pvals]
    jaxpr = trace_to_jaxpr(fun.call_wrapped, [p.get_aval() for p in pvals], fun.debug_info)
    unknown = [not p.is_known() for p in pvals]
    parts = _split(jaxpr, unknown, instantiate)
    known_args = [p.value for p in pvals if p.is_known()]
    computed = eval_jaxpr(parts.known, parts.known.consts, *known_args)
    count = sum(parts.known_results)
    values = iter(computed[:count])
    results = [
        PartialVal.known(next(values)) if is_known else PartialVal.unknown(var.aval)
        for var, is_known in zip(jaxpr.outvars, parts.known_results, strict=True)
    ]
    return parts.unknown, results, computed[count:]


def partial_eval_jaxpr_nounits(
    jaxpr: Jaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[Jaxpr, Jaxpr, list[bool], list[AbstractValue]]:
    """Split a jaxpr by which of its arguments are known.

    Args:
      jaxpr: the jaxpr.
      unknowns: for each argument, whether it is unknown.
      instantiate: for each result (or for all), whether to treat it as unknown even if it is known.

    Returns:
      A jaxpr that takes the known arguments, and returns the known results, followed by residuals;
      one that takes the residuals, followed by the unknown arguments, and returns the unknown
      results; for each result whether it is unknown; and the types of the residuals.
    """
    parts = _split(jaxpr, unknowns, instantiate)
    residual_avals = parts.known.out_avals[sum(parts.known_results) :]
    return parts.known, parts.unknown, [not k for k in parts.known_results], residual_avals


def _split(jaxpr: Jaxpr, unknown: Sequence[bool], instantiate: bool | Sequence[bool]) -> Split:
    """Split a jaxpr, with the results of which ``instantiate`` is true among the unknown ones."""
    parts = split_jaxpr(jaxpr, unknown)
    flags = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    if not any(flags):
        return parts
    pairs = zip(flags, parts.known_results, strict=True)
    return split_jaxpr(jaxpr, unknown, [bool(flag) or not k for flag, k in pairs])
