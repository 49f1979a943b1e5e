"""Tracing, dead-code elimination and partial evaluation: ``jax.interpreters.partial_eval``."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple

import ricci_ir as ir
from ricci_autodiff import Split, split_jaxpr

from ._rules_in_form import RulesInForm
from .linear_util import WrappedFun

# Rules by which libraries split an operation. Ricci stores them, so that a library can read them,
# but calls none: an equation is known if it depends on no unknown variable, and jaxprs inside of
# operations are split by rules of kind ``linearize`` and ``saving``.
custom_partial_eval_rules: dict[ir.Primitive, Callable[..., Any]] = {}
partial_eval_jaxpr_custom_rules: dict[ir.Primitive, Callable[..., Any]] = {}


def trace_to_jaxpr_dynamic(
    fun: WrappedFun,
    in_avals: Sequence[Any],
    *,
    keep_inputs: list[bool] | None = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[ir.Jaxpr, list[ir.AbstractValue], list[Any]]:
    """Trace a function of arrays to a jaxpr.

    Args:
      fun: takes and returns flat sequences of arrays.
      in_avals: the arguments' types.
      keep_inputs: for each argument, whether it stays an argument of the jaxpr.
      lower: accepted for compatibility; not used.
      auto_dce: whether to drop equations that no result depends on.

    Returns:
      The jaxpr, whose first arguments are the arrays that the function closes over; the types of
      the results; and these arrays.
    """
    closed = ir.trace_to_jaxpr(lambda *args: fun.call_wrapped(*args), in_avals, fun.debug_info)
    jaxpr = ir.convert_constvars(closed)
    if keep_inputs is not None:
        flags = [True] * len(closed.consts) + list(keep_inputs)
        jaxpr = jaxpr.replace(
            invars=[var for var, keep in zip(jaxpr.invars, flags, strict=True) if keep]
        )
    if auto_dce:
        jaxpr, _ = dce_jaxpr(jaxpr, True, instantiate=True)
    return jaxpr, jaxpr.out_avals, list(closed.consts)


def dce_equation(
    used_outputs: Sequence[bool], eqn: ir.JaxprEqn
) -> tuple[list[bool], ir.JaxprEqn | None]:
    """Eliminate the dead code inside of an equation.

    Args:
      used_outputs: for each result, whether it is used.
      eqn: the equation, of a primitive that holds jaxprs.

    Returns:
      For each operand, whether it is still read; and the equation, or ``None`` if it is dead.
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    smaller = ir.live_equation(eqn, tuple(used_outputs), False)
    if smaller is None:
        return [False] * len(eqn.invars), None
    # The remaining operands are in the same order; a variable may occur among them several times.
    left = list(reversed(smaller.invars))
    used = []
    for atom in eqn.invars:
        used.append(bool(left) and left[-1] is atom)
        if used[-1]:
            left.pop()
    return used, smaller


# Dead-code rules ``rule(used_outputs, eqn)``, which return what ``dce_equation`` returns.
dce_rules: RulesInForm[Callable[..., Any]] = RulesInForm(
    ir.dead_code_rules, ir.EquationRule, lambda rule: dce_equation
)


def dce_jaxpr(
    jaxpr: ir.Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
    live_inputs: bool | Sequence[bool] = True,
) -> tuple[ir.Jaxpr, list[bool]]:
    """Eliminate dead code: drop unused results, and the equations that only they need.

    Args:
      jaxpr: the jaxpr. Equations with side effects stay.
      used_outputs: for each result, or for all, whether it is used.
      instantiate: for each argument, or for all, whether it stays even if it is unused.
      live_inputs: for each argument, or for all, whether its value is computed. It is for rules of
        primitives with linear parts, of which there are none here: it has no effect.

    Returns:
      The smaller jaxpr, and for each argument whether it is still an argument.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.interpreters.partial_eval import dce_jaxpr
      >>> jaxpr = ricci.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y)))(1.0, 1.0)
      >>> needed, used = dce_jaxpr(jaxpr, [True, False])
      >>> [eqn.primitive.name for eqn in needed.eqns], used
      (['sin'], [True, False])
    """
    live, needed = ir.live_program(jaxpr, _for_each(used_outputs, jaxpr.outvars))
    stays = _for_each(instantiate, jaxpr.invars)
    used = [need or stay for need, stay in zip(needed, stays, strict=True)]
    return live.replace(invars=list(compress(live.invars, used))), used


def dce_jaxpr_consts(
    jaxpr: ir.Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ir.Jaxpr, list[bool], list[bool]]:
    """Like ``dce_jaxpr``; returns as well for each constant whether it is still used.

    Returns:
      The smaller jaxpr; for each constant, and for each argument, whether it is still there.
    """
    smaller, used = dce_jaxpr(jaxpr, used_outputs, instantiate)
    left = set(smaller.constvars)
    return smaller, [var in left for var in jaxpr.constvars], used


def dce_called_jaxpr(
    used_outputs: Sequence[bool], eqn: ir.JaxprEqn
) -> tuple[list[bool], ir.JaxprEqn | None]:
    """The rule of ``dce_rules`` for a primitive that applies its parameter ``call_jaxpr``.

    Args:
      used_outputs: for each result, whether it is used.
      eqn: the equation.

    Returns:
      For each operand, whether it is still read; and the equation, or ``None`` if it is dead.

    Raises:
      KeyError: if the equation has no such parameter.
    """
    jaxpr = eqn.params["call_jaxpr"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    smaller, used = dce_jaxpr(jaxpr, used_outputs)
    return used, eqn.replace(
        invars=list(compress(eqn.invars, used)),
        outvars=list(compress(eqn.outvars, used_outputs)),
        params={**eqn.params, "call_jaxpr": smaller},
        effects=smaller.effects,
    )


def prune_outputs(jaxpr: ir.Jaxpr, used_outputs: Sequence[bool]) -> ir.Jaxpr:
    """Drop results of a jaxpr; its equations stay."""
    return jaxpr.replace(outvars=list(compress(jaxpr.outvars, used_outputs)))


def move_binders_to_back(closed_jaxpr: ir.Jaxpr, to_move: Sequence[bool]) -> ir.Jaxpr:
    """Move some arguments of a jaxpr to the end.

    Args:
      closed_jaxpr: the jaxpr.
      to_move: for each argument, whether it moves.
    """
    invars = closed_jaxpr.invars
    stay = [var for var, moves in zip(invars, to_move, strict=True) if not moves]
    return closed_jaxpr.replace(invars=[*stay, *compress(invars, to_move)])


def close_jaxpr(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Return the jaxpr unchanged: Ricci's are closed over their constants.

    Args:
      jaxpr: the jaxpr.

    Returns:
      The same.

    Example:
      >>> import ricci
      >>> from ricci.interpreters.partial_eval import close_jaxpr
      >>> jaxpr = ricci.make_jaxpr(lambda x: x + 1.0)(0.0)
      >>> close_jaxpr(jaxpr) is jaxpr
      True
    """
    return jaxpr


def lower_jaxpr_types(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Return the jaxpr unchanged: in Ricci no type is represented by several arrays."""
    return jaxpr


def abstract_eval_fun(
    fun: Callable[..., Sequence[Any]],
    *avals: ir.AbstractValue,
    debug_info: ir.DebugInfo = ir.unknown_debug_info,
    **params: Any,
) -> list[ir.AbstractValue]:
    """The types of a function's results.

    Args:
      fun: ``fun(*arrays, **params)`` returns a sequence of arrays.
      avals: the types of the arrays.
      debug_info: the names of the function and its arguments, for messages.
      params: keyword arguments.

    Returns:
      The types, a list.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.interpreters.partial_eval import abstract_eval_fun
      >>> abstract_eval_fun(lambda x: [x], ShapedArray((3,), "float32"))
      [ShapedArray(float32[3])]
    """
    return ir.trace_to_jaxpr(lambda *args: fun(*args, **params), avals, debug_info).out_avals


class PartialVal(NamedTuple):
    """A value in partial evaluation: a known value, or the type of an unknown one.

    Attributes:
      aval: the type of an unknown value; ``None`` if the value is known.
      value: the known value; ``None`` if it is unknown.
    """

    aval: ir.AbstractValue | None
    value: ir.ArrayLike | None

    @staticmethod
    def known(value: ir.ArrayLike) -> "PartialVal":
        """A known value."""
        return PartialVal(None, value)

    @staticmethod
    def unknown(aval: ir.AbstractValue) -> "PartialVal":
        """An unknown value of a type."""
        return PartialVal(aval, None)

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.aval is None

    def get_known(self) -> ir.ArrayLike | None:
        """The known value; ``None`` if it is unknown."""
        return self.value

    def get_aval(self) -> ir.AbstractValue:
        """The type of the value."""
        return ir.get_aval(self.value) if self.aval is None else self.aval


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[ir.Jaxpr, list[PartialVal], list[ir.Array]]:
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
    jaxpr = ir.trace_to_jaxpr(fun.call_wrapped, [p.get_aval() for p in pvals], fun.debug_info)
    unknown = [not p.is_known() for p in pvals]
    parts = _split(jaxpr, unknown, instantiate)
    known_args = [p.value for p in pvals if p.is_known()]
    computed = ir.eval_jaxpr(parts.known, parts.known.consts, *known_args)
    count = sum(parts.known_results)
    values = iter(computed[:count])
    results = [
        PartialVal.known(next(values)) if is_known else PartialVal.unknown(var.aval)
        for var, is_known in zip(jaxpr.outvars, parts.known_results, strict=True)
    ]
    return parts.unknown, results, computed[count:]


def partial_eval_jaxpr_nounits(
    jaxpr: ir.Jaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[ir.Jaxpr, ir.Jaxpr, list[bool], list[ir.AbstractValue]]:
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


def _split(jaxpr: ir.Jaxpr, unknown: Sequence[bool], instantiate: bool | Sequence[bool]) -> Split:
    """Split a jaxpr, with the results of which ``instantiate`` is true among the unknown ones."""
    parts = split_jaxpr(jaxpr, unknown)
    flags = _for_each(instantiate, jaxpr.outvars)
    if not any(flags):
        return parts
    pairs = zip(flags, parts.known_results, strict=True)
    return split_jaxpr(jaxpr, unknown, [bool(flag) or not k for flag, k in pairs])


def _for_each(flags: bool | Sequence[bool], things: Sequence[Any]) -> list[bool]:
    return [flags] * len(things) if isinstance(flags, bool) else list(flags)
