"""Public namespaces: their functions and classes are wrapped in boundaries as they are exported."""

import sys
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from importlib import import_module
from types import FunctionType, MappingProxyType
from typing import Any

from ._namespaces import export_classes, export_names, name_function, public_names
from ._traceback_filtering import (
    EXPORTED,
    api_boundary,
    is_boundary,
    is_own_module,
    permanent_boundary,
    unguarded,
)

__all__ = ["guard_class", "guard_lazily", "guard_public", "without_boundaries"]


def guard_public(
    namespace: dict[str, Any],
    *modules: str,
    classes: bool = True,
    unlisted: AbstractSet[str] = frozenset(),
) -> None:
    """Export a namespace's public names, and wrap its functions and classes in boundaries.

    Functions are wrapped under their names in the namespace; the packages that define them call
    them without the wrappers. Classes, and the classes of callable objects, get boundaries around
    their methods; see ``guard_class``.

    Args:
      namespace: the ``globals()`` of a module.
      modules: the modules in it that are public; see ``export_names``.
      classes: whether classes get boundaries. Those of jaxprs and traces do not: tracing uses them
        all the time, and of users only authors of extensions.
      unlisted: public names that ``__all__`` leaves out.
    """
    export_names(namespace, *modules)
    values = {name: namespace[name] for name in namespace["__all__"]}
    for name, value in values.items():
        primary = name if type(value) is not FunctionType else _primary_name(values, value)
        namespace[name] = _guarded(value, primary, namespace["__name__"], classes)
    namespace["__all__"] = [name for name in values if name not in unlisted]


def guard_lazily(
    namespace: dict[str, Any],
    index: Mapping[str, Iterable[str]],
    aliases: Mapping[str, str] = MappingProxyType({}),
    unlisted: AbstractSet[str] = frozenset(),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Export public names of modules, and wrap each in a boundary when it is first used.

    Args:
      namespace: the ``globals()`` of a module; its ``__all__`` is extended. See ``guard_public``.
      index: by module, the names that are exported.
      aliases: further names, each with the name in the index whose object it has.
      unlisted: names in the index that ``__all__`` leaves out.

    Returns:
      The ``__getattr__`` and ``__dir__`` of the namespace.

    Example:
      >>> from ricci_ir import guard_lazily
      >>> namespace = {"__name__": "rounding"}
      >>> load, _ = guard_lazily(namespace, {"math": ["floor"]}, {"down": "floor"})
      >>> namespace["__all__"], load("down")(2.5)
      (['down', 'floor'], 2)
    """
    module: str = namespace["__name__"]
    homes = {name: path for path, names in index.items() for name in names}
    for path, names in index.items():
        export_classes(path.partition(".")[0], {*names} - unlisted, module)
    if "." not in module:
        _claims.update({(path.partition(".")[0], name): module for name, path in homes.items()})
    listed = {*homes, *aliases, *namespace.get("__all__", ())} - unlisted
    namespace["__all__"] = sorted(listed)

    def load(name: str) -> object:
        if name in aliases:
            value = load(aliases[name])
        elif name in homes:
            value = _guarded(getattr(import_module(homes[name]), name), name, module, classes=True)
        else:
            text = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules.get(module))
        namespace[name] = value
        return value

    return load, lambda: public_names(namespace, namespace["__all__"])


# By package and name of a function, the root of the namespaces if it exports the function.
_claims: dict[tuple[str, str], str] = {}


def _primary_name(values: dict[str, Any], fun: FunctionType) -> str:
    """The name that all aliases of a function in a namespace have.

    They are one object, so that a ``__code__`` that replaces that of one is called through all.
    """
    if values.get(fun.__name__) is fun:
        return fun.__name__
    return next(name for name, value in values.items() if value is fun)


def _guarded(value: object, name: str, module: str, classes: bool) -> object:
    """The value that a namespace exports: a function in its boundary, or the value itself."""
    if type(value) is FunctionType:
        public = _public.get((value, name))
        if public is None:
            if is_boundary(value) and (value.__name__ != name or unguarded(value) is value):
                name_function(value, name, _public_module(value, name, module))
                return value
            public = value if is_boundary(value) else permanent_boundary(value, name, EXPORTED)
            _public[value, name] = _public[public, name] = public
            # It is pickled by the name that it is exported under.
            public.__module__ = _public_module(value, name, module)
            public.__name__ = public.__qualname__ = name
        return public
    if isinstance(value, type):
        if classes:
            guard_class(value)
        return value
    if classes:
        guard_class(type(value))
    # A function with rules, or a type for annotations, is named as a function is.
    attributes = getattr(value, "__dict__", {})
    home: str = attributes.get("__module__", "")
    if attributes.get("__name__") == name and is_own_module(home) and "._" in home:
        attributes["__module__"] = module
    return value


def _public_module(fun: FunctionType, name: str, module: str) -> str:
    """The module that names a function: the root if that exports it, else the one given.

    A function that is exported under another name than its own is not the root's of that name.
    """
    package = fun.__module__.partition(".")[0]
    return _claims.get((package, name), module) if fun.__name__ == name else module


# By function and exported name, the boundary that all namespaces share.
_public: dict[tuple[FunctionType, str], Any] = {}


def guard_class(cls: type) -> None:
    """Wrap in boundaries the methods of a class of Ricci that user code calls.

    These are its constructors, its public methods, and calls, indexing and ``__enter__`` of its
    instances. Ricci's own calls go through them too, which is too slow for classes that every
    operation uses; see ``without_boundaries``.
    """
    if cls in _guarded_classes or not _is_entered(cls):
        return
    _guarded_classes.add(cls)
    names: set[str] = set()
    for base in filter(_is_own, cls.__mro__):
        for name, member in list(vars(base).items()):
            if name in names or (name.startswith("_") and name not in _ENTRIES):
                continue
            names.add(name)
            kind = type(member)
            fun = member.__func__ if kind in (staticmethod, classmethod) else member
            if type(fun) is FunctionType and not is_boundary(fun):
                public = api_boundary(fun)
                setattr(base, name, public if fun is member else kind(public))


_guarded_classes: set[type] = set()
# The special methods that get boundaries.
_ENTRIES = frozenset(
    f"__{name}__"
    for name in ("new", "init", "call", "enter", "getattr", "setattr", "getitem", "setitem")
)


def _is_entered(cls: type) -> bool:
    """Whether a class gets boundaries; errors, enumerations and named tuples do not."""
    named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    plain = issubclass(cls, BaseException | Enum) or named_tuple
    return not plain and _without_boundaries.isdisjoint(cls.__mro__)


def _is_own(cls: type) -> bool:
    return is_own_module(cls.__module__)


def without_boundaries[C: type](cls: C) -> C:
    """Exclude from ``guard_class`` a class, with its subclasses, that every operation uses."""
    _without_boundaries.add(cls)
    return cls


_without_boundaries: set[type] = set()
