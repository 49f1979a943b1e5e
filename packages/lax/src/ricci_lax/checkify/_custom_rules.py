"""Checks in functions with custom rules: ``custom_jvp``, ``custom_vjp`` and ``custom_vmap``.

A checked function keeps its rule. Where it is differentiated or mapped, the user's rule gives the
results, unchecked, and the function itself is computed as well, for its errors.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import Zero, tangent_aval
from ricci_ir import Primitive, eval_jaxpr, get_aval
from ricci_lax.custom._jvp import custom_jvp, custom_jvp_call_p
from ricci_lax.custom._vjp import custom_vjp
from ricci_lax.custom._vjp_primitives import custom_vjp_call_p
from ricci_lax.custom._vmap import custom_vmap_p
from ricci_lax.rules._checkify import check_rules
from ricci_pytree import PyTreeDef

from ._log import Checked, Log


def _errors(checked: Checked, args: Sequence[Any]) -> list[Any]:
    """Run a checked jaxpr for its errors; returns their leaves."""
    return eval_jaxpr(checked.jaxpr, checked.jaxpr.consts, *args)[: checked.leaf_count]


class CheckedRule:
    """A flat jvp rule whose results begin with errors, which have no tangents."""

    __slots__ = ("checked", "rule")

    def __init__(self, checked: Checked, rule: Any):
        self.checked = checked
        self.rule = rule

    @property
    def custom(self) -> custom_jvp[..., Any]:
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

    def __init__(
        self, checked: Checked, fwd: Callable, bwd: Callable, custom: custom_vjp[..., Any]
    ):
        self.checked = checked
        self.fwd = fwd
        self.bwd = bwd
        self.custom = custom

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list, list, PyTreeDef]:
        """The errors and the results, the residuals, and the structure of the residuals."""
        outs, residuals, tree = self.fwd(primals, perturbed)
        return [*_errors(self.checked, primals), *outs], residuals, tree

    def backward(
        self, tree: PyTreeDef, residuals: Sequence[Any], cts: Sequence[Any], avals: Sequence[Any]
    ) -> list:
        """The cotangents of the arguments."""
        return self.bwd(tree, residuals, cts[self.checked.leaf_count :], avals)


def _custom_vjp(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call_jaxpr"])
    changed = {**params, "call_jaxpr": checked.jaxpr}
    if checked.effects:
        # The rules are methods of an object with the user's function and its names.
        rules = CheckedRules(checked, params["fwd"], params["bwd"], _custom_of(params["fwd"]))
        changed = {**changed, "fwd": rules.forward, "bwd": rules.backward}
    return log.absorb(checked, custom_vjp_call_p.bind(*operands, **changed))


def _custom_of(rule: Any) -> custom_vjp[..., Any]:
    """The user's function that a rule belongs to, also where the rule is wrapped."""
    rules = rule.__self__
    return rules.custom if hasattr(rules, "custom") else _custom_of(rules.fwd)


def _custom_vmap(log: Log, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call"])
    log.absorb(checked, _errors(checked, operands))
    # Bind the function without checks: the user's batching rule returns its plain results.
    plain = Log(frozenset()).checked(params["call"])
    return custom_vmap_p.bind(*operands, **{**params, "call": plain.jaxpr})


check_rules.define(custom_jvp_call_p, _custom_jvp)
check_rules.define(custom_vjp_call_p, _custom_vjp)
check_rules.define(custom_vmap_p, _custom_vmap)
