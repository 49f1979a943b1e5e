"""Errors about shardings that do not fit an array."""

__all__ = [
    "DuplicateSpecError",
    "IndivisibleError",
]


class IndivisibleError(ValueError):
    """An array's dimension is not a multiple of the number of pieces it is to be cut into."""


class DuplicateSpecError(ValueError):
    """A partition spec uses one mesh axis for two dimensions of an array."""
