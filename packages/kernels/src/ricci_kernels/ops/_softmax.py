"""Softmax by a kernel, and its gradient."""

from functools import partial

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp

from ._rows import Rows, map_rows
from ._targets import on_device

__all__ = ["softmax"]


class _Softmax(ir.TupleRecord):
    block_rows: int | None
    interpret: bool | None


def softmax(
    x: ir.ArrayLike, *, axis: int = -1, block_rows: int | None = None, interpret: bool | None = None
) -> ir.Array:
    """Exponentials that sum up to 1 along an axis, by a kernel that reads and writes each row once.

    Args:
      x: an array of floats.
      axis: the axis; a row along it is a part of one block.
      block_rows: how many rows one step takes; by default it suits the device.
      interpret: ``True`` interprets the kernel, ``False`` compiles it. By default it is compiled
        for TPUs and NVIDIA GPUs, and interpreted elsewhere.

    Returns:
      An array of the shape and dtype of ``x``, computed in float32 or float64. Its gradient is
      computed by a kernel, too.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import ops
      >>> ops.softmax(jnp.array([[0.0, 0.0], [1.0, 1.0]]))
      Array([[0.5, 0.5],
             [0.5, 0.5]], dtype=float32)
    """
    x = jnp.moveaxis(jnp.asarray(x), axis, -1)
    if not x.size:
        return jnp.moveaxis(x, -1, axis)
    result = _softmax(_Softmax(block_rows, interpret), jnp.reshape(x, (-1, x.shape[-1])))
    return jnp.moveaxis(jnp.reshape(result, x.shape), -1, axis)


@partial(lax.custom_vjp, nondiff_argnums=(0,))
def _softmax(params: _Softmax, x: ir.Array) -> ir.Array:
    def rows(x: ir.Array, inside: ir.Array | None) -> list[ir.Array]:
        # Padding is −∞, whose weight is 0, instead of the 0 that blocks are filled with.
        if inside is not None:
            x = jnp.where(inside, x, jnp.full_like(x, -jnp.inf))
        weights = lax.exp(x - x.max(1, keepdims=True))
        return [weights / weights.sum(1, keepdims=True)]

    call = partial(map_rows, Rows("softmax", rows, [x.dtype]), params.block_rows)
    return on_device(call, params.interpret, [x], [])[0]


def _forward(params: _Softmax, x: ir.Array) -> tuple[ir.Array, ir.Array]:
    weights = _softmax(params, x)
    return weights, weights


def _backward(params: _Softmax, weights: ir.Array, ct: ir.Array) -> tuple[ir.Array]:
    def rows(weights: ir.Array, ct: ir.Array, _: object) -> list[ir.Array]:
        # The derivative of weight i by logit j is w_i (δ_ij − w_j). In terms of the result alone,
        # so that the input is not a residual.
        return [weights * (ct - (weights * ct).sum(1, keepdims=True))]

    call = partial(map_rows, Rows("softmax_backward", rows, [ct.dtype]), params.block_rows)
    return (on_device(call, params.interpret, [weights, ct], [])[0],)


_softmax.defvjp(_forward, _backward)
