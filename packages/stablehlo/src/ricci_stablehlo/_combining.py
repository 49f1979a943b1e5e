"""The functions of scalars by which reductions, windows and scatters combine elements."""

from collections.abc import Sequence

from ricci_ir import AbstractValue, Jaxpr, host_rules, subjaxprs

from ._lowering import Lowering


def combining_region(
    ctx: Lowering, what: str, avals: Sequence[AbstractValue], jaxpr: Jaxpr
) -> list[str]:
    """The lines of a region that combines elements by a program.

    The compiler runs such a region any number of times and in any order, and ends the process
    where it finds a call of Python in it.

    Args:
      ctx: where the operation is written.
      what: the operation, for the message.
      avals: the types of the program's arguments.
      jaxpr: the program.

    Raises:
      NotImplementedError: if the program has side effects or calls Python.
    """
    if jaxpr.effects or _calls_python(jaxpr):
        found = ", ".join(sorted(map(str, jaxpr.effects))) or "a callback"
        raise NotImplementedError(
            f"{what}: the computation that combines elements is effectful or calls Python "
            f"({found}), which compiled programs cannot do there. Call the function on whole "
            "arrays, before or after."
        )
    return ctx.region(avals, lambda inner, *xs: inner.inline(jaxpr, xs))


def _calls_python(jaxpr: Jaxpr) -> bool:
    if any(eqn.primitive in host_rules for eqn in jaxpr.eqns):
        return True
    return any(map(_calls_python, subjaxprs(jaxpr)))
