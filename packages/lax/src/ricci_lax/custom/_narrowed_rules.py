"""Rules of custom functions of which only some results are needed."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from ricci_autodiff import Zero, tangent_aval


class NarrowedRule:
    """A flat jvp rule of some of a function's results."""

    __slots__ = ("needed", "rule")

    def __init__(self, rule: Any, needed: Sequence[bool]):
        self.rule = rule
        self.needed = tuple(needed)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        outs, out_tangents = self.rule(primals, tangents)
        return list(compress(outs, self.needed)), list(compress(out_tangents, self.needed))

    @property
    def custom(self) -> Any:
        """The function that the rule belongs to."""
        return self.rule.custom

    def __repr__(self) -> str:
        return repr(self.rule)


class NarrowedRules:
    """Flat forward and backward rules of some of a function's results."""

    __slots__ = ("fwd", "inner_bwd", "needed", "out_avals")

    def __init__(
        self, fwd: Callable, bwd: Callable, needed: Sequence[bool], out_avals: Sequence[Any]
    ):
        self.fwd = fwd
        self.inner_bwd = bwd
        self.needed = tuple(needed)
        self.out_avals = tuple(out_avals)

    def forward(self, primals, perturbed):
        """The needed outputs, and the residuals."""
        outs, residuals, tree = self.fwd(primals, perturbed)
        return list(compress(outs, self.needed)), residuals, tree

    def backward(self, tree, residuals, cts, avals):
        """The cotangents; those of the other outputs are zero."""
        given = iter(cts)
        every = [
            next(given) if needed else Zero(tangent_aval(aval))
            for needed, aval in zip(self.needed, self.out_avals, strict=True)
        ]
        return self.inner_bwd(tree, residuals, every, avals)
