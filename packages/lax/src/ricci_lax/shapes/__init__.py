"""Joining, slicing, gather and scatter."""

from ._dimension_numbers import *
from ._dynamic_slicing import *
from ._gather import *
from ._joining import *
from ._rearranging import *
from ._scatter import *
from ._scatter_apply import *
from ._slicing import *
