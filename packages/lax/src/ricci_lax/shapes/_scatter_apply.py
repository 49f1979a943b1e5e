"""``scatter_apply``: a function of the elements at computed positions."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_lax.structure._filling import full
from ricci_lax.structure._operand_types import array_aval, as_sizes

from ._dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from ._scatter import bind_scatter, scatter_p

__all__ = ["scatter_apply"]


_update_programs: ir.TracedFunctions[Any, ir.Jaxpr] = ir.TracedFunctions("applied functions", 64)


def _update_program(func: Callable[[ir.Array], ir.ArrayLike], dtype: ir.DTypeLike) -> ir.Jaxpr:
    """The jaxpr of a function of a scalar, cached by function and dtype."""
    jaxpr = _update_programs.recall(func, dtype)
    if jaxpr is None:
        scalar = ir.ShapedArray((), dtype)
        # A scatter combines an element with an update, which has no meaning here.
        jaxpr = ir.trace_to_jaxpr(lambda x, _: [func(x)], [scalar, scalar])
        if not any(isinstance(const, ir.Tracer) for const in jaxpr.consts):
            _update_programs.put(func, dtype, jaxpr)
    return jaxpr


def scatter_apply(
    operand: ir.ArrayLike,
    scatter_indices: ir.ArrayLike,
    func: Callable[[ir.Array], ir.ArrayLike],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> ir.Array:
    """Apply a function to the elements of parts of an array.

    Args:
      operand: the array to start from; it is not changed.
      scatter_indices: integers; the last dimension holds the components of each position.
      func: a function of a scalar of the operand's dtype; where positions repeat, it is applied
        repeatedly.
      dimension_numbers: which dimension is which.
      update_shape: the shape that updates would have.
      indices_are_sorted, unique_indices, mode: as in ``scatter``.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if the dimension numbers do not fit the shapes.
      ValueError: if ``func`` does not return a scalar of the operand's dtype.
      NotImplementedError: if ``func`` closes over arrays of an enclosing transformation.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> at = jnp.array([[2], [0]])
      >>> x = jnp.array([1, 2, 3])
      >>> lax.scatter_apply(x, at, lambda x: -x, elements, update_shape=(2,)).tolist()
      [-1, 2, -3]

    Source: StableHLO ``scatter``.
    """
    dtype = array_aval(operand).dtype
    jaxpr = _update_program(func, dtype)
    if any(isinstance(const, ir.Tracer) for const in jaxpr.consts):
        raise NotImplementedError(
            "scatter_apply: func closes over arrays of an enclosing jit, grad or vmap. Write it "
            "as a gather, the function, and a scatter."
        )
    result = jaxpr.outvars[0].aval
    if result.shape or result.dtype != dtype:
        raise ValueError(
            f"scatter_apply: func must return a scalar of the operand's dtype {dtype}, and returns "
            f"{result.str_short()}. Convert its result with astype."
        )
    # Only their shape counts: it gives the elements that are read and written.
    updates = full(as_sizes(update_shape), 0, dtype)
    flags = indices_are_sorted, unique_indices
    return bind_scatter(
        scatter_p, operand, scatter_indices, updates, dimension_numbers, *flags, mode, jaxpr
    )
