"""Random numbers without keys. See ``ricci_random.stateful``."""

from ricci_ir import guard_public as _guard_public
from ricci_random.stateful import *

_guard_public(globals())
