"""Names of a module that are loaded when they are first asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    namespace: dict[str, Any], sources: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a module with names that are loaded late.

    Args:
      namespace: the module's ``globals()``.
      sources: for each name where it comes from: ``"module"``, or ``"module:name"`` for one that a
        module defines. A leading dot stands for the module itself.
    """
    module = namespace["__name__"]

    def load(name: str) -> Any:
        source = sources.get(name)
        if source is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        path, _, attribute = source.partition(":")
        value = import_module(path, module)
        if attribute:
            value = getattr(value, attribute)
        namespace[name] = value
        return value

    def names() -> list[str]:
        return sorted({*namespace, *sources})

    return load, names
