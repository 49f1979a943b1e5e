"""Functions of arrays of varying sizes, as a few programs that padding cannot change."""

from ._arrays import padding as padding
from ._bucketed import Bucketed as Bucketed
from ._bucketed import bucketed as bucketed
from ._errors import PaddingError as PaddingError
from ._walk import Site as Site

__all__ = ["Bucketed", "PaddingError", "Site", "bucketed", "padding"]
