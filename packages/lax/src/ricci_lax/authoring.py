"""What packages above build functions of arrays from, beside the public operations.

These are checks of arguments and pieces of primitives. Users have no need of them, so they are not
among the names of ``ricci_lax``.
"""

from .control_flow._cond import index_of_platform as index_of_platform
from .linalg._solve import solve as solve
from .random_bits._threefry import threefry2x32 as threefry2x32
from .random_bits._threefry import threefry2x32_numpy as threefry2x32_numpy
from .random_bits._threefry import threefry2x32_p as threefry2x32_p
from .reductions._approximate_top_k import reduced_size as reduced_size
from .structure._shapes import as_sizes as as_sizes
from .structure._shapes import canonical_axis as canonical_axis
from .structure._shapes import placement as placement
from .structure._shapes import shape_of as shape_of
