"""Copies, and identity operations that matter to transformations and to the compiler."""

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, linear, not_linear, zero_derivative
from ricci_batching import elementwise
from ricci_pytree import tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value, tensor_type

from . import _exact_rules as exact

__all__ = ["copy_p", "optimization_barrier", "optimization_barrier_p", "stop_gradient"]
__all__ += ["stop_gradient_p"]


stop_gradient_p: ir.Primitive = ir.define(
    "stop_gradient",
    sharding=ir.by_element,
    abstract_eval=lambda x: x,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=elementwise,
    lower=lambda ctx, x: x,
)


def stop_gradient[T](x: T) -> T:
    """The value itself, without derivatives.

    Args:
      x: a pytree of arrays; other leaves are unchanged.

    Returns:
      A pytree of the same values. Its tangents are zero, and so are the cotangents of ``x``.

    Example:
      A target that moves with the parameters, but is not differentiated:

      >>> import ricci
      >>> from ricci import lax
      >>> def loss(w):
      ...     target = lax.stop_gradient(w * 2.0)
      ...     return (w - target) ** 2
      >>> float(ricci.grad(loss)(3.0))
      -6.0

      A rounding whose derivative is that of the identity (a straight-through estimator):

      >>> import ricci.numpy as jnp
      >>> rounded = lambda x: x + lax.stop_gradient(jnp.round(x) - x)
      >>> float(rounded(2.7)), float(ricci.grad(rounded)(2.7))
      (3.0, 1.0)
    """
    leaves, tree = tree_flatten(x)
    for leaf in leaves:
        ir.get_aval(leaf)
    results = [stop_gradient_p.bind(y) if isinstance(y, ir.Tracer) else y for y in leaves]
    return tree_unflatten(tree, results)


def _barrier_jvp(primals, tangents):
    results = optimization_barrier_p.bind(*primals)
    nonzeros = [t for t in tangents if type(t) is not Zero]
    barred = iter(optimization_barrier_p.bind(*nonzeros) if nonzeros else ())
    return results, [t if type(t) is Zero else next(barred) for t in tangents]


def _barrier_transpose(cts, *args):
    nonzeros = [ct for ct in cts if type(ct) is not Zero]
    barred = iter(optimization_barrier_p.bind(*nonzeros))
    return [None if type(ct) is Zero else next(barred) for ct in cts]


def lower_barrier(ctx: Lowering, *operands: Value) -> list[Value]:
    """Write ``stablehlo.optimization_barrier``."""
    if not operands:
        return []
    names = ", ".join(map(str, operands))
    types = ", ".join(tensor_type(x.aval) for x in operands)
    outs = [x.aval for x in operands]
    return ctx.append("stablehlo.optimization_barrier", f" {names}", outs, types)


optimization_barrier_p: ir.Primitive = ir.define(
    "optimization_barrier",
    sharding=ir.each_its_own,
    abstract_eval=lambda *avals: list(avals),
    multiple_results=True,
    jvp=_barrier_jvp,
    transpose=_barrier_transpose,
    batch=lambda axis, args, dims: (optimization_barrier_p.bind(*args), dims),
    lower=lower_barrier,
    memory=lambda on_host: tuple(on_host),
)


def optimization_barrier(operand: ir.PyTree, /) -> ir.PyTree:
    """The same values; the compiler computes all of them before it uses any.

    Args:
      operand: a pytree of arrays.

    Returns:
      The pytree. The compiler does not move operations across the barrier, nor fuse or merge
      those before it with those after.

    Example:
      >>> from ricci import lax
      >>> [float(x) for x in lax.optimization_barrier((1.0, 2.0))]
      [1.0, 2.0]

    See also:
      ``checkpoint``, which puts one around its recomputation.
    """
    leaves, tree = tree_flatten(operand)
    return tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


copy_p: ir.Primitive = ir.define(
    "copy",
    sharding=ir.by_element,
    sums=ir.linear_in_all,
    abstract_eval=lambda x: x,
    jvp=linear,
    transpose=lambda ct, x: [copy_p.bind(ct)],
    batch=elementwise,
    lower=lambda ctx, x: x,
    exact=exact.elementwise(np.copy),
)
