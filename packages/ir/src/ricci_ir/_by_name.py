"""Pickling of objects that exist once, by the module and the variable that hold them."""

import copyreg
import importlib
import sys
from typing import Any

__all__ = ["PickledByName"]


class PickledByName:
    """The base of classes whose instances are pickled by the name of a module's variable.

    Pickling a function by value, as cloudpickle does with closures, pickles the global variables
    that it reads. A copy of an option or of a primitive would not be the one that others read.
    Instances that no module of Ricci holds, such as those of users, are pickled by their state.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        name = _name_of(self)
        if name is not None:
            return _lookup, name
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # pyright: ignore


def _name_of(value: object) -> tuple[str, str] | None:
    for module in sorted(sys.modules):
        if module.startswith("ricci_"):
            for name, other in list(vars(sys.modules[module]).items()):
                if other is value:
                    return module, name
    return None


def _lookup(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)
