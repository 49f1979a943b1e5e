"""Jaxprs applied as one operation: the staged call, and programs of one equation."""

import weakref
from collections.abc import Iterable
from typing import Any

from ricci_ir._cache import Cache
from ricci_ir._settings import trace_key
from ricci_ir._source import no_origin
from ricci_ir.traces._primitive import Primitive, RuleTable, rule_table

from ._jaxpr import DebugInfo, Jaxpr
from ._staging import trace_to_jaxpr

__all__ = [
    "equation_program",
    "host_rules",
    "program_rules",
    "single_equation",
    "staged_call",
]

# For primitives that stand for a program: ``rule(**params)`` gives its jaxpr and its name. A
# backend evaluates the primitive by running that program.
program_rules: RuleTable = rule_table("program", required=False)

# For primitives that call Python: ``rule(*arrays, **params)`` calls it and gives the results as a
# list of arrays or NumPy arrays. A backend evaluates the primitive without compiling anything.
host_rules: RuleTable = rule_table("host", required=False)


class StagedCall:
    """The primitive that applies a jaxpr as one unit, behind ``jit``; ``lax`` defines it.

    Its operands are the jaxpr's arguments, its parameters ``jaxpr`` (without constants) and
    ``name``. Lowering writes out the calls of jaxprs in ``inlined`` instead of calling a function.
    """

    __slots__ = ("call", "inlined")

    call: Primitive

    def __init__(self):
        self.inlined: weakref.WeakSet[Jaxpr] = weakref.WeakSet()
        self.call = Primitive("jit")  # without rules, until the defined one is registered

    def register(self, call: Primitive) -> None:
        """Set the primitive."""
        self.call = call

    def bind(self, jaxpr: Jaxpr, name: str, args: Iterable[Any]) -> list[Any]:
        """Apply a jaxpr to arguments in the current trace."""
        return self.call.bind(*args, jaxpr=jaxpr, name=name)


staged_call: StagedCall = StagedCall()

_single_equations: Cache[Any, Jaxpr] = Cache("programs of one equation", 4096)


def equation_program(primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> Jaxpr:
    """A new program of one equation."""

    def fun(*args):
        result = primitive.bind(*args, **params)
        return result if primitive.multiple_results else [result]

    return trace_to_jaxpr(fun, avals, DebugInfo("eager", primitive.name), no_origin)


def single_equation(
    primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]
) -> Jaxpr | None:
    """The cached program of one equation; ``None`` if a parameter cannot be hashed."""
    key = (primitive, avals, tuple(params.items()), trace_key())
    try:
        jaxpr = _single_equations.entries.get(key)
    except TypeError:
        return None
    if jaxpr is None:
        jaxpr = _single_equations.make(key, equation_program, primitive, avals, params)
    return jaxpr
