"""Pytrees under short names. See ``ricci_pytree``."""

from ricci_ir import guard_public as _guard_public
from ricci_pytree.tree import *

_guard_public(globals())
