"""Forgetting what was traced and compiled."""

from ricci_xla import clear_caches as clear_compiled
from ricci_xla import xla_backend


def clear_caches() -> None:
    """Forget all traced and compiled programs; they are made again when needed."""
    clear_compiled()
    xla_backend.clear()
