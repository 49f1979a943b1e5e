"""Checks inside of functions with rules of their own: ``custom_jvp``, ``custom_vjp`` and so on.

Where such a function is transformed after it was checked, its rule takes part as the user wrote
it; errors are those of the function itself, which is computed for them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import Zero, tangent_aval
from ricci_ir import Array, Primitive, eval_jaxpr, get_aval
from ricci_lax.custom._jvp import custom_jvp_call_p
from ricci_lax.custom._vjp import custom_vjp_call_p
from ricci_lax.custom._vmap import custom_vmap_p
from ricci_lax.rules._checkify import check_rules

from ._log import Checked, Log


def _errors(checked: Checked, args: Sequence[Any]) -> list[Any]:
    """What went wrong in a program, as the leaves of its errors."""
    return eval_jaxpr(checked.jaxpr, checked.jaxpr.consts, *args)[: checked.leaf_count]


class CheckedRule:
    """A flat jvp rule whose results begin with errors, which have no tangents."""

    __slots__ = ("checked", "rule")

    def __init__(self, checked: Checked, rule: Any):
        self.checked = checked
        self.rule = rule

    @property
    def custom(self) -> Array:
        """The function that the rule belongs to."""
        return self.rule.custom

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        outs, out_tangents = self.rule(primals, tangents)
        errors = _errors(self.checked, primals)
        zeros = [Zero(tangent_aval(get_aval(x))) for x in errors]
        return [*errors, *outs], [*zeros, *out_tangents]

    def __repr__(self) -> str:
        return repr(self.rule)


def _custom_jvp(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call_jaxpr"])
    rule = CheckedRule(checked, params["jvp"]) if checked.effects else params["jvp"]
    outs = custom_jvp_call_p.bind(*operands, **{**params, "call_jaxpr": checked.jaxpr, "jvp": rule})
    return log.absorb(checked, outs)


class CheckedRules:
    """Flat forward and backward rules of a function whose results begin with errors."""

    __slots__ = ("bwd", "checked", "custom", "fwd")

    def __init__(self, checked: Checked, fwd: Callable, bwd: Callable, custom: Any):
        self.checked = checked
        self.fwd = fwd
        self.bwd = bwd
        self.custom = custom

    def forward(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list, list, Any]:
        """The errors and the results, the residuals, and the structure of the residuals."""
        outs, residuals, tree = self.fwd(primals, perturbed)
        return [*_errors(self.checked, primals), *outs], residuals, tree

    def backward(self, tree: Any, residuals: Sequence[Any], cts: Sequence[Any], avals) -> list:
        """The cotangents of the arguments."""
        return self.bwd(tree, residuals, cts[self.checked.leaf_count :], avals)


def _custom_vjp(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call_jaxpr"])
    changed = {**params, "call_jaxpr": checked.jaxpr}
    if checked.effects:
        # Rules are methods: what they belong to knows the user's names for them.
        rules = CheckedRules(checked, params["fwd"], params["bwd"], _custom_of(params["fwd"]))
        changed = {**changed, "fwd": rules.forward, "bwd": rules.backward}
    return log.absorb(checked, custom_vjp_call_p.bind(*operands, **changed))


def _custom_of(rule: Any) -> Any:
    rules = rule.__self__
    return rules.custom if hasattr(rules, "custom") else _custom_of(rules.fwd)


def _custom_vmap(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call"])
    log.absorb(checked, _errors(checked, operands))
    # Without any checks, its results, which a rule for batches gives as well.
    plain = Log(frozenset()).checked(params["call"])
    return custom_vmap_p.bind(*operands, **{**params, "call": plain.jaxpr})


check_rules.define(custom_jvp_call_p, _custom_jvp)
check_rules.define(custom_vjp_call_p, _custom_vjp)
check_rules.define(custom_vmap_p, _custom_vmap)
