"""Names that libraries use although JAX does not list them, as an interface: private ones, mostly.

`TABLE` is the whole of it: the modules, and the object behind each of their names. A
library that imports another one gets an ``ImportError`` that names it; it is then added
to the table, if Ricci has it.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from ricci_ir import lazy_names

from ._table import TABLE as TABLE

PACKAGE = __name__.rpartition(".")[0]


def _alias_of(inside: str) -> str | None:
    """Return the module that the table has under a name; ``None`` for another object."""
    parent, _, name = inside.rpartition(".")
    source = TABLE.get(parent, {}).get(name)
    return None if source is None or ":" in source else source


class TableModules:
    """Finds and makes the modules of the table: a finder and a loader of Python's import system."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of the table; ``None`` for any other."""
        inside = name.removeprefix(f"{PACKAGE}.")
        if inside == name or not (inside in TABLE or _alias_of(inside)):
            return None
        # As packages, so that an absent module inside of one gets the advice of Ricci's finder.
        return ModuleSpec(name, self, is_package=True)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names, each looked up at its first use.

        Where the table has another module under this name, it replaces the one that Python made.
        """
        namespace = vars(module)
        name = module.__name__.removeprefix(f"{PACKAGE}.")
        other = _alias_of(name)
        if other is not None:
            sys.modules[module.__name__] = import_module(other)
            return
        inner = {n.removeprefix(f"{name}.") for n in TABLE if n.startswith(f"{name}.")}
        sources = {**TABLE[name], **{n: f".{n}" for n in inner if "." not in n}}
        namespace["__doc__"] = "Names that JAX does not list and libraries use: see ``jax._src``."
        namespace["__getattr__"], namespace["__dir__"] = lazy_names(namespace, sources)


sys.meta_path.append(TableModules())  # pyright: ignore[reportArgumentType]
# Ricci's finder gives advice on absent modules, so it comes behind this one.
sys.meta_path.sort(key=lambda finder: type(finder).__name__ == "AbsentModules")

_modules = [name.removeprefix("_src.") for name in TABLE if name.startswith("_src.")]
__getattr__, __dir__ = lazy_names(globals(), {n: f".{n}" for n in _modules if "." not in n})
