"""BCOO arrays: batched coordinates."""

from ricci_ir import export_names as _export_names

from ._array import *
from ._conversion import *
from ._convolution import *
from ._dimensions import *
from ._elementwise import *
from ._functions import *
from ._joining import *
from ._layout import *
from ._order import *
from ._products import *
from ._slicing import *
from ._sparse_products import *
from ._transposing import *

_export_names(globals())
