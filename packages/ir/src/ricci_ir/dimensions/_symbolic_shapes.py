"""Symbolic shapes from text."""

from collections.abc import Sequence

from ._expressions import Size
from ._parsing import DimensionParser
from ._scope import SymbolicScope

__all__ = ["symbolic_shape"]


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Size, ...]:
    """The dimensions of a shape that is written as text.

    Args:
      shape_spec: dimensions separated by commas, such as ``"b, 2*c + 1, 3"``. ``"_"`` is the
        dimension of ``like`` at this position, ``"..."`` at the end all remaining ones. ``None`` is
        ``"..."``.
      constraints: constraints for a new scope, such as ``"b >= 2*c"``; see ``SymbolicScope``.
      scope: the scope of the variables, by default a new one.
      like: a shape.

    Returns:
      A tuple of ints and symbolic dimensions.

    Raises:
      ValueError: if the text cannot be parsed or contradicts ``like``, or if both ``scope`` and
        ``constraints`` are given.

    Example:
      >>> from ricci import export
      >>> b, rows = export.symbolic_shape("b, 2*b + 1")
      >>> rows - 2 * b, (4 * b + 2) // 2
      (1, 2*b + 1)
    """
    if shape_spec is not None and not isinstance(shape_spec, str):
        raise ValueError(
            f"symbolic_shape: the shape must be a string, such as 'b, 3', or None; found "
            f"{shape_spec!r}."
        )
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError(
            "symbolic_shape: Cannot specify both a `scope` and `constraints`: the constraints of a "
            "scope are given when it is made, SymbolicScope(constraints)."
        )
    like = None if like is None else (like,) if isinstance(like, int) else tuple(like)
    text = "..." if shape_spec is None else shape_spec
    return DimensionParser(text, scope, "shape").shape(like)
