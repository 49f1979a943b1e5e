"""The names of ``ricci.interpreters.mlir``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.mlir import *  # noqa: F403
from ricci.interpreters.mlir import __all__ as __all__
