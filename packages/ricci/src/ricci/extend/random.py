"""Generators of random keys: defining them, and making keys for one given as such."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.authoring import threefry2x32_p as threefry2x32_p
from ricci_random.generators import *

_guard_public(globals())
