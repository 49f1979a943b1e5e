"""Layer norm and RMS norm by kernels, and their gradients."""

from functools import partial

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp

from ._rows import Rows, map_rows
from ._targets import on_device, varying_alike

__all__ = ["layer_norm", "rms_norm"]


type _Vector = ir.Array | None
type _Residuals = tuple[ir.Array, _Vector, _Vector]


class _Norm(ir.TupleRecord):
    """The parameters of a normalization: whether rows are centered, and the arguments."""

    is_centered: bool
    eps: float
    block_rows: int | None
    interpret: bool | None

    @property
    def name(self) -> str:
        """The kernel's name."""
        return "layer_norm" if self.is_centered else "rms_norm"


def layer_norm(
    x: ir.ArrayLike,
    weight: ir.ArrayLike | None = None,
    bias: ir.ArrayLike | None = None,
    *,
    eps: float = 1e-5,
    block_rows: int | None = None,
    interpret: bool | None = None,
) -> ir.Array:
    """Rows with mean 0 and variance 1, times a weight, plus a bias, by a kernel.

    Args:
      x: an array of floats, of shape (..., n).
      weight, bias: of shape (n,); by default 1 and 0.
      eps: added to the variance.
      block_rows: how many rows one step takes; by default it suits the device.
      interpret: ``True`` interprets the kernel, ``False`` compiles it. By default it is compiled
        for TPUs and NVIDIA GPUs, and interpreted elsewhere.

    Returns:
      An array of the shape and dtype of ``x``, computed in float32 or float64. Its gradients are
      computed by one kernel, too.

    Raises:
      ValueError: if shapes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import ops
      >>> ops.layer_norm(jnp.array([[1.0, 3.0], [5.0, 1.0]]), eps=0.0)
      Array([[-1.,  1.],
             [ 1., -1.]], dtype=float32)

    Source: Ba, Kiros and Hinton, "Layer normalization", 2016.
    """
    return _normalized(_Norm(True, float(eps), block_rows, interpret), x, weight, bias)


def rms_norm(
    x: ir.ArrayLike,
    weight: ir.ArrayLike | None = None,
    bias: ir.ArrayLike | None = None,
    *,
    eps: float = 1e-6,
    block_rows: int | None = None,
    interpret: bool | None = None,
) -> ir.Array:
    """Rows with mean square 1, times a weight, plus a bias, by a kernel.

    Args:
      x: an array of floats, of shape (..., n).
      weight, bias: of shape (n,); by default 1 and 0.
      eps: added to the mean square.
      block_rows, interpret: see ``layer_norm``.

    Returns:
      An array of the shape and dtype of ``x``, computed in float32 or float64. Its gradients are
      computed by one kernel, too.

    Raises:
      ValueError: if shapes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import ops
      >>> ops.rms_norm(jnp.array([[2.0, -2.0]]), jnp.array([3.0, 1.0]), eps=0.0)
      Array([[ 3., -1.]], dtype=float32)

    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.
    """
    return _normalized(_Norm(False, float(eps), block_rows, interpret), x, weight, bias)


def _normalized(
    norm: _Norm, x: ir.ArrayLike, weight: ir.ArrayLike | None, bias: ir.ArrayLike | None
) -> ir.Array:
    x = jnp.asarray(x)
    if not x.ndim:
        raise ValueError(f"{norm.name} takes an array of one dimension or more, got a scalar.")
    size = x.shape[-1]
    vectors = [None if v is None else jnp.asarray(v) for v in (weight, bias)]
    for name, v in zip(("weight", "bias"), vectors, strict=True):
        if v is not None and v.shape != (size,):
            raise ValueError(
                f"{norm.name}: {name} must be of shape {(size,)} for rows of shape {x.shape}, got "
                f"{v.shape}."
            )
    if not x.size:
        return x
    operands = varying_alike(jnp.reshape(x, (-1, size)), *vectors)
    return jnp.reshape(_norm(norm, *operands), x.shape)


def _standardized(
    norm: _Norm, x: ir.Array, inside: ir.Array | None, size: int
) -> tuple[ir.Array, ir.Array]:
    """Normalized rows, and the factor of each row."""
    # Sums over a block are sums over the row, as padding is 0. Centered padding is not 0 any more.
    if norm.is_centered:
        x = x - x.sum(1, keepdims=True) / size
        if inside is not None:
            x = jnp.where(inside, x, jnp.zeros_like(x))
    factor = lax.rsqrt((x * x).sum(1, keepdims=True) / size + norm.eps)
    return x * factor, factor


@partial(lax.custom_vjp, nondiff_argnums=(0,))
def _norm(norm: _Norm, x: ir.Array, weight: _Vector, bias: _Vector) -> ir.Array:
    size = x.shape[1]

    def rows(x: ir.Array, *others: ir.Array) -> list[ir.Array]:
        *vectors, inside = others
        result, _ = _standardized(norm, x, inside, size)
        if weight is not None:
            result = result * vectors[0]
        return [result if bias is None else result + vectors[-1]]

    call = partial(map_rows, Rows(norm.name, rows, [x.dtype]), norm.block_rows)
    vectors = [v for v in (weight, bias) if v is not None]
    return on_device(call, norm.interpret, [x], vectors)[0]


def _forward(
    norm: _Norm, x: ir.Array, weight: _Vector, bias: _Vector
) -> tuple[ir.Array, _Residuals]:
    return _norm(norm, x, weight, bias), (x, weight, bias)


def _backward(
    norm: _Norm, residuals: _Residuals, ct: ir.Array
) -> tuple[ir.Array, _Vector, _Vector]:
    x, weight, bias = residuals
    size = x.shape[1]

    def rows(x: ir.Array, ct: ir.Array, *others: ir.Array) -> list[ir.Array]:
        *vectors, inside = others
        # With the normalized row u and its factor f, the derivative of u is f (I − u uᵀ / n) after
        # the centering I − 1 1ᵀ / n. Both matrices are symmetric, and commute as u has mean 0: the
        # transpose is the same function of the cotangent.
        unit, factor = _standardized(norm, x, inside, size)
        scaled = ct if weight is None else ct * vectors[0]
        change = scaled - unit * ((scaled * unit).sum(1, keepdims=True) / size)
        if norm.is_centered:
            change = change - scaled.sum(1, keepdims=True) / size
        sums = [*([] if weight is None else [ct * unit]), *([] if bias is None else [ct])]
        return [change * factor, *sums]

    count = (weight is not None) + (bias is not None)
    spec = Rows(f"{norm.name}_backward", rows, [x.dtype], count)
    call = partial(map_rows, spec, norm.block_rows)
    vectors = [] if weight is None else [weight]
    d_x, *sums = on_device(call, norm.interpret, [x, ct], vectors)
    remaining = iter(sums)
    d_weight, d_bias = (
        None if v is None else next(remaining).astype(v.dtype) for v in (weight, bias)
    )
    return d_x, d_weight, d_bias


_norm.defvjp(_forward, _backward)
