"""The names of ``ricci.scipy``.

Written by tools/drop_in.py.
"""

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
