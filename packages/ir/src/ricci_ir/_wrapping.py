"""Functions that stand for a user's callable, and look like it."""

from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS
from typing import Any

__all__ = [
    "check_callable",
    "looks_like",
]


def check_callable(transformation: str, fun: object) -> None:
    """Raise ``TypeError`` unless what is to be transformed can be called."""
    if not callable(fun):
        raise TypeError(
            f"{transformation} expects a callable, a function of arrays, got {fun!r} of type "
            f"{type(fun).__name__}."
        )


def looks_like(fun: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the function gets the name, documentation and attributes of a callable.

    Like ``functools.wraps``, for any callable: an object that is called has its attributes copied,
    and a name that is no string is left out.
    """

    def decorate(wrapper: Any) -> Any:
        if not isinstance(fun, type):
            wrapper.__dict__.update(getattr(fun, "__dict__", ()))
        for name in WRAPPER_ASSIGNMENTS:
            try:
                setattr(wrapper, name, getattr(fun, name))
            except (AttributeError, TypeError):
                continue
        wrapper.__wrapped__ = fun
        return wrapper

    return decorate
