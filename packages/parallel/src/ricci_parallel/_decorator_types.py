"""Types of decorators: the results of functions that are called with keywords alone."""

from collections.abc import Callable
from typing import Protocol


class Decorator(Protocol):
    """A decorator that preserves the type of a function."""

    def __call__[**P, R](self, f: Callable[P, R], /) -> Callable[P, R]: ...


class KeywordDecorator(Protocol):
    """A decorator whose function takes one more keyword, which its type leaves out."""

    def __call__[R](self, f: Callable[..., R], /) -> Callable[..., R]: ...
