"""Evaluation of functions operation by operation, for ``find_nan`` and ``precision``."""

from ._interpreter import *
