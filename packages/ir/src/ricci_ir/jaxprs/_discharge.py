"""Discharge: programs that read and write references as functions of the arrays in them.

A discharged program takes the array that each reference holds, and returns, behind its results, the
arrays that they hold in the end. It is found by running the program with references that are Python
objects (``Ref``), under a trace that records all but these: reading gives what the object holds,
writing replaces it. Nothing else in Ricci interprets reading and writing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ricci_ir._records import TupleRecord
from ricci_ir.traces._primitive import Primitive, derived
from ricci_ir.traces._references import Ref, uses_references
from ricci_ir.types._references import AbstractRef

from ._dead_code import live_program
from ._evaluate import eval_jaxpr
from ._jaxpr import Jaxpr, JaxprEqn
from ._staging import JaxprTrace, trace_to_jaxpr

__all__ = [
    "as_values",
    "discharge_as_call",
    "discharge_call",
    "discharged",
    "DischargedProgram",
    "free_references",
    "reference_arguments",
    "without_references",
    "write_back",
]


class DischargeTrace(JaxprTrace):
    """Records a program without references: what is done with them is done in Python."""

    __slots__ = ()

    records_references: bool = False

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """See ``JaxprTrace``.

        An operation without a ``discharge`` rule may hold programs with references of their own.
        """
        if primitive.effects is not None and uses_references(primitive.effects(params)):
            params = {name: _discharged_inside(primitive, x) for name, x in params.items()}
        return super().process(primitive, args, params)

    def copy_equation(self, eqn: JaxprEqn, env: dict[Any, Any]) -> bool:
        """See ``JaxprTrace``; what uses references is not copied."""
        if eqn.effects and uses_references(eqn.effects):
            return False
        return super().copy_equation(eqn, env)


def without_references(jaxpr: Jaxpr) -> Jaxpr:
    """A program that takes no references, without those that it makes itself."""
    if uses_references(jaxpr.effects) and not reference_arguments(jaxpr):
        return discharged(jaxpr).jaxpr
    return jaxpr


def _discharged_inside(primitive: Primitive, param: Any) -> Any:
    """A parameter without the references that the programs in it make."""
    if isinstance(param, tuple) and param and all(isinstance(x, Jaxpr) for x in param):
        return tuple(_discharged_inside(primitive, x) for x in param)
    if not isinstance(param, Jaxpr) or not uses_references(param.effects):
        return param
    if reference_arguments(param):
        raise NotImplementedError(
            f"references are not supported as operands of {primitive.name!r}, which has no "
            "discharge rule. Pass the arrays that they hold, and write what it returns."
        )
    return discharged(param).jaxpr


class DischargedProgram(TupleRecord):
    """A program as a function of arrays.

    Attributes:
      jaxpr: takes the array of each reference in its place; returns the results, and then the
        arrays of the references in ``written``.
      written: the positions, among the arguments, of the references whose arrays it returns.
      freed: the positions of the references that it frees.
    """

    jaxpr: Jaxpr
    written: tuple[int, ...]
    freed: tuple[int, ...]


def reference_arguments(jaxpr: Jaxpr) -> tuple[int, ...]:
    """The positions of the references among a program's arguments."""
    return tuple([i for i, v in enumerate(jaxpr.invars) if type(v.aval) is AbstractRef])


def discharged(jaxpr: Jaxpr, returned: Sequence[int] | None = None) -> DischargedProgram:
    """A program as a function of arrays, which the jaxpr keeps.

    Args:
      jaxpr: the program, with its constants made arguments if there are references among them.
      returned: the positions of the references whose arrays are returned in the end; by default of
        those that are written.
    """
    returned = None if returned is None else tuple(returned)
    return jaxpr.derived(("discharged", returned), lambda: _discharge(jaxpr, returned))


def _discharge(jaxpr: Jaxpr, returned: tuple[int, ...] | None) -> DischargedProgram:
    positions = reference_arguments(jaxpr)
    written: tuple[int, ...] = ()
    freed: tuple[int, ...] = ()

    def fun(*values: Any) -> list[Any]:
        nonlocal written, freed
        args = list(values)
        for i in positions:
            args[i] = Ref(jaxpr.invars[i].aval, values[i])
        outs = eval_jaxpr(jaxpr, jaxpr.consts, *args)
        freed = tuple([i for i in positions if args[i].is_freed])
        written = returned if returned is not None else _changed(positions, args, values)
        return [*outs, *(args[i].read() for i in written)]

    avals = [a.inner_aval if type(a) is AbstractRef else a for a in jaxpr.in_avals]
    found = trace_to_jaxpr(fun, avals, jaxpr.debug_info, kind=DischargeTrace)
    # Nobody may need what was there before a write.
    return DischargedProgram(live_program(found).jaxpr, written, freed)


def _changed(
    positions: Sequence[int], refs: Sequence[Any], values: Sequence[Any]
) -> tuple[int, ...]:
    return tuple([i for i in positions if not refs[i].is_freed and refs[i].read() is not values[i]])


def as_values(args: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """The operands of an operation, with the array of each reference in its place."""
    values = list(args)
    for i in positions:
        values[i] = args[i].read()
    return values


def discharge_call(primitive: Primitive, program: str = "jaxpr") -> Callable[..., list[Any]]:
    """The discharge rule of a primitive that applies a program to its operands.

    Args:
      primitive: the primitive.
      program: the parameter that is the program.
    """

    def rule(*args: Any, **params: Any) -> list[Any]:
        jaxpr = params[program]
        found = discharged(jaxpr)
        values = as_values(args, reference_arguments(jaxpr))
        outs = primitive.bind(*values, **{**params, program: found.jaxpr})
        count = len(jaxpr.outvars)
        write_back([args[i] for i in found.written], outs[count:], outs[:count])
        free_references(args, found.freed)
        return outs[:count]

    return rule


def free_references(args: Sequence[Any], positions: Iterable[int]) -> None:
    """Free the references at some positions among the operands of an operation."""
    for i in positions:
        args[i].free()


def write_back(refs: Sequence[Any], values: Sequence[Any], results: Sequence[Any]) -> None:
    """Write to references what an operation computed for them.

    Args:
      refs: the references.
      values: the arrays that they hold from now on.
      results: the results of the operation, which others will hold.
    """
    held = set(map(id, results))
    for ref, value in zip(refs, values, strict=True):
        ref.write(value, fresh=id(value) not in held)


# As the ``discharge`` rule of a block: the operation applies its ``jaxpr`` to its operands.
discharge_as_call: derived = derived(discharge_call)
