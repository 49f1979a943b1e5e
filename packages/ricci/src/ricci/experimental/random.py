"""Random numbers without keys. See ``ricci_random.stateful``."""

from ricci_ir import guard_public as _guard_public
from ricci_random.stateful import StatefulPRNG as StatefulPRNG
from ricci_random.stateful import stateful_rng as stateful_rng

_guard_public(globals())
