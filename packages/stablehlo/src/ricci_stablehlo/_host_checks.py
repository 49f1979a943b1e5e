"""Checks in an executable whose failures are exceptions of the call that runs it."""

from collections import deque

__all__ = ["HostChecks"]


class HostChecks:
    """The checks of a module, and their failures.

    A call of Python that raises inside of an executable leaves other devices waiting in a
    collective. So a check records its failure, and the caller raises it when all devices have
    ended.

    Args:
      allowed: whether checks may be written: they call Python of this process.

    Attributes:
      omitted: whether some were left out since they are not allowed.
      written: whether there are any.
      failures: the exceptions of failed checks that were not raised yet.
    """

    __slots__ = ("allowed", "failures", "omitted", "written")

    def __init__(self, allowed: bool = False):
        self.allowed: bool = allowed
        self.omitted: bool = False
        self.written: bool = False
        self.failures: deque[Exception] = deque()

    def raise_failure(self) -> None:
        """Raise the exception of the first failed check, and forget the others."""
        if self.failures:
            failure = self.failures.popleft()
            self.failures.clear()
            raise failure
