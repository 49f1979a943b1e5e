"""What the functions on trees do with an error on its way to their caller."""

from collections.abc import Callable
from typing import Any


def cyclic(error: SystemError) -> Exception:
    """The error for a tree that is too deep, where jaxlib's says only that one was set."""
    if not isinstance(error.__cause__, RecursionError):
        return error
    return RecursionError(
        "the pytree contains itself, or is nested too deeply: flattening it does not come to an "
        "end. Take the reference to the outer container out of the inner one."
    )


def _keep(error: BaseException) -> None:
    """Leave an error and its traceback as they are."""


# Called with an error by the function on trees that is about to raise it again.
leave: Callable[[BaseException], None] = _keep


def on_errors(function: Callable[[BaseException], None]) -> None:
    """Have a function see, and change, the errors that leave the functions on trees.

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
    """Mark a function that calls ``leave`` itself, so that ``ricci`` puts no boundary around it."""
    fun.__dict__["is_boundary"] = True
    return fun
