"""Arrays with regular contents: ranges, grids, triangles, diagonals, positions."""

from ._diagonals import *
from ._grids import *
from ._ranges import *
from ._spaced import *
from ._triangles import *
