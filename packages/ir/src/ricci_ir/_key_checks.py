"""The hook that checks jaxprs for reused random keys (``jax_debug_key_reuse``).

Backends call the checks; a higher package, which knows the operations that use keys, registers
them.
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
        """Check a jaxpr by itself."""

    def call(self, jaxpr: Any, name: str, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Mark the keys among the arguments that the jaxpr uses as used.

        Args:
          jaxpr: the jaxpr.
          name: its name in messages.
          args: its constants, followed by its arguments.
          results: empty in the call before it runs, its results in the call after.
        """


class _NoKeys:
    """Checks that do nothing, for when no package of random numbers is imported."""

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
