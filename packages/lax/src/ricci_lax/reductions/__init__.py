"""Reductions over axes and windows, cumulative sums, and sorting."""

from ._approximate_top_k import *
from ._arg_extrema import *
from ._axis_reductions import *
from ._cumulative import *
from ._reduce import *
from ._sorting import *
from ._window_selection import *
from ._window_shape import *
from ._windows import *
