"""What is raised where padding may reach a result."""

__all__ = ["PaddingError", "Unprovable"]


class PaddingError(ValueError):
    """Padding may reach a result, or it cannot be shown that it does not."""


class Unprovable(Exception):
    """An operation that has no form in which padding reaches nothing.

    Attributes:
      reason: what the operation does with padding, in words.
      remedy: what to write instead.
    """

    def __init__(self, reason: str, remedy: str):
        super().__init__(reason)
        self.reason: str = reason
        self.remedy: str = remedy
