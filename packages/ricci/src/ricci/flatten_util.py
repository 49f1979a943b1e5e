"""Pytrees as vectors: ``ravel_pytree``."""

from ricci_ir import guard_public as _guard_public
from ricci_numpy.flatten_util import *

_guard_public(globals())
