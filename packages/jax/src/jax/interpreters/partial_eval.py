"""The names of ``ricci.interpreters.partial_eval``.

Written by tools/drop_in.py.
"""

from ricci.interpreters.partial_eval import *  # noqa: F403
from ricci.interpreters.partial_eval import __all__ as __all__
