"""Names for packages above ``ricci_kernels``."""

from ._absent import absent_name as absent_name
from .blocks._grid_mapping import GridMapping as GridMapping
