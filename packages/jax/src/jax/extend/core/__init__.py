"""The names of ``ricci.extend.core``.

Written by tools/drop_in.py.
"""

from ricci.extend.core import *  # noqa: F403
from ricci.extend.core import __all__ as __all__
from ricci_ir import lazy_names

__getattr__, __dir__ = lazy_names(
    globals(),
    {
        "primitives": ".primitives",
    },
)
