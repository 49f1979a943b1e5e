"""The norm of a pytree of gradients, and clipping by the norm."""

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, PyTree
from ricci_pytree import tree_leaves, tree_map

__all__ = ["clip_grads", "l2_norm"]


def l2_norm(tree: PyTree) -> Array:
    """The Euclidean norm over all arrays of a pytree.

    Args:
      tree: a pytree of arrays.

    Returns:
      A scalar array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import optimizers
      >>> print(optimizers.l2_norm({"a": 3.0, "b": jnp.array([0.0, 4.0])}))
      5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: PyTree, max_norm: ArrayLike) -> PyTree:
    """Scale gradients down to a maximum norm.

    Args:
      grad_tree: a pytree of arrays.
      max_norm: the maximum of their Euclidean norm.

    Returns:
      A pytree of the structure of ``grad_tree``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> [round(float(g), 3) for g in optimizers.clip_grads([3.0, 4.0], 1.0)]
      [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
