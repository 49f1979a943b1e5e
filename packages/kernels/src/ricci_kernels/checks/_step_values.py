"""Scalars and index arrays of a kernel that depend on its position alone, for all steps at once.

A jaxpr of positions is an integer program. Its values are NumPy arrays with an axis for each axis
of the grid, behind one for each counted loop around them and ahead of their own dimensions. NumPy's
broadcasting so evaluates an operation for all steps, and a value that does not depend on an axis
has the size 1 along it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

__all__: list[str] = []

_MOST_ELEMENTS = 1 << 18  # of a value; those with more are unknown

# A value for all steps, or ``None`` if it is unknown.
type StepValue = np.ndarray | None


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The quotient of integers rounded towards zero; of a divisor of 0, that of 1."""
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    return (np.sign(x) * np.sign(safe) * (np.abs(x) // np.abs(safe))).astype(x.dtype)


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    return np.fmod(x, safe)


def _exact(primitive: ir.Primitive) -> Callable[..., Any]:
    rule: Any = ir.exact_rules[primitive]
    return rule


# Operations of one element each; by their exact rules, as far as they have some.
_elementwise: dict[ir.Primitive, Callable[..., Any]] = {
    p: _exact(p)
    for p in (
        lax.add_p,
        lax.sub_p,
        lax.mul_p,
        lax.neg_p,
        lax.abs_p,
        lax.square_p,
        lax.eq_p,
        lax.ne_p,
        lax.lt_p,
        lax.le_p,
        lax.gt_p,
        lax.ge_p,
        lax.and_p,
        lax.or_p,
        lax.xor_p,
        lax.not_p,
        lax.select_n_p,
        lax.convert_element_type_p,
        lax.copy_p,
    )
}
_elementwise |= {
    lax.div_p: lambda x, y, **params: _truncated(x, y),
    lax.rem_p: lambda x, y, **params: _remainder(x, y),
    lax.max_p: lambda x, y, **params: np.maximum(x, y),
    lax.min_p: lambda x, y, **params: np.minimum(x, y),
    lax.sign_p: lambda x, **params: np.sign(x),
    lax.clamp_p: lambda low, x, high, **params: np.minimum(np.maximum(low, x), high),
    lax.stop_gradient_p: lambda x, **params: x,
}


def _outer(x: np.ndarray, rank: int) -> tuple[int, ...]:
    """The sizes of a value along the axes of loops and the grid."""
    return x.shape[: x.ndim - rank]


def _broadcast(x: np.ndarray, aval: ir.ShapedArray, params: Mapping[str, Any]) -> np.ndarray:
    shape, dims = params["shape"], params["broadcast_dimensions"]
    outer = _outer(x, len(aval.shape))
    sizes = [1] * len(shape)
    for size, dim in zip(aval.shape, dims, strict=True):
        sizes[dim] = size
    return np.broadcast_to(x.reshape((*outer, *sizes)), (*outer, *shape))


def step_values(eqn: ir.JaxprEqn, operands: Sequence[StepValue]) -> list[StepValue]:
    """Evaluate an equation without references or jaxprs for all steps.

    Args:
      eqn: the equation.
      operands: the values of its operands.

    Returns:
      The values of its results; unknown where an operand is, or the operation is not of integers.
    """
    unknown: list[StepValue] = [None] * len(eqn.outvars)
    avals = [x.aval for x in eqn.invars]
    (*others, out) = [v.aval for v in eqn.outvars] or [None]
    if others or not _is_integral(out) or any(x is None for x in operands):
        return unknown
    values: list[Any] = list(operands)
    if not all(map(_is_integral, avals)):
        return unknown
    shape = np.broadcast_shapes(
        *[_outer(x, len(a.shape)) for x, a in zip(values, avals, strict=True)]
    )
    if np.prod((*shape, *out.shape), dtype=float) > _MOST_ELEMENTS:
        return unknown
    with np.errstate(over="ignore"):
        value = _evaluated(eqn, values, avals, out, shape)
    return unknown if value is None else [value]


def _evaluated(
    eqn: ir.JaxprEqn,
    values: list[Any],
    avals: list[Any],
    out: ir.ShapedArray,
    shape: tuple[int, ...],
) -> StepValue:
    primitive, params = eqn.primitive, eqn.params
    rank = len(out.shape)
    rule = _elementwise.get(primitive)
    if rule is not None:
        # A scalar condition, or a scalar bound, applies to all elements.
        rows = [
            x.reshape((*x.shape, *[1] * (rank - len(a.shape))))
            for x, a in zip(values, avals, strict=True)
        ]
        value = rule(*rows, **params)
        return None if value is NotImplemented else np.asarray(value, out.dtype)
    if primitive is lax.iota_p:
        return np.asarray(_exact(primitive)(**params))
    if primitive is lax.broadcast_in_dim_p and len(values) == 1:
        return _broadcast(values[0], avals[0], params)
    if primitive in (lax.reshape_p, lax.squeeze_p) and len(values) == 1:
        if params.get("dimensions") is not None and primitive is lax.reshape_p:
            return None
        return values[0].reshape((*_outer(values[0], len(avals[0].shape)), *out.shape))
    if primitive is lax.concatenate_p:
        wide = [np.broadcast_to(x, (*shape, *a.shape)) for x, a in zip(values, avals, strict=True)]
        return np.concatenate(wide, params["dimension"] - rank)
    return None


def _is_integral(aval: object) -> bool:
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "iub"


def grid_positions(grid: Sequence[int | None]) -> list[StepValue]:
    """The position of each step along each axis of a grid; unknown along one of unknown size.

    Args:
      grid: the number of steps along each axis.
    """
    rank = len(grid)
    return [
        None
        if size is None
        else np.arange(size, dtype=np.int32).reshape(-1, *[1] * (rank - 1 - axis))
        for axis, size in enumerate(grid)
    ]
