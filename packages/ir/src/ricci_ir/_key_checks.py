"""The hook by which programs are checked for reused random keys (``jax_debug_key_reuse``).

A higher package knows which operations use keys; it registers the checks that backends call here.
"""

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = [
    "key_checks",
    "register_key_checks",
]


class KeyChecks(Protocol):
    """Checks of the uses of keys; both methods raise ``KeyReuseError``."""

    def program(self, jaxpr: Any) -> None:
        """Check a program by itself."""

    def call(self, jaxpr: Any, name: str, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Mark those keys among the arguments as used that the program uses.

        Args:
          jaxpr: the program.
          name: its name in messages.
          args: its constants, followed by its arguments.
          results: nothing in the call before the program runs, its results in the one after.
        """


class _NoKeys:
    """The checks without a package of random numbers: there are no keys to check."""

    def program(self, jaxpr: Any) -> None: ...

    def call(self, jaxpr: Any, name: str, args: Sequence[Any], results: Sequence[Any]) -> None: ...


class _Registered:
    __slots__ = ("checks",)

    def __init__(self) -> None:
        self.checks: KeyChecks = _NoKeys()


_registered = _Registered()


def register_key_checks(checks: KeyChecks) -> None:
    """Set the checks that ``key_checks`` returns."""
    _registered.checks = checks


def key_checks() -> KeyChecks:
    """The registered checks."""
    return _registered.checks
