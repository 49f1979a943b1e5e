"""The namespaces of ``ricci_scipy``, each loaded when it is first asked for."""

import typing as _typing

from ricci._absent import or_advise as _or_advise
from ricci_ir import lazy_names as _lazy_names

if _typing.TYPE_CHECKING:
    from . import cluster as cluster
    from . import fft as fft
    from . import integrate as integrate
    from . import interpolate as interpolate
    from . import linalg as linalg
    from . import ndimage as ndimage
    from . import optimize as optimize
    from . import signal as signal
    from . import sparse as sparse
    from . import spatial as spatial
    from . import special as special
    from . import stats as stats

__all__ = ["cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"]
__all__ += ["sparse", "spatial", "special", "stats"]

# One namespace costs the import of that one.
if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    _load, __dir__ = _lazy_names(globals(), {name: f".{name}" for name in __all__})
    __getattr__ = _or_advise(__name__, _load)
