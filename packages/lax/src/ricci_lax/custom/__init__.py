"""Functions with rules of their own: ``custom_jvp``, ``custom_vjp``, ``custom_vmap``."""

from ._closure_convert import *
from ._gradient import *
from ._jvp import *
from ._linear_call import *
from ._symbolic_zeros import *
from ._tangent_map import *
from ._vjp import *
from ._vjp_primitives import *
from ._vjp_rules import *
from ._vmap import *
