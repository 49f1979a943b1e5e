"""Elementwise operations, and the factories that define them."""

from ._addition import *
from ._arithmetic import *
from ._comparison import *
from ._complex_parts import *
from ._conversion import *
from ._extremes import *
from ._rounding import *
from ._transcendental import *
