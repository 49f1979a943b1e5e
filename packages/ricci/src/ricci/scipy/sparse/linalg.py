"""Iterative solvers of linear systems: ``cg``, ``gmres``, ``bicgstab``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.sparse.linalg import *

_guard_public(globals())
