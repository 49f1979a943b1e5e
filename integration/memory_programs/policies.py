"""Policies that a user writes by hand: which layers have a checkpoint, and what it saves."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ricci import checkpoint
from ricci import checkpoint_policies as cp

from .models import Layer


class Policy(NamedTuple):
    """A policy by hand.

    Attributes:
      every: the distance of layers with a checkpoint.
      saves: decides what a checkpoint saves; ``None`` saves nothing.
    """

    every: int
    saves: Callable[..., Any] | None

    def wrap(self, i: int, layer: Layer) -> Layer:
        """Return a layer, under a checkpoint if its number is a multiple of the distance."""
        return checkpoint(layer, policy=self.saves) if i % self.every == 0 else layer


FULL = "each layer"
POLICIES: dict[str, Policy] = {
    FULL: Policy(1, None),
    "every second layer": Policy(2, None),
    "every third layer": Policy(3, None),
    "each layer, dots_saveable": Policy(1, cp.dots_saveable),
    "each layer, dots_with_no_batch_dims_saveable": Policy(1, cp.dots_with_no_batch_dims_saveable),
    "each layer, save_only_these_names": Policy(1, cp.save_only_these_names("mixed")),
    "every second layer, dots_saveable": Policy(2, cp.dots_saveable),
    "every second layer, save_only_these_names": Policy(2, cp.save_only_these_names("mixed")),
}
