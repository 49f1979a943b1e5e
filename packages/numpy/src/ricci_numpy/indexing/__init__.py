"""Indexing with brackets, ``x.at``, ``take`` and ``where``."""

from ._take import *
from ._where import *
