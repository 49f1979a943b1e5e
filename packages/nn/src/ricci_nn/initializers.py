"""Initializers: functions of a key, a shape and a dtype that return a layer's initial weights."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
import ricci_random as random
from ricci_lax.authoring import as_sizes, with_out_sharding

__all__ = ["Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform"]
__all__ += ["he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal"]
__all__ += ["lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform"]
__all__ += ["variance_scaling", "xavier_normal", "xavier_uniform", "zeros"]

__dir__: Callable[[], list[str]] = partial(ir.public_names, globals())

type Axes = int | Sequence[int]
type Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
type Distribution = Literal["truncated_normal", "normal", "uniform"]


@runtime_checkable
class Initializer(Protocol):
    """Function ``init(key, shape, dtype, out_sharding)`` that returns a layer's weights."""

    def __call__(
        self,
        key: ir.ArrayLike,
        shape: Sequence[int],
        dtype: ir.DTypeLike | None = None,
        out_sharding: object = None,
    ) -> ir.Array: ...


class ScaledInitializer(Protocol):
    """A named configuration of ``variance_scaling``, such as ``he_normal``."""

    def __call__(
        self,
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: ir.DTypeLike | None = None,
    ) -> Initializer: ...


type _Draw = Callable[[ir.ArrayLike, Sequence[int], np.dtype], ir.Array]


def _initializer(default: ir.DTypeLike | None) -> Callable[[_Draw], Initializer]:
    """Decorate a function that draws weights: add a default dtype and a sharding."""

    def decorate(draw: _Draw) -> Initializer:
        def init(
            key: ir.ArrayLike,
            shape: Sequence[int],
            dtype: ir.DTypeLike | None = None,
            out_sharding: object = None,
        ) -> ir.Array:
            result_dtype = ir.explicit_dtype(default if dtype is None else dtype)
            return with_out_sharding(draw(key, shape, result_dtype), out_sharding)

        return init

    return decorate


def zeros(
    key: ir.ArrayLike | None,
    shape: Sequence[int],
    dtype: ir.DTypeLike | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """Initialize with zeros; the key is not used.

    Args:
      key: not used.
      shape, dtype, out_sharding: of the result.

    Returns:
      An array of that shape, by default of the default float dtype.

    Example:
      >>> from ricci.nn import initializers
      >>> initializers.zeros(None, (2,))
      Array([0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, ir.explicit_dtype(dtype), out_sharding=out_sharding)


def ones(
    key: ir.ArrayLike | None,
    shape: Sequence[int],
    dtype: ir.DTypeLike | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """Initialize with ones; the key is not used.

    Args:
      key: not used.
      shape, dtype, out_sharding: of the result.

    Returns:
      An array of that shape, by default of the default float dtype.

    Example:
      >>> from ricci.nn import initializers
      >>> initializers.ones(None, (2,))
      Array([1., 1.], dtype=float32)
    """
    return jnp.ones(shape, ir.explicit_dtype(dtype), out_sharding=out_sharding)


def constant(value: ir.ArrayLike, dtype: ir.DTypeLike | None = None) -> Initializer:
    """An initializer that broadcasts a value to the shape.

    Args:
      value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype if the initializer is called without one; by default the default float one.

    Returns:
      An ``Initializer``.

    Example:
      >>> from ricci.nn import initializers
      >>> initializers.constant(7.0)(None, (2,))
      Array([7., 7.], dtype=float32)
    """
    return _initializer(dtype)(lambda key, shape, dtype: jnp.full(shape, value, dtype))


def uniform(scale: ir.ArrayLike = 1e-2, dtype: ir.DTypeLike | None = None) -> Initializer:
    """An initializer that draws numbers uniform in [0, scale).

    Args:
      scale: the upper bound.
      dtype: the dtype if the initializer is called without one; by default the default float one.

    Returns:
      An ``Initializer``.

    Example:
      >>> import ricci
      >>> from ricci.nn import initializers
      >>> initializers.uniform(10.0)(ricci.random.key(0), (2,))
      Array([9.4766..., 9.7857...], dtype=float32)
    """

    @_initializer(dtype)
    def init(key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype) -> ir.Array:
        x = random.uniform(key, shape, dtype)
        return jnp.multiply(x, jnp.asarray(scale, dtype))

    return init


def normal(stddev: ir.ArrayLike = 1e-2, dtype: ir.DTypeLike | None = None) -> Initializer:
    """An initializer that draws normal numbers of mean 0.

    Args:
      stddev: the standard deviation.
      dtype: the dtype if the initializer is called without one; by default the default float one.

    Returns:
      An ``Initializer``.

    Example:
      >>> import ricci
      >>> from ricci.nn import initializers
      >>> initializers.normal(1.0)(ricci.random.key(0), (2,))
      Array([1.6226..., 2.0252...], dtype=float32)
    """

    @_initializer(dtype)
    def init(key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype) -> ir.Array:
        return _scaled_normal(key, shape, dtype, jnp.asarray(stddev, dtype))

    return init


def _scaled_normal(
    key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype, stddev: ir.ArrayLike
) -> ir.Array:
    """Normal numbers times a standard deviation; real ones are multiplied, and rounded, once."""
    if ir.issubdtype(dtype, np.complexfloating):
        return jnp.multiply(random.normal(key, shape, dtype), stddev)
    info = jnp.finfo(dtype)
    # As in ``random.normal``: the inverse of erf is infinite at the ends.
    above_minus_one = ir.exact_scalar(float(info.eps) / 2 - 1, dtype)
    u = random.uniform(key, shape, dtype, above_minus_one, 1.0)
    factor = jnp.multiply(ir.exact_scalar(np.sqrt(2), dtype), stddev)
    return jnp.multiply(factor, lax.erf_inv(u))


def truncated_normal(
    stddev: ir.ArrayLike = 1e-2,
    dtype: ir.DTypeLike | None = None,
    lower: ir.ArrayLike = -2.0,
    upper: ir.ArrayLike = 2.0,
) -> Initializer:
    """An initializer that draws truncated normal numbers.

    Args:
      stddev: the standard deviation of the normal distribution before it is truncated.
      dtype: the dtype if the initializer is called without one; by default the default float one.
      lower, upper: the bounds, in standard deviations.

    Returns:
      An ``Initializer``.

    Example:
      >>> import ricci
      >>> from ricci.nn import initializers
      >>> initializers.truncated_normal(1.0)(ricci.random.key(0), (2,)).shape
      (2,)
    """

    @_initializer(dtype)
    def init(key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype) -> ir.Array:
        x = random.truncated_normal(key, lower, upper, shape, dtype)
        return jnp.multiply(x, jnp.asarray(stddev, dtype))

    return init


def _product(shape: Sequence[int], axes: Axes) -> int:
    """The product of the sizes of axes."""
    return shape[axes] if isinstance(axes, int) else prod(shape[a] for a in axes)


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """The fan-in (inputs of an output) and the fan-out (outputs of an input)."""
    if len(shape) <= 1 and (in_axis, out_axis) == (-2, -1):
        raise ValueError(
            f"variance_scaling: weights of rank {len(shape)} do not show which axes are inputs and "
            "outputs. Give a shape of rank 2 or more, or in_axis and out_axis."
        )
    ins, outs = _product(shape, in_axis), _product(shape, out_axis)
    # The other axes are those of a convolution's window: each of its elements is an input.
    window = prod(shape) / ins / outs / _product(shape, batch_axis)
    return ins * window, outs * window


def _complex_disc(
    key: ir.ArrayLike, shape: ir.Shape, dtype: np.dtype, radius_of: Callable[[ir.Array], ir.Array]
) -> ir.Array:
    """Complex numbers of uniform angle; ``radius_of`` maps a uniform number to the radius."""
    part = np.dtype(f"float{np.dtype(dtype).itemsize * 4}")
    key_r, key_theta = random.split(key)
    radius = radius_of(random.uniform(key_r, shape, part))
    angle = random.uniform(key_theta, shape, part).astype(dtype)
    turn = jnp.multiply(ir.exact_scalar(2 * np.pi, dtype), angle)
    return jnp.multiply(
        radius.astype(dtype), jnp.exp(jnp.multiply(ir.exact_scalar(1j, dtype), turn))
    )


def _complex_uniform(key: ir.ArrayLike, shape: ir.Shape, dtype: np.dtype) -> ir.Array:
    """Complex numbers uniform in the disc of radius sqrt(2), whose variance is 1."""
    # The area within a radius grows with its square, which is therefore uniform.
    return _complex_disc(key, shape, dtype, lambda u: jnp.sqrt(jnp.multiply(2, u)))


def _complex_truncated_normal(
    key: ir.ArrayLike, upper: float, shape: ir.Shape, dtype: np.dtype
) -> ir.Array:
    """Complex normal numbers of variance 1, truncated to the disc of radius ``upper``."""

    def radius(u: ir.Array) -> ir.Array:
        # The squared radius of a complex normal number is exponential; this inverts its truncation.
        one = ir.exact_scalar(1, dtype)
        cut = jnp.subtract(one, jnp.exp(ir.exact_scalar(-(upper**2), dtype)))
        u = jnp.subtract(one, jnp.multiply(cut, u.astype(dtype)))
        return jnp.sqrt(jnp.negative(jnp.log(u)))

    return _complex_disc(key, shape, dtype, radius)


# The standard deviations of the standard normal distributions truncated at ±2, and of the complex
# one truncated to the disc of radius 2.
_CUT_STDDEV = 0.87962566103423978
_CUT_STDDEV_COMPLEX = 0.95311164380491208


def variance_scaling(
    scale: float | np.number[Any],
    mode: Mode,
    distribution: Distribution,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: ir.DTypeLike | None = None,
) -> Initializer:
    """An initializer of variance ``scale`` over the fan-in or fan-out of the layer.

    Args:
      scale: the numerator of the variance.
      mode: the denominator of the variance: ``"fan_in"`` (the number of inputs of an output),
        ``"fan_out"`` (the number of outputs of an input), or their arithmetic mean ``"fan_avg"``
        or geometric mean ``"fan_geo_avg"``.
      distribution: the distribution of the weights, whose mean is 0.
      in_axis, out_axis: the axes of a layer's inputs and outputs.
      batch_axis: axes that are neither, nor part of a window.
      dtype: the dtype if the initializer is called without one; by default the default float one.

    Returns:
      An ``Initializer``.

    Raises:
      ValueError: if the mode or the distribution is unknown, or an axis is out of bounds.

    Example:
      >>> import ricci
      >>> from ricci.nn import initializers
      >>> init = initializers.variance_scaling(1.0, "fan_avg", "uniform")
      >>> init(ricci.random.key(0), (2, 3)).shape
      (2, 3)

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010.
    """

    @_initializer(dtype)
    def init(key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype) -> ir.Array:
        sizes = as_sizes(shape)
        fan_in, fan_out = _fans(sizes, in_axis, out_axis, batch_axis) if prod(sizes) else (1, 1)
        match mode:
            case "fan_in":
                denominator = fan_in
            case "fan_out":
                denominator = fan_out
            case "fan_avg":
                denominator = (fan_in + fan_out) / 2
            case "fan_geo_avg":
                denominator = (fan_in * fan_out) ** 0.5
            case _:
                raise ValueError(
                    f"variance_scaling: mode={mode!r} is unknown; it is 'fan_in', 'fan_out', "
                    "'fan_avg' or 'fan_geo_avg'."
                )
        variance = ir.exact_scalar(scale / denominator, dtype)
        is_complex = ir.issubdtype(dtype, np.complexfloating)
        match distribution:
            case "normal":
                result = _scaled_normal(key, sizes, dtype, jnp.sqrt(variance))
            case "uniform" if is_complex:
                x = _complex_uniform(key, sizes, dtype)
                result = jnp.multiply(x, jnp.sqrt(variance))
            case "uniform":
                x = random.uniform(key, sizes, dtype, -1)
                # Numbers uniform in [-a, a) have variance a² / 3.
                three = ir.exact_scalar(3, dtype)
                result = jnp.multiply(x, jnp.sqrt(jnp.multiply(three, variance)))
            case "truncated_normal":
                # Truncation reduces the standard deviation, which is divided out.
                cut = ir.exact_scalar(_CUT_STDDEV_COMPLEX if is_complex else _CUT_STDDEV, dtype)
                stddev = jnp.divide(jnp.sqrt(variance), cut)
                if is_complex:
                    x = _complex_truncated_normal(key, 2, sizes, dtype)
                else:
                    x = random.truncated_normal(key, -2, 2, sizes, dtype)
                result = jnp.multiply(x, stddev)
            case _:
                raise ValueError(
                    f"variance_scaling: distribution={distribution!r} is unknown; it is "
                    "'truncated_normal', 'normal' or 'uniform'."
                )
        return result

    return init


def _scaled(
    scale: float, mode: Mode, distribution: Distribution, name: str, summary: str, source: str
) -> ScaledInitializer:
    """A named configuration of ``variance_scaling``, with its documentation."""

    def initializer(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: ir.DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = (
        f"{summary}\n\nArgs:\n  in_axis, out_axis, batch_axis, dtype: as for "
        f"``variance_scaling``.\n\nReturns:\n  An ``Initializer``.\n\nExample:\n"
        f"  >>> import ricci\n  >>> init = ricci.nn.initializers.{name}()\n"
        f"  >>> init(ricci.random.key(0), (2, 3)).shape\n  (2, 3)\n\nSource: {source}"
    )
    return initializer


_GLOROT = (
    'Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural\n'
    'networks", 2010.'
)
_LECUN = 'LeCun, Bottou, Orr and Müller, "Efficient backprop", 1998.'
_HE = 'He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015.'

glorot_uniform: ScaledInitializer = _scaled(
    1.0, "fan_avg", "uniform", "glorot_uniform",
    "Uniform weights of variance 2 / (inputs + outputs).", _GLOROT,
)  # fmt: skip
glorot_normal: ScaledInitializer = _scaled(
    1.0, "fan_avg", "truncated_normal", "glorot_normal",
    "Truncated normal weights of variance 2 / (inputs + outputs).", _GLOROT,
)  # fmt: skip
lecun_uniform: ScaledInitializer = _scaled(
    1.0, "fan_in", "uniform", "lecun_uniform",
    "Uniform weights of variance 1 / inputs.", _LECUN,
)  # fmt: skip
lecun_normal: ScaledInitializer = _scaled(
    1.0, "fan_in", "truncated_normal", "lecun_normal",
    "Truncated normal weights of variance 1 / inputs.", _LECUN,
)  # fmt: skip
he_uniform: ScaledInitializer = _scaled(
    2.0, "fan_in", "uniform", "he_uniform",
    "Uniform weights of variance 2 / inputs, for ``relu``.", _HE,
)  # fmt: skip
he_normal: ScaledInitializer = _scaled(
    2.0, "fan_in", "truncated_normal", "he_normal",
    "Truncated normal weights of variance 2 / inputs, for ``relu``.", _HE,
)  # fmt: skip
xavier_uniform: ScaledInitializer = glorot_uniform
xavier_normal: ScaledInitializer = glorot_normal
kaiming_uniform: ScaledInitializer = he_uniform
kaiming_normal: ScaledInitializer = he_normal


def orthogonal(
    scale: ir.ArrayLike = 1.0, column_axis: int = -1, dtype: ir.DTypeLike | None = None
) -> Initializer:
    """An initializer that draws orthogonal matrices, uniform by Haar's measure.

    If they are not square, their columns are orthonormal, or their rows if there are fewer rows.

    Args:
      scale: the factor of the matrices.
      column_axis: the axis of the matrix's columns; the other axes together are its rows.
      dtype: the dtype if the initializer is called without one; by default the default float one.

    Returns:
      An ``Initializer``.

    Raises:
      ValueError: if the shape has fewer than two dimensions.

    Example:
      >>> import ricci
      >>> from ricci.nn import initializers
      >>> initializers.orthogonal()(ricci.random.key(0), (3, 2)).shape
      (3, 2)

    Source: Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of learning
    in deep linear neural networks", 2013.
    """

    @_initializer(dtype)
    def init(key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype) -> ir.Array:
        sizes = as_sizes(shape)
        if len(sizes) < 2:
            raise ValueError(f"orthogonal: the shape must have at least two sizes, got {sizes}.")
        columns = sizes[column_axis]
        other_sizes = list(sizes)
        del other_sizes[column_axis]
        rows = prod(other_sizes)
        x = random.normal(key, (max(rows, columns), min(rows, columns)), dtype)
        q, r = jnp.linalg.qr(x)
        # Q itself is not uniform; multiplied by the signs of R's diagonal, it is. See
        # Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
        q = jnp.multiply(q, lax.expand_dims(lax.sign(jnp.diagonal(r)), (0,)))
        if columns > rows:
            q = q.T
        q = jnp.reshape(jnp.transpose(q), (columns, *other_sizes))
        q = jnp.moveaxis(q, 0, column_axis)
        return jnp.multiply(jnp.asarray(scale, dtype), q)

    return init


def delta_orthogonal(
    scale: ir.ArrayLike = 1.0, column_axis: int = -1, dtype: ir.DTypeLike | None = None
) -> Initializer:
    """An initializer for convolutions: an orthogonal matrix at the window's centre, 0 elsewhere.

    Args:
      scale: the factor of the matrix.
      column_axis: the axis of the matrix's columns.
      dtype: the dtype if the initializer is called without one; by default the default float one.

    Returns:
      An ``Initializer``, of shapes with three to five dimensions.

    Raises:
      ValueError: if the shape is not that of a convolution over 1 to 3 dimensions, or has more
        inputs than outputs.

    Example:
      >>> import ricci
      >>> from ricci.nn import initializers
      >>> initializers.delta_orthogonal()(ricci.random.key(0), (3, 2, 2)).shape
      (3, 2, 2)

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.
    """

    @_initializer(dtype)
    def init(key: ir.ArrayLike, shape: Sequence[int], dtype: np.dtype) -> ir.Array:
        sizes = as_sizes(shape)
        if len(sizes) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: the shape must have 3, 4 or 5 sizes, got {sizes}.")
        if sizes[-1] < sizes[-2]:
            raise ValueError(
                "delta_orthogonal: there must not be more inputs than outputs, but the shape "
                f"{sizes} has {sizes[-2]} and {sizes[-1]}."
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, sizes[-2:])
        before = [(n - 1) // 2 for n in sizes[:-2]]
        padding = [(b, n - 1 - b, 0) for b, n in zip(before, sizes[:-2], strict=True)]
        matrix = lax.expand_dims(matrix, tuple(range(len(padding))))
        padded = lax.pad(matrix, ir.exact_scalar(0, dtype), [*padding, (0, 0, 0), (0, 0, 0)])
        return padded

    return init
