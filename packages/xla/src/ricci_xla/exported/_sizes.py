"""Values of the symbolic dimensions of an exported function in a call."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import found_dimensions, is_static_shape, is_symbolic_dim

__all__ = ["sizes_of_call", "with_sizes"]


def sizes_of_call(
    names: Sequence[str], avals: Sequence[Any], shapes: Sequence[tuple[Any, ...]]
) -> dict[str, Any] | None:
    """Solve for the dimension variables of an exported function in a call.

    Args:
      names, avals: the name and the exported type of each argument.
      shapes: the shape of each argument of the call. Its sizes may be symbolic themselves.

    Returns:
      The values by name; ``None`` if no size is symbolic.

    Raises:
      ValueError: if the shapes do not fit.
    """
    expected = [getattr(aval, "shape", ()) for aval in avals]
    if all(map(is_static_shape, expected)):
        return None
    return found_dimensions(list(zip(names, expected, strict=True)), shapes)


def with_sizes(aval: Any, values: dict[str, Any] | None) -> Any:
    """Substitute values for the dimension variables of a type."""
    if values is None or is_static_shape(getattr(aval, "shape", ())):
        return aval
    sizes = (size.evaluate(values) if is_symbolic_dim(size) else size for size in aval.shape)
    return aval.update(shape=tuple(sizes))
