"""The names of ``ricci.typing``.

Written by tools/drop_in.py.
"""

from ricci.typing import *  # noqa: F403
from ricci.typing import __all__ as __all__
