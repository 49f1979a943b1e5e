"""The combiner regions of reductions, window operations and scatters."""

from collections.abc import Sequence

from ricci_ir import AbstractValue, Jaxpr, host_rules, subjaxprs

from ._lowering import Lowering
from ._operations import Region

__all__ = ["combining_region"]


def combining_region(
    ctx: Lowering, what: str, avals: Sequence[AbstractValue], jaxpr: Jaxpr
) -> Region:
    """Return a region that combines elements by a jaxpr.

    The compiler runs such a region any number of times and in any order, and aborts the process if
    it contains a call of Python.

    Args:
      ctx: the context of the operation.
      what: the operation, for the message.
      avals: the types of the jaxpr's arguments.
      jaxpr: the jaxpr.

    Raises:
      NotImplementedError: if the jaxpr has side effects or calls Python.
    """
    if jaxpr.effects or _calls_python(jaxpr):
        effects = ", ".join(sorted(map(str, jaxpr.effects))) or "a callback"
        raise NotImplementedError(
            f"{what}: the computation that combines elements is effectful or calls Python "
            f"({effects}), which executables cannot do there. Call the function on whole "
            "arrays, before or after."
        )
    return ctx.region(avals, lambda inner, *xs: inner.inline(jaxpr, xs))


def _calls_python(jaxpr: Jaxpr) -> bool:
    if any(eqn.primitive in host_rules for eqn in jaxpr.eqns):
        return True
    return any(map(_calls_python, subjaxprs(jaxpr)))
