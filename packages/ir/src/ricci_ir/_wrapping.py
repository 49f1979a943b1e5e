"""Wrappers of a user's callable that have its name and attributes."""

from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS
from typing import Any

__all__ = ["check_callable", "looks_like"]


def check_callable(transformation: str, fun: object) -> None:
    """Raise ``TypeError`` unless the argument of a transformation is callable."""
    if not callable(fun):
        raise TypeError(
            f"{transformation} expects a callable, a function of arrays, got {fun!r} of type "
            f"{type(fun).__name__}."
        )


def looks_like(fun: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator that gives a function the name, docstring and attributes of a callable.

    Like ``functools.wraps``, for any callable: of an object with ``__call__`` the attributes are
    copied, and those that cannot be set are left out.
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
