"""The namespaces of ``ricci_scipy.sparse``."""

from . import linalg as linalg

__all__ = ["linalg"]
