"""Who is asked whether a program uses a random key twice (``jax_debug_key_reuse``).

Which operations use keys is known to the package of random numbers, which stands above; whoever
runs programs asks here.
"""

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = [
    "key_checks",
    "register_key_checks",
]


class KeyChecks(Protocol):
    """What is known of keys' uses; both methods raise ``KeyReuseError``."""

    def program(self, jaxpr: Any) -> None:
        """Check a program by itself."""

    def call(self, jaxpr: Any, name: str, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Note the keys among the arguments as used, if the program uses them.

        Called with the constants of the program before its arguments, and before it runs without
        results, then with them.
        """


class _NoKeys:
    """Nothing: without random numbers there are no keys."""

    def program(self, jaxpr: Any) -> None: ...

    def call(self, jaxpr: Any, name: str, args: Sequence[Any], results: Sequence[Any]) -> None: ...


class _Registered:
    __slots__ = ("checks",)

    def __init__(self) -> None:
        self.checks: KeyChecks = _NoKeys()


_registered = _Registered()


def register_key_checks(checks: KeyChecks) -> None:
    """Set who is asked."""
    _registered.checks = checks


def key_checks() -> KeyChecks:
    """Who is asked."""
    return _registered.checks
