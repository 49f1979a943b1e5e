"""Describe values that are neither arrays nor registered pytrees, for error messages."""

import sys
from dataclasses import is_dataclass

__all__ = ["described_value", "registering"]


def described_value(x: object) -> str:
    """A value in one short line, and its type.

    Example:
      >>> described_value("relu")
      "'relu', of type str"
    """
    text = " ".join(repr(x).split())
    short = text if len(text) <= 60 else text[:57] + "..."
    cls = type(x)
    name = cls.__qualname__
    is_plain = cls.__module__ in ("builtins", "__main__")
    return f"{short}, of type {name if is_plain else f'{cls.__module__}.{name}'}"


def registering(x: object) -> str:
    """Advice to register a value's class as a pytree; empty unless it is one of the user's.

    Example:
      >>> registering("relu")
      ''
    """
    cls = type(x)
    root = cls.__module__.partition(".")[0]
    if root in sys.stdlib_module_names - {"__main__"} or issubclass(cls, type):
        return ""
    if is_dataclass(cls):
        line = f"@tree_util.register_dataclass above @dataclass class {cls.__name__}"
        return f"The class is not registered as a pytree. Write {line}."
    line = f"@tree_util.register_pytree_node_class above class {cls.__name__}"
    methods = "tree_flatten, and the classmethod tree_unflatten"
    return f"The class is not registered as a pytree. Write {line}, and give it {methods}."
