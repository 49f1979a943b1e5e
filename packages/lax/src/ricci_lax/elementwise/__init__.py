"""Elementwise operations, and the factories that define them."""

from ._accuracy import *
from ._arithmetic import *
from ._comparison import *
from ._conversion import *
from ._linear import *
from ._piecewise_linear import *
from ._transcendental import *
