"""Special functions, statistics, linear algebra, signals, solvers: SciPy's names."""

import typing as _typing

from ricci_ir import lazy_names

if _typing.TYPE_CHECKING:
    from . import cluster as cluster
    from . import fft as fft
    from . import integrate as integrate
    from . import interpolate as interpolate
    from . import linalg as linalg
    from . import ndimage as ndimage
    from . import ode as ode
    from . import optimize as optimize
    from . import signal as signal
    from . import sparse as sparse
    from . import spatial as spatial
    from . import special as special
    from . import stats as stats

__all__ = ["cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "ode", "optimize"]
__all__ += ["signal", "sparse", "spatial", "special", "stats"]

# Namespaces are imported when first used.
if not _typing.TYPE_CHECKING:  # type checkers would accept any attribute
    __getattr__, __dir__ = lazy_names(globals(), {name: f".{name}" for name in __all__})
