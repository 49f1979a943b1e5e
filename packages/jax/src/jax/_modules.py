"""A finder and loader of the modules of this package, none of which is a file.

A public module of Ricci has a twin here, a module of its own with the same objects under the same
names. What JAX does not list and libraries import nevertheless is in the table of ``jax._table``.

Python asks a path hook for the finder of each entry of a package's ``__path__``. The entries that
end these packages' paths are not folders, but name the package to this module's finder. So it comes
behind files, and ``pkgutil`` lists its modules.

It is there before Ricci is imported, or a thread that imports ``jax.numpy`` meanwhile would not
find it: see ``jax._contents``.
"""

import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ._table import NOT_IN_JAX, alias, in_table

_ROOT = f"{__package__}."
_ENTRY = "ricci:"


def path_entry(name: str) -> str:
    """Return the entry of the ``__path__`` of a package of the drop-in."""
    return _ENTRY + name.removeprefix(_ROOT)


def twin_spec(inside: str) -> ModuleSpec | None:
    """Return the spec of Ricci's module of a name; ``None`` where JAX has none.

    Nothing is imported: Python asks finders under a lock that the imports of other threads need.
    """
    parent, _, last = inside.rpartition(".")
    if last.startswith("_") or inside in NOT_IN_JAX or in_table(inside) or in_table(parent):
        return None
    name = f"ricci.{inside}"
    if name in sys.modules:
        return sys.modules[name].__spec__
    package = twin_spec(parent) if parent else find_spec("ricci")
    path = package and package.submodule_search_locations
    return None if path is None else _find_spec(name, path)


def _find_spec(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """Return the spec of a module from the first of Python's finders that has it.

    Distributions and jaxlib's modules are not files: Ricci has a finder for them.
    """
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def _ask_twin(method: str, name: str) -> Any:
    """Call a method of the loader of Ricci's module; ``None`` where there is none."""
    spec = twin_spec(name.removeprefix(_ROOT))
    ask = getattr(spec and spec.loader, method, None)
    return None if spec is None or ask is None else ask(spec.name)


class Modules:
    """Finds the modules inside a package of the drop-in, and loads them.

    Args:
      entry: the entry of a ``__path__``.

    Raises:
      ImportError: the entry is not one of ``path_entry``.
    """

    def __init__(self, entry: str) -> None:
        if not entry.startswith(_ENTRY):
            raise ImportError(f"{entry} is not a package of the drop-in")
        self.package = entry.removeprefix(_ENTRY)

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a module; ``None`` if there is none of this name."""
        inside = name.removeprefix(_ROOT)
        twin = twin_spec(inside)
        if twin is None and not in_table(inside) and alias(inside) is None:
            return None
        spec = ModuleSpec(name, self)  # pyright: ignore[reportArgumentType]
        if twin is not None:
            spec.origin, spec.has_location = twin.origin, twin.has_location
        # Modules of the table are packages, so that an absent module inside of one gets the advice
        # of Ricci's finder.
        if twin is None or twin.submodule_search_locations is not None:
            spec.submodule_search_locations = [path_entry(name)]
        return spec

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Yield the name of each module that JAX lists in the package, and whether it has more."""
        from . import _contents  # noqa: PLC0415 - lazy: it imports Ricci

        for name in _contents.listed_modules(self.package):
            spec = twin_spec(f"{self.package}.{name}".removeprefix("."))
            if spec is not None:
                yield prefix + name, spec.submodule_search_locations is not None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give a module its names, or put the module in its place that it is an alias of."""
        from . import _contents  # noqa: PLC0415 - lazy: it imports Ricci

        _contents.fill(module)

    def get_code(self, name: str) -> object:
        """Return the code of Ricci's module, for ``python -m``."""
        return _ask_twin("get_code", name)

    def get_source(self, name: str) -> str | None:
        """Return the text of Ricci's module."""
        return _ask_twin("get_source", name)

    def get_resource_reader(self, name: str) -> object:
        """Return the reader of the files beside Ricci's module."""
        return _ask_twin("get_resource_reader", name)


sys.path_hooks.append(Modules)
