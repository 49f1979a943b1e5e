"""Logs of backward passes: what backward rules return beside the cotangents.

``pullback.with_logs`` gives each operation of a logging rule further linear operands, one for each
entry of its log. In the transposed operation, the entries are the cotangents of these operands, so
that calls and loops around it pass them on by their own transpose rules; a ``scan`` stacks them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import LogTap
from ricci_pytree import PyTreeDef, tree_flatten

__all__: list[str] = []

# ``rule(eqn)`` returns the equation of an operation with a backward rule with operands for what the
# rule logs, and these.
log_rules: ir.RuleTable = ir.rule_table("logs", required=False)

# The logs of the backward rules that run, a list of dicts; ``None`` where they are dropped.
_collected: ir.State = ir.State("backward_logs", None, None)


def without_logs(name: str, result: object) -> ir.PyTree:
    """Return the cotangents of a rule that returns logs as well, and collect the logs."""
    cts, logs = checked_pair(name, result)
    if logs and is_collecting():
        collect(logs)
    return cts


def checked_pair(name: str, result: object) -> tuple[ir.PyTree, dict[Any, Any] | None]:
    """Check that a rule returned a pair of cotangents and a log, and return that.

    Args:
      name: the function, for errors.
      result: what its rule returned.

    Raises:
      TypeError: if that is not a pair of cotangents and a dict or ``None``.
    """
    subject = f"the rule of {name}, which returns logs,"
    cts, logs = ir.check_pair(result, subject, "(cotangents, logs)")
    if logs is not None and not isinstance(logs, dict):
        raise TypeError(
            f"the rule of {name} must return None or a dict as its logs, but it returned "
            f"{type(logs).__name__}."
        )
    return cts, logs


def is_collecting() -> bool:
    """Whether logs are collected."""
    return _collected.value is not None


def collect(logs: dict[Any, Any]) -> None:
    """Add a log to those that are collected."""
    _collected.value.append(logs)


def run_with_logs[R](run: Callable[[], R]) -> tuple[R, list[Any], PyTreeDef]:
    """Return the result of a function, and the logs of the rules that it runs, flattened."""
    collected: list[dict[Any, Any]] = []
    with _collected(collected):
        result = run()
    joined: dict[Any, Any] = {}
    for logs in collected:
        joined.update(logs)
    return result, *tree_flatten(joined)


def tap_rule(
    eqn: ir.JaxprEqn, count: int, cts: Sequence[Any], backward: Callable[..., Any]
) -> tuple[ir.JaxprEqn, tuple[LogTap, ...]]:
    """Add linear operands for the log of a backward rule to its operation.

    Args:
      eqn: the operation, with a parameter ``log_tree``.
      count: the number of its residuals, which are its first operands.
      cts: the types of the cotangents.
      backward: runs the rule, given arrays for the residuals and the cotangents.
    """
    tree: Any = None

    def run(*args: ir.Array) -> list[Any]:
        nonlocal tree
        _, leaves, tree = run_with_logs(lambda: backward(args[:count], args[count:]))
        return leaves

    residuals: list[Any] = [atom.aval for atom in eqn.invars[:count]]
    avals: Any = ir.trace_to_jaxpr(run, [*residuals, *cts]).out_avals
    if not avals:
        return eqn, ()
    if not all(ir.issubdtype(aval.dtype, np.inexact) for aval in avals):
        raise NotImplementedError(
            f"with_logs: entries must be floats, but the log of {eqn.primitive.name} has "
            f"{', '.join(aval.str_short() for aval in avals)}. Convert them with astype(float)."
        )
    variables = tuple(map(ir.Var, avals))
    params = {**eqn.params, "log_tree": tree}
    return eqn.replace(invars=[*eqn.invars, *variables], params=params), (LogTap(tree, variables),)


class Tapped(ir.TupleRecord):
    """A jaxpr with arguments for logs, after its others."""

    jaxpr: ir.Jaxpr
    taps: tuple[LogTap, ...]


def tapped_jaxpr(
    jaxpr: ir.Jaxpr, tapped: Callable[[ir.JaxprEqn], tuple[ir.JaxprEqn, tuple[LogTap, ...]]]
) -> Tapped:
    """Add arguments for the logs of a jaxpr's equations; cached on the jaxpr."""
    return jaxpr.derived("backward logs", lambda: _tap_jaxpr(jaxpr, tapped))


def _tap_jaxpr(jaxpr: ir.Jaxpr, tapped: Callable[..., Any]) -> Tapped:
    pairs = [tapped(eqn) for eqn in jaxpr.eqns]
    taps = tuple(tap for _, taps in pairs for tap in taps)
    if not taps:
        return Tapped(jaxpr, ())
    variables = [var for tap in taps for var in tap.variables]
    changed = ir.Jaxpr(
        jaxpr.constvars,
        [*jaxpr.invars, *variables],
        jaxpr.outvars,
        [eqn for eqn, _ in pairs],
        jaxpr.effects,
        jaxpr.debug_info,
        jaxpr.consts,
    )
    return Tapped(changed, taps)


def around(tap: LogTap, length: int | None) -> LogTap:
    """The operands outside of a call, or of a loop, for those inside of it."""
    avals: list[Any] = [var.aval for var in tap.variables]
    if length is not None:
        avals = [aval.resized((length, *aval.shape)) for aval in avals]
    return LogTap(tap.tree, tuple(map(ir.Var, avals)))
