"""Discharge: turns jaxprs that read and write references into functions of their arrays.

A discharged jaxpr takes the array that each reference holds, and returns, after its results, the
arrays that they hold in the end. It is recorded by evaluating the jaxpr with references that are
Python objects (``Ref``), under a trace that records all other operations: a read returns the
object's array, a write replaces it. Nothing else in Ricci interprets reads and writes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ricci_ir._records import TupleRecord
from ricci_ir.traces import Primitive, Ref, derived, uses_references
from ricci_ir.types._references import AbstractRef

from ._dead_code import live_program
from ._evaluate import eval_jaxpr
from ._jaxpr import Jaxpr, JaxprEqn
from ._staging import JaxprTrace, trace_to_jaxpr

__all__ = ["as_values", "discharge_as_call", "discharge_call", "discharged", "DischargedProgram"]
__all__ += ["free_references", "reference_arguments", "without_references", "write_back"]


class DischargeTrace(JaxprTrace):
    """Records a jaxpr without references: reads and writes happen in Python while tracing."""

    __slots__ = ()

    records_references: bool = False

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """See ``JaxprTrace``.

        The jaxprs in an operation without a ``discharge`` rule are discharged themselves.
        """
        # The references themselves are Python objects here, so a remaining effect on references
        # comes from a jaxpr inside of the operation that creates and uses some.
        if primitive.effects is not None and uses_references(primitive.effects(params)):
            params = {name: _discharged_inside(primitive, x) for name, x in params.items()}
        return super().process(primitive, args, params)

    def copy_equation(self, eqn: JaxprEqn, env: dict[Any, Any]) -> bool:
        """See ``JaxprTrace``; equations that use references are not copied."""
        if eqn.effects and uses_references(eqn.effects):
            return False
        return super().copy_equation(eqn, env)


def without_references(jaxpr: Jaxpr) -> Jaxpr:
    """Discharge a jaxpr that creates references but takes none; any other is unchanged."""
    if uses_references(jaxpr.effects) and not reference_arguments(jaxpr):
        return discharged(jaxpr).jaxpr
    return jaxpr


def _discharged_inside(primitive: Primitive, param: Any) -> Any:
    """Discharge the jaxprs in a parameter."""
    if isinstance(param, tuple) and param and all(isinstance(x, Jaxpr) for x in param):
        return tuple(_discharged_inside(primitive, x) for x in param)
    if not isinstance(param, Jaxpr) or not uses_references(param.effects):
        return param
    if reference_arguments(param):
        raise NotImplementedError(
            f"references are not supported as operands of {primitive.name!r}, which has no "
            "discharge rule. Pass the arrays that they hold, and write the results to them."
        )
    return discharged(param).jaxpr


class DischargedProgram(TupleRecord):
    """A jaxpr as a function of arrays.

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
    """The positions of the references among a jaxpr's arguments."""
    return tuple([i for i, v in enumerate(jaxpr.invars) if type(v.aval) is AbstractRef])


def discharged(jaxpr: Jaxpr, returned: Sequence[int] | None = None) -> DischargedProgram:
    """Discharge a jaxpr; the result is cached in it.

    Args:
      jaxpr: the jaxpr, with its constants made arguments if there are references among them.
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
    program = trace_to_jaxpr(fun, avals, jaxpr.debug_info, kind=DischargeTrace)
    # The value before a write may be unused.
    return DischargedProgram(live_program(program).jaxpr, written, freed)


def _changed(
    positions: Sequence[int], refs: Sequence[Any], values: Sequence[Any]
) -> tuple[int, ...]:
    # A write replaces the array, so a reference that holds the same object was not written.
    return tuple([i for i in positions if not refs[i].is_freed and refs[i].read() is not values[i]])


def as_values(args: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """The operands of an operation, with each reference replaced by its array."""
    values = list(args)
    for i in positions:
        values[i] = args[i].read()
    return values


def discharge_call(primitive: Primitive, program: str = "jaxpr") -> Callable[..., list[Any]]:
    """The discharge rule of a primitive that applies a jaxpr to its operands.

    Args:
      primitive: the primitive.
      program: the name of the parameter that is the jaxpr.
    """

    def rule(*args: Any, **params: Any) -> list[Any]:
        jaxpr = params[program]
        function = discharged(jaxpr)
        values = as_values(args, reference_arguments(jaxpr))
        outs = primitive.bind(*values, **{**params, program: function.jaxpr})
        count = len(jaxpr.outvars)
        write_back([args[i] for i in function.written], outs[count:], outs[:count])
        free_references(args, function.freed)
        return outs[:count]

    return rule


def free_references(args: Sequence[Any], positions: Iterable[int]) -> None:
    """Free the references at some positions among the operands of an operation."""
    for i in positions:
        args[i].free()


def write_back(refs: Sequence[Any], values: Sequence[Any], results: Sequence[Any]) -> None:
    """Write the final arrays of a discharged operation to its references.

    Args:
      refs: the references.
      values: their new arrays.
      results: the results of the operation; an array among them is shared, not fresh.
    """
    result_ids = set(map(id, results))
    for ref, value in zip(refs, values, strict=True):
        ref.write(value, fresh=id(value) not in result_ids)


# As the ``discharge`` rule of a block: the operation applies its ``jaxpr`` to its operands.
discharge_as_call: derived = derived(discharge_call)
