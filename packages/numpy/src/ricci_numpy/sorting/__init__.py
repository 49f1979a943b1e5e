"""Sorting, searching in sorted arrays, and arrays as sets."""

from ._searching import *
from ._sets import *
from ._sorting import *
from ._unique import *
