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


# Of names without a reason of their own, those of whole kernel languages.
_unknown_reason = (
    "it is not a part of the kernels written in Python (Pallas) that Ricci interprets or compiles. "
    "Write the operation with lax or numpy, or call a compiled kernel with jax.ffi.ffi_call."
)


class AbsentType(type):
    """The type of the names, whose attributes are names as well.

    Attributes:
      _reason: why a name is not implemented, and what to write instead.
    """

    _reason: str

    def __getattr__(cls, name: str) -> type:
        if name.startswith("_"):
            raise AttributeError(name)
        return absent_name(f"{cls.__name__}.{name}", cls._reason)

    def __call__(cls, *args: object, **kwargs: object) -> type:
        caller = sys._getframe(1)
        in_body = not caller.f_code.co_flags & inspect.CO_OPTIMIZED
        if in_body and caller.f_globals.get("__name__") != "__main__":
            return absent_name(cls.__name__, cls._reason)
        raise NotImplementedError(f"{cls.__name__} is not supported: {cls._reason}")


class AbsentName(metaclass=AbsentType):
    """The base of the names."""

    _reason = _unknown_reason

    def __class_getitem__(cls, item: object) -> type:
        return cls


def absent_name(name: str, reason: str = _unknown_reason) -> type:
    """Return a class for a name that is not implemented.

    Args:
      name: the name.
      reason: why, and what to write instead, in sentences.
    """
    return AbsentType(name, (AbsentName,), {"_reason": reason})


def other_names(
    module: str, absent: Mapping[str, str], renamed: Mapping[str, tuple[str, Any]]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with such names.

    Args:
      module: the module's name.
      absent: for each name that is not implemented, why, and what to write instead.
      renamed: for each name that JAX has dropped, how to write it now, and the object.
    """

    def __getattr__(name: str) -> Any:
        if name in renamed:
            advice, value = renamed[name]
            ir.warn_user(f"{name} is deprecated: use {advice}.", DeprecationWarning)
            return value
        if name in absent:
            return absent_name(name, absent[name])
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
