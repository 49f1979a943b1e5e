"""Elementwise functions, and factories of those that are one operation."""

from ._arithmetic import *
from ._binary import *
from ._comparison import *
from ._division import *
from ._float_parts import *
from ._rounding import *
from ._signals import *
from ._unary import *
