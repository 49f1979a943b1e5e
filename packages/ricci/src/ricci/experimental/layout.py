"""The order of arrays' elements in memory."""

from ricci_xla import Format as Format
from ricci_xla import Layout as Layout

__all__ = [
    "Format",
    "Layout",
]
