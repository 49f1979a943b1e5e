"""Tokens through programs whose effects are ordered.

Only such programs pay: their jaxprs are rewritten before lowering, so that each operation with an
ordered effect takes a token and gives the next. Lowering rules see tokens as ordinary operands.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ricci_ir import (
    Effect,
    Jaxpr,
    JaxprEqn,
    Primitive,
    Var,
    abstract_token,
    program_rules,
    rule_table,
    staged_call,
)

# ``rule(eqn, effects, tokens)``: the equations that do the same with a token for each of the
# effects, and the tokens that follow.
order_rules = rule_table("order", required=False)


def ordered_effects(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Those effects that are ordered, themselves in a fixed order."""
    return tuple(sorted((e for e in effects if e.ordered), key=str))


def thread_tokens(
    jaxpr: Jaxpr, effects: Sequence[Effect] | None = None, position: int = 0
) -> Jaxpr:
    """A program that takes a token for each ordered effect, and gives the ones that follow first.

    Args:
      effects: the ordered effects, at least those of the program; by default just those.
      position: where among the arguments the tokens go.
    """
    effects = ordered_effects(jaxpr.effects) if effects is None else tuple(effects)
    key = ("with tokens", effects, position)
    return jaxpr.derived(key, lambda: _thread(jaxpr, effects, position))


def _thread(jaxpr: Jaxpr, effects: tuple[Effect, ...], position: int) -> Jaxpr:
    given = [Var(abstract_token) for _ in effects]
    current: dict[Effect, Var] = dict(zip(effects, given, strict=True))
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        used = tuple(e for e in effects if e in eqn.effects)
        if not used:
            eqns.append(eqn)
            continue
        rule = order_rules.get(eqn.primitive)
        if rule is None:
            rule = _order_of(eqn.primitive)
        written, following = rule(eqn, used, [current[e] for e in used])
        eqns.extend(written)
        current.update(zip(used, following, strict=True))
    return jaxpr.replace(
        invars=[*jaxpr.invars[:position], *given, *jaxpr.invars[position:]],
        outvars=[*(current[e] for e in effects), *jaxpr.outvars],
        eqns=eqns,
    )


def tokens_at(
    position: int | Callable[[JaxprEqn], int],
    **changes: Callable[[JaxprEqn, tuple[Effect, ...]], Any],
) -> Callable[..., Any]:
    """An order rule: the same operation, with tokens at a position among its operands.

    Its results are preceded by the tokens that follow.

    Args:
      position: where, or a function of the equation that gives it.
      changes: for each parameter that changes, a function of the equation and the effects.
    """

    def rule(eqn: JaxprEqn, effects: tuple[Effect, ...], tokens: list[Var]):
        params = {
            **eqn.params,
            **{name: change(eqn, effects) for name, change in changes.items()},
        }
        place = position if isinstance(position, int) else position(eqn)
        return with_tokens(eqn, eqn.primitive, params, tokens, place)

    return rule


def with_tokens(
    eqn: JaxprEqn, primitive: Primitive, params: dict[str, Any], tokens: list[Var], position: int
) -> tuple[list[JaxprEqn], list[Var]]:
    """An equation with tokens among its operands and ahead of its results; and those tokens."""
    following = [Var(abstract_token) for _ in tokens]
    written = eqn.replace(
        primitive=primitive,
        params=params,
        invars=[*eqn.invars[:position], *tokens, *eqn.invars[position:]],
        outvars=[*following, *eqn.outvars],
    )
    return [written], following


def _order_of(primitive: Primitive) -> Callable[..., Any]:
    """The rule of a primitive that stands for a program: call that program with tokens."""
    program = program_rules.get(primitive)
    if program is None:
        raise NotImplementedError(
            f"{primitive.name} cannot hold ordered effects: nothing says what follows what in it. "
            "Use effects without order there (ordered=False)."
        )

    def rule(eqn: JaxprEqn, effects: tuple[Effect, ...], tokens: list[Var]):
        jaxpr, name = program(**eqn.params)
        params = {"jaxpr": thread_tokens(jaxpr, effects), "name": name}
        return with_tokens(eqn, staged_call.call, params, tokens, 0)

    return rule
