"""The staged call, which applies a jaxpr as one operation, and jaxprs of one equation."""

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ricci_ir._cache import Cache
from ricci_ir._settings import trace_key
from ricci_ir._source import no_origin
from ricci_ir.traces._primitive import Primitive, RuleTable, rule_table

from ._jaxpr import DebugInfo, Jaxpr
from ._staging import trace_to_jaxpr

__all__ = [
    "donation",
    "equation_program",
    "host_rules",
    "program_rules",
    "single_equation",
    "staged_call",
]

# For primitives that are defined by a jaxpr: ``rule(**params)`` returns it and its name. A backend
# evaluates the primitive by running that jaxpr.
program_rules: RuleTable = rule_table("program", required=False)

# For primitives that call Python: ``rule(*arrays, **params)`` calls it and returns the results as a
# list of arrays or NumPy arrays. A backend evaluates the primitive without compiling anything.
host_rules: RuleTable = rule_table("host", required=False)


class StagedCall:
    """The primitive that applies a jaxpr as one unit, behind ``jit``; ``lax`` defines it.

    Its operands are the jaxpr's arguments, its parameters ``jaxpr`` (without constants), ``name``
    and, if some operands are donated, ``donated_invars``: a flag for each. Lowering inlines the
    jaxprs in ``inlined`` instead of calling a function.
    """

    __slots__ = ("call", "inlined")

    call: Primitive

    def __init__(self):
        self.inlined: weakref.WeakSet[Jaxpr] = weakref.WeakSet()
        self.call = Primitive("jit")  # without rules, until the defined one is registered

    def register(self, call: Primitive) -> None:
        """Set the primitive."""
        self.call = call

    def bind(
        self, jaxpr: Jaxpr, name: str, args: Iterable[Any], donated: Sequence[bool] = ()
    ) -> list[Any]:
        """Apply a jaxpr to arguments in the current trace.

        Args:
          jaxpr: the jaxpr.
          name: its name.
          args: its arguments.
          donated: for each argument, whether its memory may be reused when the call is eager; empty
            for none.
        """
        return self.call.bind(*args, jaxpr=jaxpr, name=name, **donation(donated))


def donation(flags: Iterable[bool]) -> dict[str, tuple[bool, ...]]:
    """The parameter ``donated_invars`` of a staged call; no parameter if no operand is donated."""
    donated = tuple(flags)
    return {"donated_invars": donated} if any(donated) else {}


staged_call: StagedCall = StagedCall()

_single_equations: Cache[Any, Jaxpr] = Cache("programs of one equation", 4096)


def equation_program(primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> Jaxpr:
    """Trace a primitive to a jaxpr of one equation."""

    def fun(*args):
        result = primitive.bind(*args, **params)
        return result if primitive.multiple_results else [result]

    return trace_to_jaxpr(fun, avals, DebugInfo("eager", primitive.name), no_origin)


def single_equation(
    primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]
) -> Jaxpr | None:
    """Return the cached jaxpr of one equation; ``None`` if a parameter is not hashable."""
    key = (primitive, avals, tuple(params.items()), trace_key())
    try:
        jaxpr = _single_equations.entries.get(key)
    except TypeError:
        return None
    if jaxpr is None:
        jaxpr = _single_equations.make(key, equation_program, primitive, avals, params)
    return jaxpr
