"""Modules of jaxlib under JAX's names for them, imported at their first import."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

# jaxlib's bindings of MLIR: its objects, its passes, and the operations of each dialect.
_DIALECTS = (
    *("arith", "builtin", "chlo", "func", "math", "memref", "mpmd", "scf", "sdy"),
    *("sparse_tensor", "stablehlo", "vector"),
)
SOURCES: dict[str, str] = {
    "extend.mlir.ir": "jaxlib.mlir.ir",
    "extend.mlir.passmanager": "jaxlib.mlir.passmanager",
    **{f"extend.mlir.dialects.{name}": f"jaxlib.mlir.dialects.{name}" for name in _DIALECTS},
}


class BorrowedModules:
    """Finds and loads such modules: a finder and a loader of Python's imports.

    The names under ``jax`` are those of the drop-in.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a borrowed module; ``None`` for any other."""
        root, _, inside = name.partition(".")
        if root not in ("ricci", "jax") or inside not in SOURCES:
            return None
        return ModuleSpec(name, self)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make a module, which jaxlib's replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the module that Python made by jaxlib's."""
        source = SOURCES[module.__name__.partition(".")[2]]
        sys.modules[module.__name__] = import_module(source)


sys.meta_path.append(BorrowedModules())  # pyright: ignore[reportArgumentType]
