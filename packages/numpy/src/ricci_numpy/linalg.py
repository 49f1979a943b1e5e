"""Linear algebra: the API of ``jax.numpy.linalg``, as far as it needs no decompositions."""

from ._norms import matrix_norm as matrix_norm
from ._norms import norm as norm
from ._norms import vector_norm as vector_norm

__all__ = ["matrix_norm", "norm", "vector_norm"]
