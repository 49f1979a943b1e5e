"""Policies: the values that ``checkpoint`` may save. See ``ricci_lax``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.checkpoint_policies import *

_guard_public(globals(), classes=False)

# Classes of policies, and what policies answer, are found here, but not listed, as in JAX.
_CLASSES = frozenset(name for name in globals()["__all__"] if name[0].isupper())
globals()["__all__"] = [name for name in globals()["__all__"] if name not in _CLASSES]
