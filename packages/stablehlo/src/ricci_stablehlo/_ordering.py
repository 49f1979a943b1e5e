"""Thread tokens through jaxprs with ordered effects.

Such a jaxpr is rewritten before it is lowered: each operation with an ordered effect takes a token
and returns the next one. Lowering rules see tokens as ordinary operands, and jaxprs without ordered
effects are unchanged.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_ir import Jaxpr, JaxprEqn, Primitive, Var

__all__ = ["order_rules", "ordered_among", "thread_tokens", "tokens_at", "with_tokens"]

# The equations that replace one with ordered effects, and the tokens that they return.
type _Ordered = tuple[list[JaxprEqn], list[Var]]
type OrderRule = Callable[[JaxprEqn, tuple[ir.Effect, ...], list[Var]], _Ordered]

# ``rule(eqn, effects, tokens)`` takes one token for each of the effects. It returns equations that
# compute the same and thread the tokens, and the new tokens.
order_rules: ir.RuleTable = ir.rule_table("order", required=False)


def ordered_among(effects: Iterable[ir.Effect]) -> tuple[ir.Effect, ...]:
    """Return the ordered effects among some, sorted by name."""
    return tuple(sorted(ir.ordered_effects.filter_in(effects), key=str))


def thread_tokens(
    jaxpr: Jaxpr, effects: Sequence[ir.Effect] | None = None, position: int = 0
) -> Jaxpr:
    """Return the jaxpr that takes a token for each ordered effect, and returns new tokens.

    The returned tokens are ahead of the other results.

    Args:
      jaxpr: the jaxpr.
      effects: the ordered effects, at least those of the jaxpr; by default exactly those.
      position: the position of the tokens among the arguments.
    """
    effects = ordered_among(jaxpr.effects) if effects is None else tuple(effects)
    key = ("with tokens", effects, position)
    return jaxpr.derived(key, lambda: _thread(jaxpr, effects, position))


def _thread(jaxpr: Jaxpr, effects: tuple[ir.Effect, ...], position: int) -> Jaxpr:
    in_tokens = [Var(ir.abstract_token) for _ in effects]
    current: dict[ir.Effect, Var] = dict(zip(effects, in_tokens, strict=True))
    eqns: list[JaxprEqn] = []
    # An equation takes the current token of each of its effects. The tokens that it returns are
    # current from then on, so that the next equation with the effect waits for it.
    for eqn in jaxpr.eqns:
        used = tuple(e for e in effects if e in eqn.effects)
        if not used:
            eqns.append(eqn)
            continue
        rule = order_rules.get(eqn.primitive)
        if rule is None:
            rule = _called_with_tokens(eqn.primitive)
        written, following = rule(eqn, used, [current[e] for e in used])
        eqns.extend(written)
        current.update(zip(used, following, strict=True))
    return jaxpr.replace(
        invars=[*jaxpr.invars[:position], *in_tokens, *jaxpr.invars[position:]],
        outvars=[*(current[e] for e in effects), *jaxpr.outvars],
        eqns=eqns,
    )


def tokens_at(
    position: int | Callable[[JaxprEqn], int],
    **changes: Callable[[JaxprEqn, tuple[ir.Effect, ...]], Any],
) -> OrderRule:
    """Make an order rule: the same operation, with tokens at a position among its operands.

    The new tokens are ahead of its other results.

    Args:
      position: the position, or a function that computes it from the equation.
      changes: for each parameter that changes, a function that computes its new value from the
        equation and the effects.
    """

    def rule(eqn: JaxprEqn, effects: tuple[ir.Effect, ...], tokens: list[Var]) -> _Ordered:
        params = {**eqn.params, **{name: change(eqn, effects) for name, change in changes.items()}}
        index = position if isinstance(position, int) else position(eqn)
        return with_tokens(eqn, eqn.primitive, params, tokens, index)

    return rule


def with_tokens(
    eqn: JaxprEqn, primitive: Primitive, params: dict[str, Any], tokens: list[Var], position: int
) -> _Ordered:
    """Add tokens to an equation's operands, and new tokens ahead of its results."""
    following = [Var(ir.abstract_token) for _ in tokens]
    written = eqn.replace(
        primitive=primitive,
        params=params,
        invars=[*eqn.invars[:position], *tokens, *eqn.invars[position:]],
        outvars=[*following, *eqn.outvars],
    )
    return [written], following


def _called_with_tokens(primitive: Primitive) -> OrderRule:
    """Return the order rule of a primitive that calls a jaxpr: call that jaxpr with tokens."""
    callee = ir.program_rules.get(primitive)
    if callee is None:
        raise NotImplementedError(
            f"Ordered effects are not supported in {primitive.name!r}, which has no order rule. "
            "Use unordered effects there (ordered=False)."
        )

    def rule(eqn: JaxprEqn, effects: tuple[ir.Effect, ...], tokens: list[Var]) -> _Ordered:
        jaxpr, name = callee(**eqn.params)
        # A plain call takes the place of the primitive. That is right here, since tokens are
        # threaded right before lowering, after the transformations that would use the primitive's
        # rules.
        params = {"jaxpr": thread_tokens(jaxpr, effects), "name": name}
        return with_tokens(eqn, ir.staged_call.call, params, tokens, 0)

    return rule
