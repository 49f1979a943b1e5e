"""Descriptions of arguments with symbolic shapes."""

from collections.abc import Sequence
from typing import Any

from ricci_ir.dimensions._scope import SymbolicScope
from ricci_ir.dimensions._symbolic_shapes import symbolic_shape
from ricci_pytree import broadcast_prefix, tree_flatten, tree_unflatten

from ._aval import ShapedArray
from ._shape_dtype import ShapeDtypeStruct, argument_aval

__all__ = ["symbolic_args_specs"]


def symbolic_args_specs(
    args: object,
    shapes_specs: object,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Describe arguments by ``ShapeDtypeStruct``, with symbolic shapes parsed from text.

    Args:
      args: a pytree of arrays, scalars, or anything with a shape and a dtype.
      shapes_specs: a pytree that is a prefix of ``args``. Its leaves are texts as
        ``symbolic_shape`` reads them, with the argument's shape as ``like``; or ``None`` for the
        argument's shape.
      constraints: constraints for a new scope that all dimensions share.
      scope: their scope, by default a new one.

    Returns:
      A pytree like ``args`` of ``ShapeDtypeStruct``.

    Raises:
      ValueError: if the trees do not match, a text cannot be parsed, or both ``scope`` and
        ``constraints`` are given.

    Example:
      >>> import numpy as np
      >>> from ricci import export
      >>> x = np.ones((2, 3), np.float32)
      >>> export.symbolic_args_specs((x, x), ("b, ...", None))[0]
      ShapeDtypeStruct(shape=(b, 3), dtype=float32)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError(
            "symbolic_args_specs: Cannot use both `scope` and `constraints`: the constraints of a "
            "scope are given when it is made, SymbolicScope(constraints)."
        )
    leaves, structure = tree_flatten(args)
    try:
        if isinstance(args, tuple) and isinstance(shapes_specs, list):
            shapes_specs = tuple(shapes_specs)
        specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(
            f"symbolic_args_specs: shapes_specs must be a prefix of args. {error}"
        ) from None
    described = []
    for leaf, spec in zip(leaves, specs, strict=True):
        aval = argument_aval(leaf)
        shape = aval.shape if isinstance(aval, ShapedArray) else ()
        dtype = getattr(leaf, "dtype", None) or getattr(aval, "dtype", None)
        shape = symbolic_shape(spec, scope=scope, like=shape)
        described.append(ShapeDtypeStruct(shape, dtype))
    return tree_unflatten(structure, described)
