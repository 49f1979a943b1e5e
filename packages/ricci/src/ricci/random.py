"""Random numbers that are determined by keys: keys, their splitting, and samplers."""

from ricci_ir import guard_public as _guard_public
from ricci_random import *

_guard_public(globals())
