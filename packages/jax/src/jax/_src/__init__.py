"""Names that libraries use although JAX does not list them, as an interface: private ones, mostly.

`TABLE` is the whole of it: which modules there are, and what each of their names stands for. A
library that imports another one gets an ``ImportError`` that names it; what it needs is then added
to the table, if Ricci has it.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from ricci_ir import lazy_names

from ._table import TABLE as TABLE

PACKAGE = __name__.rpartition(".")[0]


class TableModules:
    """Finds and makes the modules of the table: a finder and a loader of Python's import system."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module of the table is made; ``None`` for any other."""
        inside = name.removeprefix(f"{PACKAGE}.")
        if inside == name or inside not in TABLE:
            return None
        # As packages, so that an absent module inside of one gets the advice of Ricci's finder.
        return ModuleSpec(name, self, is_package=True)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names, each looked up when it is first asked for."""
        namespace = vars(module)
        name = module.__name__.removeprefix(f"{PACKAGE}.")
        inner = {n.removeprefix(f"{name}.") for n in TABLE if n.startswith(f"{name}.")}
        sources = {**TABLE[name], **{n: f".{n}" for n in inner if "." not in n}}
        namespace["__doc__"] = "Names that JAX does not list and libraries use: see ``jax._src``."
        namespace["__getattr__"], namespace["__dir__"] = lazy_names(namespace, sources)


sys.meta_path.append(TableModules())  # pyright: ignore[reportArgumentType]
# Ricci's finder says what to use in place of absent modules, so it comes behind this one.
sys.meta_path.sort(key=lambda finder: type(finder).__name__ == "AbsentModules")

_modules = [name.removeprefix("_src.") for name in TABLE if name.startswith("_src.")]
__getattr__, __dir__ = lazy_names(globals(), {n: f".{n}" for n in _modules if "." not in n})
