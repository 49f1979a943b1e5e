"""Sorting, searching in what is sorted, and arrays as sets."""

from ._searching import *
from ._sets import *
from ._sorting import *
