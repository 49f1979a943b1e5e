"""Symbolic dimensions: sizes of arrays that are known only when a program runs."""

from ._expressions import *
from ._shapes import *
