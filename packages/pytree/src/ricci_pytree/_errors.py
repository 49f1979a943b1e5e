"""Hooks for errors that leave the functions on trees, and values in messages."""

from collections.abc import Callable
from typing import Any


def recursion_error(error: SystemError) -> Exception:
    """Return a ``RecursionError`` for jaxlib's ``SystemError`` on trees that are too deep."""
    if not isinstance(error.__cause__, RecursionError):
        return error
    return RecursionError(
        "the pytree contains itself, or is nested too deeply: flattening it does not come to an "
        "end. Take the reference to the outer container out of the inner one."
    )


def _do_nothing(error: BaseException) -> None:
    """Leave an error and its traceback unchanged."""


# Called by functions on trees with an error before they raise it again.
leave: Callable[[BaseException], None] = _do_nothing


def on_errors(function: Callable[[BaseException], None]) -> None:
    """Set the function that inspects and changes errors that leave the functions on trees.

    Args:
      function: called with the error, by the function on trees that raises it again.

    Example:
      >>> from ricci_pytree import on_errors
      >>> on_errors(lambda error: error.add_note("seen"))  # doctest: +SKIP
      >>> # skipped, since it would hold for all examples that follow
    """
    global leave
    leave = function


def passes_errors[F: Callable[..., Any]](fun: F) -> F:
    """Mark a function that calls ``leave`` itself, so that ``ricci`` does not wrap it."""
    fun.__dict__["is_boundary"] = True
    return fun


def shorten(value: object) -> str:
    """The repr of a value, cut to at most 200 characters.

    >>> from ricci_pytree._errors import shorten
    >>> len(shorten("x" * 1000))
    200
    """
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
