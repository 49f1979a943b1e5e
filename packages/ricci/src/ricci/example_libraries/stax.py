"""Networks as pairs of functions. See ``ricci_examples.stax``."""

from ricci_examples.stax import *
from ricci_ir import guard_public as _guard_public
from ricci_nn import softmax as softmax
from ricci_nn.initializers import ones as ones
from ricci_nn.initializers import zeros as zeros

_guard_public(globals())

# Found here, but not listed, as in JAX.
_UNLISTED = ("ones", "softmax", "zeros")
globals()["__all__"] = [name for name in globals()["__all__"] if name not in _UNLISTED]
