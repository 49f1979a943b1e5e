"""Random keys: their dtype, arrays, primitives, and the functions that create them."""

from . import _key_lowering  # registers the lowering rules of keys
from ._derivation import *
from ._key_array import *
from ._key_type import *
