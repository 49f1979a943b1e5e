"""``precision``: find the lines of a function that lose accuracy."""

from ._precision import *
from ._report import *
