"""Hooks: functions that a package calls and a package above it provides."""

import sys
from importlib import import_module
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn

from ._by_name import PickledByName

__all__ = ["Hook"]


class Hook[F](PickledByName):
    """A function that a package calls, and that a package above it provides when it is imported.

    It is called as ``hook.call(...)``, which costs no more than a method. A primitive can be
    provided as well. A module that is reloaded provides its function again; a second module is
    refused.

    Args:
      name: the function's purpose, as a noun.
      provided_by: the package that provides it.
      default: the function until one is provided.

    Raises:
      NotImplementedError: when the hook is called, if no function is provided and there is no
        default. It says what to import.

    Attributes:
      provider: the module that provided the function, or ``None``.
      late: the module that provides it when it is called, or ``None``.

    Example:
      >>> from collections.abc import Callable
      >>> from ricci_ir import Hook
      >>> halve: Hook[Callable[[float], float]] = Hook("division by two", provided_by="numbers")
      >>> halve.call(3.0)
      Traceback (most recent call last):
      NotImplementedError: no package that provides division by two is imported: import numbers
      >>> _ = halve.provide(lambda x: x / 2)
      >>> halve.call(3.0)
      1.5
    """

    __slots__ = ("call", "late", "name", "provided_by", "provider")
    if not TYPE_CHECKING:  # made in C, as many are at the import
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, name: str, *, provided_by: str, default: F | None = None):
        self.name: str = name
        self.provided_by: str = provided_by
        self.provider: str | None = None
        self.late: str | None = None
        self.call: F = self._missing if default is None else default  # pyright: ignore

    def _missing(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"no package that provides {self.name} is imported: import {self.provided_by}"
        )

    @property
    def is_provided(self) -> bool:
        """Whether there is a function, or a module that provides it when it is called."""
        return self.provider is not None or self.late is not None

    def provide_late(self, module: str) -> None:
        """Name the module that provides the function; it is imported at the first call."""
        if self.provider is None:  # else the module is there already
            self.late = module
            self.call = self._call_late  # pyright: ignore[reportAttributeAccessIssue]

    def loaded(self) -> F:
        """Return the function, which is imported if it is not yet there."""
        if self.provider is None and self.late is not None:
            import_module(self.late)
        return self.call

    def _call_late(self, *args: object, **kwargs: object) -> object:
        function: Any = self.loaded()
        return function(*args, **kwargs)

    def provide(self, function: F) -> F:
        """Set the function; also a decorator.

        Raises:
          RuntimeError: if another module has provided one.
        """
        module: Any = sys._getframe(1).f_globals.get("__name__")
        if self.provider not in (None, module):
            raise RuntimeError(
                f"{module} provides {self.name}, which {self.provider} provides already"
            )
        self.call, self.provider = function, module
        return function
