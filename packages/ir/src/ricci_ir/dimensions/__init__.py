"""Symbolic dimensions: sizes of arrays that are known only when a program runs."""

from ._expressions import SymbolicDimension as SymbolicDimension
from ._expressions import dimension_as_array as dimension_as_array
from ._scope import *
from ._shapes import *
from ._solving import *
