"""Kinds of sharding rules that need no factors, and rules that several primitives share."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir.types import AbstractValue, TypeSharding

from ._sharding_rules import ResultTypes, ShardingRule, TypedOperation, drop_shardings

__all__ = ["by_program", "each_its_own", "makes_sharding", "own_sharding", "without_sharding"]


def _each_its_own(
    avals: Sequence[AbstractValue], results: Sequence[AbstractValue], **params: object
) -> list[TypeSharding | None]:
    return [aval.type_sharding for aval in avals]


def _no_shardings(
    avals: Sequence[AbstractValue], results: Sequence[AbstractValue], **params: object
) -> list[TypeSharding | None]:
    return [None] * len(results)


class _ByProgram:
    """The rule of operations that apply a jaxpr: ``abstract_eval`` returns its result types."""

    __slots__ = ()

    joins: bool = False

    def __call__(
        self, primitive: TypedOperation, avals: Sequence[AbstractValue], params: dict[str, Any]
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        return primitive.abstract_eval(*avals, **params)


by_program: ShardingRule = _ByProgram()


class own_sharding:
    """A rule that computes the results' shardings: ``make(avals, results, **params)``.

    ``results`` are the result types without shardings; ``make`` returns a ``TypeSharding`` or
    ``None`` for each. ``joins`` is whether operands are first cast to vary along the same axes.
    """

    __slots__ = ("joins", "make")

    def __init__(self, make: Callable[..., Sequence[TypeSharding | None]], joins: bool = True):
        self.make: Callable[..., Sequence[TypeSharding | None]] = make
        self.joins: bool = joins

    def __call__(
        self, primitive: TypedOperation, avals: Sequence[AbstractValue], params: dict[str, Any]
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        _, results, several = drop_shardings(primitive, avals, params)
        shardings = self.make(avals, results, **params)
        typed = [r.with_sharding(s) for r, s in zip(results, shardings, strict=True)]
        return typed if several else typed[0]


class makes_sharding:
    """A rule that is evaluated even if no operand's type has a sharding.

    For operations with a sharding as a parameter, or whose results vary though no operand does.
    """

    __slots__ = ("joins", "rule")

    def __init__(self, rule: ShardingRule):
        self.rule: ShardingRule = rule
        self.joins: bool = rule.joins

    def __call__(
        self, primitive: TypedOperation, avals: Sequence[AbstractValue], params: dict[str, Any]
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        return self.rule(primitive, avals, params)


# Each result is one of the operands, unchanged.
each_its_own: ShardingRule = own_sharding(_each_its_own, joins=False)


# The results' types have no shardings, whatever the operands' types have.
without_sharding: ShardingRule = own_sharding(_no_shardings, joins=False)
