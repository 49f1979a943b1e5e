"""The public names of a module: collected from its imports, or loaded at their first use."""

import sys
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from importlib import import_module
from inspect import unwrap
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["defining_module", "export_classes", "export_lazily", "export_names", "exported"]
__all__ += ["lazy_names", "public_names"]


def public_names(namespace: Mapping[str, Any], others: Iterable[str] = ()) -> list[str]:
    """Return the names that ``dir`` lists for a module: its public names and submodules.

    Args:
      namespace: the module's ``globals()``. Its public names are those in ``__all__``, or, where it
        has none, all without a leading underscore; and the modules inside it.
      others: further names.
    """
    listed = namespace.get("__all__", namespace)
    inside = f"{namespace['__name__']}."

    def is_public(name: str, value: object) -> bool:
        if name.startswith("_"):
            # As in any module, ``dir`` also lists ``__name__``, ``__doc__``, and the like.
            return name.startswith("__")
        return name in listed or (
            isinstance(value, ModuleType) and value.__name__.startswith(inside)
        )

    return sorted({*(n for n, value in namespace.items() if is_public(n, value)), *others})


def export_names(namespace: dict[str, Any], *modules: str) -> None:
    """Set a module's ``__all__`` to the public names that it has imported; ``dir`` lists those.

    A name is public if it does not begin with an underscore and is not a module. So a name is
    written once, in the ``__all__`` of the module that defines it. Packages collect names with
    ``import *``, which type checkers understand.

    Args:
      namespace: the module's ``globals()``.
      modules: the names of modules in it that are public.

    Example:
      >>> from ricci_ir import export_names
      >>> namespace = {"tau": 6.28, "_private": 1, "module": __import__("math")}
      >>> export_names(namespace)
      >>> namespace["__all__"]
      ['tau']
    """
    namespace["__all__"] = sorted(
        name
        for name, value in namespace.items()
        if name in modules or not (name.startswith("_") or isinstance(value, ModuleType))
    )
    namespace.setdefault("__dir__", partial(public_names, namespace))
    module: str = namespace.get("__name__", "")
    for name in namespace["__all__"]:
        if isinstance(namespace[name], type):
            name_publicly(namespace[name], name, module)


# By the identity of a class that a namespace exports, the module that defines it.
_defining_modules: dict[int, str] = {}


def defining_module(value: object) -> str:
    """Return the module that defines a function or class, which may be named by another.

    Example:
      >>> from ricci_ir import Array, defining_module
      >>> defining_module(Array)
      'ricci_ir.traces._array_type'
    """
    original = unwrap(value) if callable(value) else value
    if isinstance(original, FunctionType):
        return str(original.__globals__["__name__"])
    module = str(getattr(value, "__module__", None))
    return _defining_modules.get(id(value), module) if isinstance(value, type) else module


def name_publicly(cls: type, name: str, module: str) -> None:
    """Name a class, in messages and pickles, by the outermost public module that exports it.

    Modules of its own package, and of ``ricci``, whose root users see, count. The methods of the
    class are named by the same module, and so are those that it inherits from private classes.
    """
    if cls.__name__ != name:
        return
    current, package = cls.__module__, module.partition(".")[0]
    root = current.partition(".")[0]
    if root != package and not (package == "ricci" and root.startswith("ricci")):
        return
    if "._" in current or root != package or current.count(".") > module.count("."):
        _defining_modules.setdefault(id(cls), current)
        cls.__module__ = module
        name_methods(cls, current)


def name_methods(cls: type, current: str = "") -> None:
    """Name the methods of a public class by its module, and those of private base classes.

    Args:
      cls: the class.
      current: the module that its own methods are named by; private ones without it.
    """
    module = cls.__module__
    for base in cls.__mro__[:-1]:
        if base is not cls and not _is_private(base.__module__):
            continue
        for member in vars(base).values():
            kind = type(member)
            if kind is not FunctionType:
                if kind is not staticmethod and kind is not classmethod:
                    continue
                member = member.__func__
            named = member.__module__
            # Tracers have the methods of arrays, which are named by the class of arrays.
            is_own = named == current and member.__qualname__.startswith(f"{base.__qualname__}.")
            if is_own or (named != module and _is_private(named)):
                member.__module__ = module


def _is_private(module: str) -> bool:
    return module.startswith("ricci") and "._" in module


# By the package that defines a class: the class by its name, and the names that modules export.
_exported: dict[str, dict[str, type]] = {}
_exporters: dict[str, list[tuple[Container[str], str]]] = {}


def exported[C: type](cls: C) -> C:
    """Name a class by the module that exports it, whether or not that has loaded it; a decorator.

    For the public classes of a package whose modules are imported at their first use: so a class
    has one name in messages and pickles, however it was imported.

    Example:
      >>> from ricci_ir import exported
      >>> @exported
      ... class Mode:
      ...     pass
    """
    package, name = cls.__module__.partition(".")[0], cls.__name__
    _exported.setdefault(package, {})[name] = cls
    for names, module in _exporters.get(package, ()):
        if name in names:
            name_publicly(cls, name, module)
    return cls


def export_classes(package: str, names: Container[str], module: str) -> None:
    """Say that a module exports names of a package, of which some may be classes."""
    _exporters.setdefault(package, []).append((names, module))
    for name, cls in _exported.get(package, {}).items():
        if name in names:
            name_publicly(cls, name, module)


def name_function(fun: FunctionType, name: str, module: str) -> None:
    """Name a function that a private module defines by the public one that exports it."""
    if fun.__name__ == name and "._" in fun.__module__:
        fun.__module__ = module


def lazy_names(
    namespace: dict[str, Any], sources: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module that imports names at first use.

    Args:
      namespace: the module's ``globals()``.
      sources: the source of each name: ``"module"``, or ``"module:name"`` for a name in a module.
        A leading dot makes the path relative to the module.
    """
    module = namespace["__name__"]

    def load(name: str) -> Any:
        source = sources.get(name)
        if source is None:
            text = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules.get(module))
        path, _, attribute = source.partition(":")
        value = import_module(path, module)
        if attribute:
            value = getattr(value, attribute)
            if type(value) is FunctionType and module.startswith("ricci."):
                name_function(value, attribute, module)
        # The next access reads the module's own dictionary, and does not call this.
        namespace[name] = value
        return value

    def names() -> list[str]:
        return public_names(namespace, sources)

    return load, names


def export_lazily(
    namespace: dict[str, Any], index: Mapping[str, str], *, within: bool = False
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Export a module's public names, of which those in an index are imported at their first use.

    Type checkers do not run this: they read the imports that the index was made from, which stand
    in the other branch of ``if TYPE_CHECKING``. See ``tools/name_index.py``.

    Args:
      namespace: the module's ``globals()``; its ``__all__`` is set, as by ``export_names``.
      index: by module, the names that it defines, with spaces between them. The entry of the
        module itself has the names of modules inside of it, which ``__all__`` leaves out.
      within: whether only names that modules inside of this one define are exported.

    Returns:
      The ``__getattr__`` and ``__dir__`` of the module.

    Example:
      >>> from ricci_ir import export_lazily
      >>> namespace = {"__name__": "trigonometry"}
      >>> load, _ = export_lazily(namespace, {"math": "cos sin"})
      >>> namespace["__all__"], load("cos")(0.0)
      (['cos', 'sin'], 1.0)
    """
    module: str = namespace["__name__"]
    sources = {
        name: f"{path}.{name}" if path == module else f"{path}:{name}"
        for path, names in index.items()
        if not within or path.startswith(f"{module}.")
        for name in names.split()
    }
    export_names(namespace)
    inside = set(index.get(module, "").split())
    namespace["__all__"] = sorted({*namespace["__all__"], *sources} - inside)
    if not within:
        export_classes(module.partition(".")[0], sources, module)
    return lazy_names(namespace, sources)
