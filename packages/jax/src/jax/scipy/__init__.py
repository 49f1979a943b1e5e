"""The names of ``ricci.scipy``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci_ir import lazy_names as _lazy_names

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

# isort: split
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

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "cluster": ".cluster",
            "fft": ".fft",
            "integrate": ".integrate",
            "interpolate": ".interpolate",
            "linalg": ".linalg",
            "ndimage": ".ndimage",
            "optimize": ".optimize",
            "signal": ".signal",
            "sparse": ".sparse",
            "spatial": ".spatial",
            "special": ".special",
            "stats": ".stats",
        },
    )
