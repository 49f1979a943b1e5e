"""The errors that the runtime raises."""

from ._jaxlib import runtime

__all__ = [
    "DuplicateSpecError",
    "IndivisibleError",
    "JaxRuntimeError",
    "XlaRuntimeError",
]

JaxRuntimeError = runtime.JaxRuntimeError
XlaRuntimeError = runtime.JaxRuntimeError


class IndivisibleError(ValueError):
    """An array's dimension is not a multiple of the number of pieces it is to be cut into."""


class DuplicateSpecError(ValueError):
    """A partition spec uses one mesh axis for two dimensions of an array."""
