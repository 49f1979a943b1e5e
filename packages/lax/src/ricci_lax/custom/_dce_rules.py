"""Dead-code elimination for custom_jvp and custom_vjp calls: rules of the live results."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from ricci_autodiff import Zero, tangent_aval


class LiveRule:
    """A flat jvp rule of a function's live results."""

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


class LiveRules:
    """Flat forward and backward rules of a function's live results."""

    __slots__ = ("fwd", "inner_bwd", "needed", "out_avals")

    def __init__(
        self, fwd: Callable, bwd: Callable, needed: Sequence[bool], out_avals: Sequence[Any]
    ):
        self.fwd = fwd
        self.inner_bwd = bwd
        self.needed = tuple(needed)
        self.out_avals = tuple(out_avals)

    def forward(self, primals, perturbed):
        """The live outputs, and the residuals."""
        outs, residuals, tree = self.fwd(primals, perturbed)
        return list(compress(outs, self.needed)), residuals, tree

    def backward(self, tree, residuals, cts, avals):
        """The cotangents; those of the other outputs are zero."""
        live_cts = iter(cts)
        every = [
            next(live_cts) if needed else Zero(tangent_aval(aval))
            for needed, aval in zip(self.needed, self.out_avals, strict=True)
        ]
        return self.inner_bwd(tree, residuals, every, avals)
