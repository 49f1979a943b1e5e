"""From a program to an executable that is called."""

from ._compile import *
from ._dispatch import *
from ._effects import *
from ._hlo_computation import *
from ._inspection import *
