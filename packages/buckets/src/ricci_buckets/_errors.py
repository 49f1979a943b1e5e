"""Errors of operations whose padding may reach a result."""

__all__ = ["PaddingError"]


class PaddingError(ValueError):
    """Padding may reach a result, or it cannot be shown that it does not."""


class Unprovable(Exception):
    """An operation for which no masked form is implemented.

    Attributes:
      reason: how the operation treats padding, for the message.
      remedy: the suggested fix.
    """

    def __init__(self, reason: str, remedy: str):
        super().__init__(reason)
        self.reason: str = reason
        self.remedy: str = remedy
