"""Indexing with brackets, ``x.at``, ``take`` and ``where``."""

from ._put import *
from ._take import *
from ._where import *
