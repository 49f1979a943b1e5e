"""Iterative solvers: the API of ``jax.scipy.sparse.linalg``."""

from ricci_scipy.sparse._krylov import bicgstab as bicgstab
from ricci_scipy.sparse._krylov import cg as cg
from ricci_scipy.sparse._krylov import gmres as gmres

__all__ = ["bicgstab", "cg", "gmres"]
