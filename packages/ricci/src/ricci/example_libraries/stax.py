"""Networks as pairs of functions. See ``ricci_examples.stax``."""

from ricci_examples.stax import *
from ricci_ir import guard_public as _guard_public

_guard_public(globals())
