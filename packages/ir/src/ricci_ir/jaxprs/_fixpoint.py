"""Fixpoints of steps that only grow their state."""

from collections.abc import Callable

__all__ = ["fixpoint"]


def fixpoint[S, R](step: Callable[[S], tuple[R, S]], state: S) -> tuple[R, S]:
    """Repeat a step until it returns its state unchanged; return its result and the state.

    A state marks the parts of a carry that, say, have a tangent or are batched; a mark before an
    iteration may add others after it. A step only adds marks (or only removes some), and a carry
    has finitely many parts, so that this ends.
    """
    while True:
        result, following = step(state)
        if following == state:
            return result, state
        state = following
