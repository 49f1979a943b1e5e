"""Evaluation of a jaxpr, by binding its equations in order in the current trace."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ricci_ir._settings import SettingsSwitch
from ricci_ir._source import caller_source, no_origin
from ricci_ir.traces import Primitive, context, of_type

from ._jaxpr import Jaxpr, JaxprEqn, Literal
from ._staging import JaxprTrace

__all__ = ["eval_jaxpr", "eval_jaxpr_p", "interpret", "jaxpr_as_fun", "jaxpr_function"]
__all__ += ["run_equations"]

# ``apply(eqn, operands)`` returns the results of an equation; ``None`` to bind its primitive.
type Apply = Callable[[JaxprEqn, list[Any]], Sequence[Any] | None]


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Any], *args: object, propagate_source_info: bool = True
) -> list[Any]:
    """Apply a jaxpr to arguments in the current trace.

    Args:
      jaxpr: the jaxpr.
      consts: values for ``jaxpr.constvars``, or for the leading ``jaxpr.invars`` if the constants
        were made arguments.
      args: values for the other ``jaxpr.invars``.
      propagate_source_info: whether operations have the equations' places in the user's code; else
        their place is the line that calls this function.

    Returns:
      The results, in order.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jaxpr = ricci.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(0.0)
      >>> [round(float(y), 4) for y in ricci.core.eval_jaxpr(jaxpr, jaxpr.consts, 1.0)]
      [1.6829]
    """
    # The constants come first, whether they are still constants or were made arguments.
    variables, values = [*jaxpr.constvars, *jaxpr.invars], [*consts, *args]
    env: dict[Any, Any] = dict(zip(variables, values, strict=True))
    eqns = jaxpr.eqns
    if not propagate_source_info:
        code, offset, *_ = caller_source(1)
        eqns = [eqn.replace(source_info=(code, offset, eqn.raw_source[2])) for eqn in eqns]
    run_equations(eqns, env)
    return [atom.operand() if type(atom) is Literal else env[atom] for atom in jaxpr.outvars]


def interpret(jaxpr: Jaxpr, args: Sequence[Any], apply: Apply) -> list[Any]:
    """Evaluate a jaxpr by a function of its equations, for interpreters of one's own.

    The function is called with each equation's place in the user's code, name scope and settings,
    so that the operations that it binds in the current trace have these.

    Args:
      jaxpr: the jaxpr.
      args: the values of its arguments, of any kind that ``apply`` takes.
      apply: ``apply(eqn, operands)`` returns the results of an equation; ``None`` to bind its
        primitive.

    Returns:
      The results, in order.

    Example:
      >>> import ricci
      >>> from ricci_ir import interpret
      >>> jaxpr = ricci.make_jaxpr(lambda x: ricci.lax.exp(x) * x)(1.0)
      >>> without_exp = lambda eqn, xs: xs if eqn.primitive.name == "exp" else None
      >>> [float(y) for y in interpret(jaxpr, [2.0], without_exp)]
      [4.0]
    """
    variables, values = [*jaxpr.constvars, *jaxpr.invars], [*jaxpr.consts, *args]
    env: dict[Any, Any] = dict(zip(variables, values, strict=True))
    run_equations(jaxpr.eqns, env, apply)
    return [atom.operand() if type(atom) is Literal else env[atom] for atom in jaxpr.outvars]


def run_equations(
    eqns: Iterable[JaxprEqn], env: dict[Any, Any], apply: Apply | None = None
) -> None:
    """Apply equations in the current trace, each with its place in the user's code and settings.

    Args:
      eqns: the equations, in order.
      env: the value of each variable; those of the results are added.
      apply: applies those that it does not return ``None`` for; see ``interpret``.
    """
    trace = context.trace
    copy = trace.copy_equation if isinstance(trace, JaxprTrace) else None
    outer, origin = context.name_stack, context.origin
    try:
        with SettingsSwitch() as switch:
            for eqn in eqns:
                if eqn.settings is not switch.key:
                    switch.to(eqn.settings)
                code, offset, names = eqn.raw_source
                context.name_stack = outer + names if names else outer
                context.origin = (code, offset) if code is not None else origin or no_origin
                if apply is not None:
                    results = apply(eqn, _operands(eqn, env, switch))
                    if results is not None:
                        env.update(zip(eqn.outvars, results, strict=True))
                        continue
                if copy is not None and copy(eqn, env):
                    continue
                result = eqn.primitive.bind(*_operands(eqn, env, switch), **eqn.params)
                if eqn.primitive.multiple_results:
                    for var, value in zip(eqn.outvars, result, strict=True):
                        env[var] = value
                else:
                    env[eqn.outvars[0]] = result
    finally:
        context.name_stack, context.origin = outer, origin


def _operands(eqn: JaxprEqn, env: dict[Any, Any], switch: SettingsSwitch) -> list[Any]:
    operands = [atom.operand() if type(atom) is Literal else env[atom] for atom in eqn.invars]
    if switch.key is None:
        return operands
    # A Python scalar may have another type under these settings.
    return [
        x if type(atom) is Literal else of_type(x, atom.aval)
        for x, atom in zip(operands, eqn.invars, strict=True)
    ]


def jaxpr_as_fun(jaxpr: Jaxpr, *args: object) -> list[Any]:
    """Apply a jaxpr closed over its own constants.

    Args:
      jaxpr: the jaxpr.
      args: its arguments, flat.

    Returns:
      A list of its results.

    Example:
      >>> import ricci
      >>> from ricci.extend.core import jaxpr_as_fun
      >>> jaxpr = ricci.make_jaxpr(lambda x: x + 1.0)(0.0)
      >>> [float(y) for y in jaxpr_as_fun(jaxpr)(2.0)]
      [3.0]
    """
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def jaxpr_function(closed_jaxpr: Jaxpr, *args: object) -> Callable[..., list[Any]]:
    """A jaxpr, closed over its own constants, as a function; ``args`` are its first arguments."""
    return partial(jaxpr_as_fun, closed_jaxpr, *args)


class EvalJaxpr(Primitive):
    """Evaluates a jaxpr in the current trace: ``bind(*args, call_jaxpr=...)``."""

    __slots__ = ()

    def __init__(self):
        super().__init__("eval_jaxpr", multiple_results=True)

    def bind(self, *args: Any, **params: Any) -> list[Any]:
        """The results of ``call_jaxpr`` for these arguments."""
        return jaxpr_as_fun(params["call_jaxpr"], *args)


eval_jaxpr_p: EvalJaxpr = EvalJaxpr()
