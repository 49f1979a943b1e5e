"""Errors about shardings that do not fit an array."""

__all__ = ["DuplicateSpecError", "IndivisibleError"]


class IndivisibleError(ValueError):
    """An array's dimension is not a multiple of its number of shards."""


class DuplicateSpecError(ValueError):
    """A partition spec uses one mesh axis for two dimensions of an array."""
