"""Elementwise functions with NumPy's ufunc methods, and ``vectorize``."""

from ._ufunc_objects import *
from ._vectorize import *
