"""Tokens: values without content that order side effects."""

from typing import Any

from ._aval import AbstractToken, abstract_token

__all__ = ["Token"]


class Token:
    """A token that an executable returned.

    Args:
      buffer: the backend's object; waiting for it waits for the effects before the token.

    Example:
      >>> from ricci.extend.core import Token
      >>> Token(None).aval
      AbstractToken()
    """

    __slots__ = ("__weakref__", "buffer")

    buffer: Any

    def __init__(self, buffer: Any):
        self.buffer = buffer

    @property
    def aval(self) -> AbstractToken:
        """The type of all tokens."""
        return abstract_token

    def block_until_ready(self) -> "Token":
        """Wait for the effects before the token; returns the token."""
        wait = getattr(self.buffer, "block_until_ready", None)
        if wait is not None:
            wait()
        return self
