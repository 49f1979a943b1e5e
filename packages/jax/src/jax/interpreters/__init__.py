"""The names of ``ricci.interpreters``.

Written by tools/drop_in.py.
"""

from ricci.interpreters import *  # noqa: F403
from ricci.interpreters import __all__ as __all__

# isort: split
import jax.interpreters.ad as ad  # noqa: F401
import jax.interpreters.batching as batching  # noqa: F401
import jax.interpreters.mlir as mlir  # noqa: F401
import jax.interpreters.partial_eval as partial_eval  # noqa: F401
import jax.interpreters.xla as xla  # noqa: F401
