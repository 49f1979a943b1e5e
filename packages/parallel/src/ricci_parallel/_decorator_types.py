"""The types of what functions return that are called with keywords alone, as decorators."""

from collections.abc import Callable
from typing import Protocol


class Decorator(Protocol):
    """A decorator that keeps the type of a function."""

    def __call__[**P, R](self, f: Callable[P, R], /) -> Callable[P, R]: ...


class KeywordDecorator(Protocol):
    """A decorator whose function takes one keyword more, which the type does not say."""

    def __call__[R](self, f: Callable[..., R], /) -> Callable[..., R]: ...
