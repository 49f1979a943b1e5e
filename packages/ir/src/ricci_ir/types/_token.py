"""Tokens: values without content that order side effects."""

from typing import Any

from ._aval import AbstractToken, abstract_token

__all__ = [
    "Token",
]


class Token:
    """A token that a program returned.

    Args:
      buffer: what the backend holds for it; waiting for it waits for what the token follows.

    Example:
      >>> Token(None).aval
      Tok
    """

    __slots__ = ("__weakref__", "buffer")

    def __init__(self, buffer: Any):
        self.buffer = buffer

    @property
    def aval(self) -> AbstractToken:
        return abstract_token

    def block_until_ready(self) -> "Token":
        """Wait until what the token follows is done; returns the token."""
        wait = getattr(self.buffer, "block_until_ready", None)
        if wait is not None:
            wait()
        return self
