"""Copies of functions, which share no code object with the original."""

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, cast

__all__ = ["as_method", "function_alias", "with_constants"]

# The attribute of a function that backends may dispatch: see ``ricci_ir.dispatched``.
DISPATCHED = "dispatched"


def with_constants[F: Callable[..., Any]](template: F, **constants: object) -> F:
    """Copy a module's function, with values in place of its constants ``"<name>"``.

    The copy has no free variables, unlike a function that is defined inside of another one, so that
    its ``__code__`` can be replaced as that of every public function.

    Example:
      >>> from ricci_ir import with_constants
      >>> def scaled(x):
      ...     factor = "<factor>"
      ...     return factor * x
      >>> with_constants(scaled, factor=3)(5)
      15
    """
    constants = {f"<{name}>": value for name, value in constants.items()}
    original: Any = template
    code = replace_constants(original.__code__, constants)
    copy: Any = FunctionType(code, original.__globals__)
    copy.__dict__.update(original.__dict__)
    return copy


def replace_constants(code: CodeType, constants: dict[str, object]) -> CodeType:
    """Return a code object with values in place of some of its strings."""
    replaced = [constants.get(c, c) if type(c) is str else c for c in code.co_consts]
    return code.replace(co_consts=tuple(replaced))


def function_alias[F: Callable[..., Any]](function: F, name: str) -> F:
    """Copy a function of ``jnp`` under another name, which its examples call."""
    copy: Any = _copy(function, name)
    copy.__module__ = function.__module__
    copy.__doc__ = copy.__doc__.replace(f"jnp.{function.__name__}(", f"jnp.{name}(")
    if DISPATCHED in copy.__dict__:
        copy.__dict__[DISPATCHED] = copy.__dict__[DISPATCHED].renamed(copy)
    return copy


def as_method[F: Callable[..., Any]](function: F, name: str, owner: type) -> F:
    """Copy a function as a method of a public class, with its module and the method's name.

    For functions that become methods of a class outside of its block: ``help``, ``repr`` and
    pickles find the method by its name in the class.

    Example:
      >>> from ricci_ir import Array, as_method
      >>> as_method(lambda self: self + self, "twice", Array)
      <function Array.twice at ...>
    """
    copy: Any = _copy(function, name)
    copy.__qualname__, copy.__module__ = f"{owner.__qualname__}.{name}", owner.__module__
    return copy


def _copy(function: Callable[..., Any], name: str) -> FunctionType:
    original = cast("FunctionType", function)
    copy = FunctionType(
        original.__code__, original.__globals__, name, original.__defaults__, original.__closure__
    )
    copy.__qualname__, copy.__doc__ = name, original.__doc__
    copy.__kwdefaults__, copy.__annotations__ = original.__kwdefaults__, original.__annotations__
    copy.__type_params__ = original.__type_params__
    copy.__dict__.update(original.__dict__)
    return copy
