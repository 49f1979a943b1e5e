"""Loops, branches, and solvers that are differentiated implicitly."""

from ._cond import *
from ._custom_root import *
from ._fori_loop import *
from ._linear_solve import *
from ._loops import *
from ._map import *
from ._platform import *
from ._scan import *
from ._sequential_vmap import *
from ._while import *
from ._while_loop import *
