"""Forward rules of ``custom_vjp`` functions for rematerialisation by ``checkpoint``."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Jaxpr, eval_jaxpr


class RecomputedRules:
    """A forward rule that evaluates the function, and takes only residuals from the user's rule.

    Inside of ``checkpoint`` the forward pass then runs only the function: it stores no residuals,
    so that the rule is dead code there.

    Args:
      fwd: the flat forward rule.
      jaxpr: the function.
    """

    __slots__ = ("fwd", "jaxpr")

    def __init__(self, fwd: Callable[..., Any], jaxpr: Jaxpr):
        self.fwd = fwd
        self.jaxpr = jaxpr

    def forward(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
        """Return the function's results, the rule's residuals and their structure."""
        _, residuals, tree = self.fwd(primals, perturbed)
        return eval_jaxpr(self.jaxpr, self.jaxpr.consts, *primals), residuals, tree
