"""Functions with rules of their own: ``custom_jvp``, ``custom_vjp``, ``custom_vmap``."""

from ._accumulators import *
from ._gradient import *
from ._jvp import *
from ._linear_call import *
from ._vjp import *
from ._vjp_rules import *
from ._vmap import *
