"""``bucketed``: compile functions of varying array sizes for a few padded sizes only."""

from ._arrays import padding as padding
from ._bucketed import Bucketed as Bucketed
from ._bucketed import bucketed as bucketed
from ._errors import PaddingError as PaddingError
from ._interpreter import Site as Site

__all__ = ["Bucketed", "PaddingError", "Site", "bucketed", "padding"]
