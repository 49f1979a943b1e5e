"""The names of ``ricci.extend``.

Written by tools/drop_in.py.
"""

from ricci.extend import *  # noqa: F403
from ricci.extend import __all__ as __all__
from ricci_ir import lazy_names

# isort: split
import jax.extend.core as core  # noqa: F401
import jax.extend.linear_util as linear_util  # noqa: F401

__getattr__, __dir__ = lazy_names(
    globals(),
    {
        "backend": ".backend",
        "random": ".random",
        "source_info_util": ".source_info_util",
    },
)
