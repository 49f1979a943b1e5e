"""Modules that are not files of this package: jaxlib's bindings of MLIR, and distributions.

They are listed here, so that an import finds them before the package that holds them has run.
"""

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
# The distributions of ``scipy.stats``, which makes their modules.
_STATISTICS = "scipy.stats"
DISTRIBUTIONS: tuple[str, ...] = (
    *("bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma"),
    *("gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial"),
    *("multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform"),
    *("vonmises", "wrapcauchy"),
)


class BorrowedModules:
    """Finds and loads such modules: a finder and a loader of Python's imports.

    The drop-in ``jax`` finds them by its own finder, which asks this one.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a borrowed module; ``None`` for any other."""
        root, _, inside = name.partition(".")
        parent, _, last = inside.rpartition(".")
        distribution = parent == _STATISTICS and last in DISTRIBUTIONS
        if root != "ricci" or not (distribution or inside in SOURCES):
            return None
        return ModuleSpec(name, self)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make a module, which the source's replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the module that Python made by the one of its source."""
        name = module.__name__
        source = SOURCES.get(name.partition(".")[2])
        if source is not None:
            sys.modules[name] = import_module(source)
            return
        package, _, distribution = name.rpartition(".")
        sys.modules[name] = vars(import_module(package))[distribution]


sys.meta_path.append(BorrowedModules())  # pyright: ignore[reportArgumentType]
