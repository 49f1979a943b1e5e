"""The staged call, which applies a jaxpr as one operation, and the functions that become one."""

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ricci_ir._hook import Hook
from ricci_ir.traces._primitive import Primitive, RuleTable, rule_table

from ._jaxpr import Jaxpr

__all__ = ["donation", "has_stages", "host_rules", "program_rules", "register_described"]
__all__ += ["staged_call"]

# For primitives that are defined by a jaxpr: ``rule(**params)`` returns it and its name. A backend
# evaluates the primitive by running that jaxpr.
program_rules: RuleTable = rule_table("program", required=False)

# For primitives that call Python: ``rule(*arrays, **params)`` calls it and returns the results as a
# list of arrays or NumPy arrays. A backend evaluates the primitive without compiling anything.
host_rules: RuleTable = rule_table("host", required=False)

# For functions of these types ``eval_shape(fun, *args)`` is ``describe(fun, *args)``.
describers: dict[type, Callable[..., Any]] = {}


class StagedCall(Hook[Primitive]):
    """The primitive that applies a jaxpr as one unit, behind ``jit``; ``lax`` defines it.

    Its operands are the jaxpr's arguments, its parameters ``jaxpr`` (without constants), ``name``
    and, if some operands are donated, ``donated_invars``: a flag for each. Lowering inlines the
    jaxprs in ``inlined`` instead of calling a function. For a jaxpr in ``lowerings`` it first calls
    the function there, which returns the call's results, or None where it is lowered as others. A
    lowering with an attribute ``operation``, a name, is of an elementwise function of one array: it
    holds for batches as well.
    """

    __slots__ = ("inlined", "lowerings")

    def __init__(self):
        super().__init__("the staged call", provided_by="ricci_lax", default=Primitive("jit"))
        self.inlined: weakref.WeakSet[Jaxpr] = weakref.WeakSet()
        self.lowerings: weakref.WeakKeyDictionary[Jaxpr, Callable[..., object]] = (
            weakref.WeakKeyDictionary()
        )

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


def register_described(kind: type, describe: Callable[..., Any]) -> None:
    """Register the function that ``eval_shape`` calls for functions of a type."""
    describers[kind] = describe


def has_stages(fun: object) -> bool:
    """Whether a function is jitted, with the stages ``trace`` and ``lower``.

    A library's object with methods of these names is not, nor is a plain function that copied them
    from a jitted one, as ``functools.wraps`` does.
    """
    return type(fun) in describers
