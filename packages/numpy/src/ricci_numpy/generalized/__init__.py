"""Elementwise functions with NumPy's ufunc methods, and ``vectorize``."""

from ._mapping import *
from ._ufunc_objects import *
