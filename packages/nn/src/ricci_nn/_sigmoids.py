"""Bounded activations, and activations that multiply elements by gates between 0 and 1."""

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite, dispatched
from ricci_lax.authoring import ElementwiseKernel
from ricci_numpy.authoring import operands, to_inexact

from ._rectifiers import relu6, softplus, typed_composite

__all__ = ["gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "log1mexp"]
__all__ += ["log_sigmoid", "mish", "sigmoid", "silu", "soft_sign", "sparse_sigmoid", "swish"]
__all__ += ["tanh"]


@dispatched()
def sigmoid(x: ArrayLike) -> Array:
    """The logistic function 1 / (1 + exp(-x)).

    Args:
      x: an array of floats or complex numbers.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Raises:
      TypeError: for integers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.sigmoid(np.float32([0.0, 2.0]))
      Array([0.5     , 0.8807...], dtype=float32)

    See also:
      ``log_sigmoid``, which is accurate for small probabilities.
    """
    return lax.logistic(x)


@dispatched()
def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent.

    Args:
      x: an array of floats or complex numbers.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.tanh(np.float32(0.5))
      Array(0.4621..., dtype=float32)
    """
    return jnp.tanh(x)


@composite("sparse_sigmoid")
def _sparse_sigmoid(x: Array) -> Array:
    # Clipped before the sum, which rounds numbers beside 1 to 2.
    return jnp.multiply(0.5, jnp.add(jnp.clip(x, -1.0, 1.0), 1.0))


@dispatched()
def sparse_sigmoid(x: ArrayLike) -> Array:
    """The derivative of ``sparse_plus``: (x + 1) / 2 clipped to [0, 1].

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.sparse_sigmoid(np.float32([-2.0, 0.0, 3.0]))
      Array([0. , 0.5, 1. ], dtype=float32)

    Source: Martins and Astudillo, "From softmax to sparsemax", 2016.
    """
    return _sparse_sigmoid(x)


@lax.custom_jvp
def _over_one_plus_size(x: Array) -> Array:
    return jnp.divide(x, jnp.add(jnp.abs(x), 1))


@_over_one_plus_size.defjvp
def _over_one_plus_size_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,) = primals
    # The quotient rule's 1 / (1 + |x|) - |x| / (1 + |x|)² cancels for large x.
    share = lax.div(lax.full_like(x, 1), jnp.add(jnp.abs(x), 1))
    return _over_one_plus_size(x), lax.mul(tangents[0], lax.mul(share, share))


@composite("soft_sign")
def _soft_sign(x: Array) -> Array:
    return _over_one_plus_size(to_inexact(x, "soft_sign"))


@dispatched()
def soft_sign(x: ArrayLike) -> Array:
    """A smooth form of the sign: x / (|x| + 1).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.soft_sign(np.float32([-1.0, 3.0]))
      Array([-0.5 ,  0.75], dtype=float32)
    """
    return _soft_sign(x)


@composite("log_sigmoid")
def _log_sigmoid(x: Array) -> Array:
    return jnp.negative(softplus(jnp.negative(x)))


@dispatched()
def log_sigmoid(x: ArrayLike) -> Array:
    """The logarithm of the sigmoid, -softplus(-x).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.log_sigmoid(np.float32(0.0))
      Array(-0.6931..., dtype=float32)
    """
    return _log_sigmoid(x)


@composite("hard_tanh")
def _hard_tanh(x: Array) -> Array:
    return jnp.where(jnp.greater(x, 1), 1, jnp.where(jnp.less(x, -1), -1, x))


@dispatched()
def hard_tanh(x: ArrayLike) -> Array:
    """``x`` clipped to [-1, 1], a piecewise linear ``tanh``.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.hard_tanh(np.float32([-3.0, 0.5, 3.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return _hard_tanh(x)


@composite("hard_sigmoid")
def _hard_sigmoid(x: Array) -> Array:
    return jnp.divide(relu6(jnp.add(x, 3.0)), 6.0)


@dispatched()
def hard_sigmoid(x: ArrayLike) -> Array:
    """A piecewise linear sigmoid: relu6(x + 3) / 6.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.hard_sigmoid(np.float32([-5.0, 0.0, 5.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _hard_sigmoid(x)


@lax.custom_jvp
@typed_composite("log1mexp")
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)) for positive ``x``, accurate near 0 and for large ``x``.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.log1mexp(np.float32(1.0))
      Array(-0.4586..., dtype=float32)

    Source: Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    is_near = jnp.less(x, jnp.log(2.0))
    near = jnp.log(jnp.negative(jnp.expm1(jnp.negative(x))))
    far = jnp.log1p(jnp.negative(jnp.exp(jnp.negative(x))))
    return jnp.where(is_near, near, far)


# The derivative exp(-x) / (1 - exp(-x)) is 1 / (exp(x) - 1).
log1mexp.defjvps(lambda g, y, x: jnp.divide(g, jnp.expm1(x)))


@composite("silu")
def _silu(x: Array) -> Array:
    return jnp.multiply(x, sigmoid(x))


@dispatched()
def silu(x: ArrayLike) -> Array:
    """The sigmoid linear unit x · sigmoid(x), also called swish.

    Args:
      x: an array of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: for integers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.silu(np.float32([0.0, 1.0]))
      Array([0.       , 0.7310...], dtype=float32)

    Source: Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units for neural network function
    approximation in reinforcement learning", 2017.
    """
    return _silu(x)


swish = silu


@composite("mish")
def _mish(x: Array) -> Array:
    return jnp.multiply(x, jnp.tanh(softplus(x)))


@dispatched()
def mish(x: ArrayLike) -> Array:
    """x · tanh(softplus(x)).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.mish(np.float32([0.0, 1.0]))
      Array([0.       , 0.8650...], dtype=float32)

    Source: Misra, "Mish: a self regularized non-monotonic activation function", 2019.
    """
    return _mish(x)


@composite("gelu", lower=ElementwiseKernel("gelu"))
def _exact_gelu(x: Array) -> Array:
    root = np.sqrt(0.5).astype(x.dtype)
    # The distribution function is erfc(-x / √2) / 2; 1 + erf(x / √2) would cancel for negative x.
    tail = lax.erfc(jnp.multiply(jnp.negative(x), root))
    return jnp.array(jnp.multiply(jnp.multiply(0.5, x), tail), dtype=x.dtype)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """The Gaussian error linear unit: ``x`` times the normal distribution function of ``x``.

    Args:
      x: an array of real numbers.
      approximate: whether the distribution function is approximated with tanh, which is faster.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    The default is the approximation; the exact form differs from it by less than 0.001. Use the
    form with which the weights were trained.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([-1.0, 0.0, 2.0])
      >>> ricci.nn.gelu(x).round(2)
      Array([-0.16     ,  0.       ,  1.9499999], dtype=float32)
      >>> bool(jnp.allclose(ricci.nn.gelu(x), ricci.nn.gelu(x, approximate=False), atol=1e-3))
      True

    See also:
      ``silu``, ``relu``.

    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
    """
    array: Array = to_inexact(x, "gelu")
    if approximate:
        root = np.sqrt(2 / np.pi).astype(array.dtype)
        inner = jnp.add(array, jnp.multiply(0.044715, lax.integer_pow(array, 3)))
        cdf = jnp.multiply(0.5, jnp.add(1.0, jnp.tanh(jnp.multiply(root, inner))))
        return jnp.multiply(array, cdf)
    return _exact_gelu(array)


@composite("glu")
def _glu(x: Array, *, axis: int) -> Array:
    half = x.shape[axis] // 2
    a, b = lax.split(x, (half, half), axis=axis)
    return jnp.multiply(a, sigmoid(b))


@dispatched("axis")
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The gated linear unit: the first half along an axis times the sigmoid of the second.

    Args:
      x: an array of floats.
      axis: the axis that is split.

    Returns:
      An array of half the size along the axis.

    Raises:
      AssertionError: if the axis has an odd size.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.glu(np.float32([1.0, 2.0, 0.0, 0.0]))
      Array([0.5, 1. ], dtype=float32)

    Source: Dauphin, Fan, Auli and Grangier, "Language modeling with gated convolutional
    networks", 2016.
    """
    array: Array = jnp.asarray(operands("glu", x)[0])
    if array.shape[axis] % 2:
        raise AssertionError(
            f"glu: axis {axis} is split into two equal halves, so its size must be even, but the "
            f"shape is {array.shape}."
        )
    return _glu(array, axis=axis % array.ndim)


@composite("hard_silu")
def _hard_silu(x: Array) -> Array:
    return jnp.multiply(x, hard_sigmoid(x))


@dispatched()
def hard_silu(x: ArrayLike) -> Array:
    """x · hard_sigmoid(x), also called hard swish.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.hard_silu(np.float32([-5.0, 1.5, 5.0]))
      Array([-0.   ,  1.125,  5.   ], dtype=float32)

    Source: Howard et al., "Searching for MobileNetV3", 2019.
    """
    return _hard_silu(x)


hard_swish = hard_silu
