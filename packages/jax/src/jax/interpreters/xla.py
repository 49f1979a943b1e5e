"""The names of ``ricci.interpreters.xla``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.xla import *  # noqa: F403
from ricci.interpreters.xla import __all__ as __all__
