"""Random keys: their dtype and arrays, the primitives on them, and the functions that make them."""

from . import _key_lowering  # registers the lowering rules of keys
from ._derivation import *
from ._key_array import *
from ._key_type import *
