"""Higher derivatives by power series. See ``ricci_lax.jets``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.jets import *

_guard_public(globals())
