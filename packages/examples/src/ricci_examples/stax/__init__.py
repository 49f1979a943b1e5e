"""Networks as pairs of functions: one initializes the parameters, one applies them.

A layer is ``(init_fun, apply_fun)``. ``init_fun(key, input_shape)`` returns the shape of the
outputs and the parameters; ``apply_fun(params, inputs, rng=None)`` returns the outputs. The size of
a batch may be -1 in shapes. ``serial`` and ``parallel`` join layers to larger ones.
"""

from ricci_ir import export_names as _export_names

from ._combinators import *
from ._convolutions import *
from ._layers import *
from ._pooling import *

_export_names(globals())
