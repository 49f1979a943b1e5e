"""The contents of this package's modules: the names of Ricci's modules, or of the table."""

import re
import sys
from collections.abc import Callable, Container, Iterable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ricci_ir import api_boundary, lazy_names, public_names

from ._table import alias, in_table, table_modules, table_names

_ROOT = f"{__package__}."
# The attributes of a module that are not names in it.
_OWN = frozenset(
    "__annotate__ __annotations__ __builtins__ __cached__ __dir__ __file__ __getattr__ __loader__ "
    "__name__ __package__ __path__ __spec__".split()
)


def fill(module: ModuleType) -> None:
    """Give a module its names, or put the module in its place that it is an alias of."""
    namespace = vars(module)
    inside = module.__name__.removeprefix(_ROOT)
    if in_table(inside):
        namespace["__doc__"] = "Names that JAX does not list and libraries use."
        sources = {**table_names(inside), **{name: f".{name}" for name in table_modules(inside)}}
        others = sources.pop("*", "").removesuffix(":*")
        load, namespace["__dir__"] = lazy_names(namespace, sources)
        namespace["__getattr__"] = _names_and_others(load, sources, others) if others else load
        return
    source = import_module(alias(inside) or f"ricci.{inside}")
    if source.__name__ != f"ricci.{inside}":
        sys.modules[module.__name__] = source
        return
    listed = frozenset(source.__all__)
    for name, value in list(vars(source).items()):  # to which other threads may add names
        public = name in listed or (name.startswith("__") and name not in _OWN)
        if public and not _is_inner(source, name, value):
            namespace[name] = value
    namespace["__getattr__"], namespace["__dir__"] = late_names(namespace, source)
    if not listed <= namespace.keys():
        module.__class__ = LazyModule


_own_dict: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__


class LazyModule(ModuleType):
    """A module whose names are loaded when they are first used.

    Libraries copy the names of a namespace by ``vars(jax.numpy)``: whoever asks for the dictionary
    gets all names.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The values of all names of the module."""
        namespace = _own_dict(self)
        for name in namespace["__dir__"]():
            if name not in namespace:
                namespace[name] = getattr(self, name)
        return namespace

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        # Serializers know modules by their exact class.
        return import_module, (self.__name__,)


def _names_and_others(
    load: Callable[[str], Any], names: Container[str], others: str
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with some names and all of another module."""

    def __getattr__(name: str) -> object:
        if name in names or name.startswith("__"):
            return load(name)
        return getattr(import_module(others), name)

    return __getattr__


def late_names(
    namespace: dict[str, Any], source: ModuleType
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module with the names of one of Ricci's.

    Modules inside of it are the drop-in's own, imported at their first use.

    Args:
      namespace: the module's ``globals()``.
      source: Ricci's module.
    """
    module = namespace["__name__"]

    @api_boundary
    def __getattr__(name: str) -> Any:
        try:
            value = getattr(source, name)
        except AttributeError as error:
            obj = sys.modules.get(module)
            raise AttributeError(_under_jax(str(error)), name=name, obj=obj) from None
        except ImportError as error:  # instead of the former in ``from``, with the same advice
            if error.name_from != name:
                raise
            renamed = ImportError(_under_jax(str(error)), name=module)
            renamed.name_from = name
            raise renamed from None
        if _is_inner(source, name, value) and find_spec(f"{module}.{name}") is not None:
            return import_module(f"{module}.{name}")
        if name in vars(source).get("__all__", ()):  # Ricci's module has loaded it just now
            namespace[name] = value
        return value

    def __dir__() -> list[str]:
        return public_names(namespace, [name for name in dir(source) if not name.startswith("_")])

    return __getattr__, __dir__


def _under_jax(text: str) -> str:
    """Return a message with the drop-in's names; commands have Ricci's."""
    return re.sub(r"(?<!-m )\bricci(?=\.|')", "jax", text)


def listed_modules(package: str) -> list[str]:
    """Return the names of Ricci's modules inside one of its packages, files and others."""
    if in_table(package):
        return []
    twin = import_module(f"ricci.{package}".removesuffix("."))
    inside = f"{twin.__name__}."
    names = {*modules_inside(twin.__path__)}
    # Not those of jaxlib, which are there once something has imported them.
    loaded = [n for n, module in list(sys.modules.items()) if getattr(module, "__name__", n) == n]
    names |= {name.removeprefix(inside) for name in loaded if name.startswith(inside)}
    return sorted(name for name in names if "." not in name)


def modules_inside(path: Iterable[str]) -> list[str]:
    """Return the names of the modules in the folders, or the drop-in's packages, of a path."""
    import pkgutil  # noqa: PLC0415 - lazy: only lists need it

    return [info.name for info in pkgutil.iter_modules(path)]


def _is_inner(source: ModuleType, name: str, value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ == f"{source.__name__}.{name}"
