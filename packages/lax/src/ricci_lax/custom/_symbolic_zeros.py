"""Functions for custom rules that use symbolic zeros."""

from ricci_autodiff import SymbolicZero, Zero, instantiate
from ricci_ir import Array, ArrayLike, PyTree, as_array
from ricci_pytree import tree_map

from ._vjp_rules import CustomVJPPrimal

__all__ = ["custom_vjp_primal_tree_values", "zero_from_primal"]


def zero_from_primal(val: PyTree, symbolic_zeros: bool = False) -> PyTree:
    """The zero tangent of a pytree of arrays.

    Args:
      val: a pytree of arrays.
      symbolic_zeros: whether the zeros are ``SymbolicZero`` instead of arrays.

    Returns:
      A pytree of the same structure; the zero of an integer array has dtype ``float0``.

    Example:
      >>> from ricci.custom_derivatives import zero_from_primal
      >>> float(zero_from_primal(2.0))
      0.0
    """

    def zero(x: ArrayLike) -> Array | SymbolicZero:
        tangent = Zero.from_primal(x)
        return SymbolicZero(tangent.aval) if symbolic_zeros else as_array(instantiate(tangent))

    return tree_map(zero, val)


def custom_vjp_primal_tree_values(tree: PyTree) -> PyTree:
    """The values in a pytree of ``CustomVJPPrimal``, the arguments of symbolic-zero forward rules.

    Args:
      tree: the pytree.

    Returns:
      The pytree with ``value`` in place of each ``CustomVJPPrimal``.

    Raises:
      ValueError: if a leaf is of another class.

    Example:
      >>> from ricci.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
      >>> custom_vjp_primal_tree_values({"a": CustomVJPPrimal(3, True)})
      {'a': 3}
    """

    def value(leaf: object) -> ArrayLike:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(
                "custom_vjp_primal_tree_values: the leaves must be CustomVJPPrimal, as the "
                f"forward rule gets them, but found {type(leaf).__name__}."
            )
        return leaf.value

    return tree_map(value, tree, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))
