"""Checks of the tangents and cotangents that users pass, and their conversion."""

from typing import Any

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_ir import AbstractValue, ArrayLike, PyTree, ShapedArray

from ._tangent import Tangent, Zero, as_value, has_tangent, instantiate, tangent_aval


def unperturbed(aval: ShapedArray) -> ArrayLike:
    """Return the cotangent of an argument that is not differentiated: zeros of its tangent type."""
    if has_tangent(aval):
        return as_value(instantiate(Zero(tangent_aval(aval))))
    return ir.float0_zeros(aval.shape)


def strong(value: ArrayLike, aval: ShapedArray) -> ArrayLike:
    """Convert a Python scalar to the dtype of ``aval``, unless that is weak."""
    if type(value) in (float, complex) and not aval.weak_type and has_tangent(aval):
        return ir.exact_scalar(value, aval.dtype)
    return value


def with_float0(tangent: Tangent) -> ArrayLike:
    """Convert a tangent to an array; a ``Zero`` of an integer becomes zeros of dtype ``float0``."""
    if type(tangent) is Zero and not tangent.aval.is_high and tangent.aval.dtype == ir.float0:
        return ir.float0_zeros(tangent.aval.shape)
    return instantiate(tangent)


def checked_tangent(
    transform: str, i: int, aval: ShapedArray, tangent: Tangent, tree: PyTree
) -> Tangent:
    """Check a tangent from the user against its primal.

    Args:
      transform: the name of the transformation, for messages.
      i: the position of the tangent among the leaves of ``tree``.
      aval: the type of the primal.
      tangent: the tangent.
      tree: all tangents.

    Returns:
      The tangent; ``Zero`` if its dtype is ``float0``.
    """
    if type(tangent) is Zero:
        return tangent
    if getattr(tangent, "dtype", None) == ir.float0:
        if has_tangent(aval):
            check_type(transform, "tangent", "primal", i, aval, tangent, tree)
        return Zero(tangent_aval(aval))
    check_type(transform, "tangent", "primal", i, aval, tangent, tree)
    return strong(tangent, aval)


def check_type(
    transform: str, what: str, of: str, i: int, aval: AbstractValue, value: ArrayLike, tree: PyTree
) -> None:
    """Raise an error unless ``value`` has the tangent type of ``aval``.

    Args:
      transform: the name of the transformation, for messages.
      what: ``tangent`` or ``cotangent``.
      of: the kind of the value of type ``aval``: ``primal`` or ``output``.
      i: the position of the value among the leaves of ``tree``.
      aval: the type of the primal or the output.
      value: the tangent or cotangent.
      tree: all tangents or cotangents.

    Raises:
      TypeError: if the dtype of a jvp's tangent differs.
      ValueError: if anything else differs.
    """
    expected: Any = tangent_aval(aval)
    actual = ir.get_aval(value)
    if expected.is_high or actual.is_high:
        if actual == expected:
            return
    elif actual.shape == expected.shape and actual.dtype == expected.dtype:
        return
    path = pytree.keystr(pytree.tree_flatten_with_path(tree)[0][i][0])
    # JAX raises TypeError only for the dtype of a jvp's tangent.
    wrong_dtype = transform == "jvp" and not actual.is_high and actual.shape == expected.shape
    raise (TypeError if wrong_dtype else ValueError)(
        f"{transform}: the {what}{f' at {path}' if path else ''} must have the shape and tangent "
        f"dtype of its {of}: expected {expected.str_short()}, got {actual.str_short()}."
    )
