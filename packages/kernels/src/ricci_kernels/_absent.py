"""Names of JAX's kernel languages that are not implemented, and names under which it had others.

Libraries import such names before they need them, so they exist: as classes that may be subclassed,
subscripted and named in annotations. To call one raises an error, except in the body of a module
or class that is imported: libraries decorate functions there that only some machines run.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import ricci_ir as ir

__all__: list[str] = []


class AbsentType(type):
    """The type of the names, whose attributes are names as well."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("_"):
            raise AttributeError(name)
        return absent_name(f"{cls.__name__}.{name}")

    def __call__(cls, *args: object, **kwargs: object) -> type:
        caller = sys._getframe(1)
        in_body = not caller.f_code.co_flags & inspect.CO_OPTIMIZED
        if in_body and caller.f_globals.get("__name__") != "__main__":
            return absent_name(cls.__name__)
        raise NotImplementedError(
            f"{cls.__name__} is not supported in kernels written in Python (Pallas): write the "
            "operation with lax or numpy, or call a compiled kernel with jax.ffi.ffi_call."
        )


class AbsentName(metaclass=AbsentType):
    """The base of the names."""

    def __class_getitem__(cls, item: object) -> type:
        return cls


def absent_name(name: str) -> type:
    """Return a class for a name that is not implemented.

    Args:
      name: the name.
    """
    return AbsentType(name, (AbsentName,), {})


def other_names(
    module: str, absent: str, renamed: Mapping[str, tuple[str, Any]]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with such names.

    Args:
      module: the module's name.
      absent: the names that are not implemented, separated by spaces.
      renamed: for each name that JAX has dropped, how to write it now, and the object.
    """
    names = frozenset(absent.split())

    def __getattr__(name: str) -> Any:
        if name in renamed:
            advice, value = renamed[name]
            ir.warn_user(f"{name} is deprecated: use {advice}.", DeprecationWarning)
            return value
        if name in names:
            return absent_name(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
