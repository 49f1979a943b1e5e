"""Initializers: functions of a key, a shape and a dtype that give a layer's first weights."""

from collections.abc import Sequence
from math import prod
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
import ricci_random as random
from ricci_ir import explicit_dtype, issubdtype
from ricci_lax.authoring import as_sizes, placement

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """What initializers are: ``init(key, shape, dtype, out_sharding) -> array``."""

    def __call__(
        self, key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None
    ) -> Any: ...


def _placed(x: Any, out_sharding: Any) -> Any:
    return x if out_sharding is None else placement.constrain(x, out_sharding)


def zeros(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros; the key is not used.

    Example:
      >>> zeros(None, (2,))
      Array([0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, explicit_dtype(dtype), out_sharding=out_sharding)


def ones(key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones; the key is not used.

    Example:
      >>> ones(None, (2,))
      Array([1., 1.], dtype=float32)
    """
    return jnp.ones(shape, explicit_dtype(dtype), out_sharding=out_sharding)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that gives a value, repeated to the shape.

    Args:
      value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype where the call gives none, by default the default float one.

    Example:
      >>> constant(7.0)(None, (2,))
      Array([7., 7.], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        return _placed(jnp.full(shape, value, found), out_sharding)

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that gives numbers uniform in [0, scale).

    Args:
      scale: the upper bound.
      dtype: the dtype where the call gives none, by default the default float one.

    Example:
      >>> uniform(10.0)(random.PRNGKey(0), (2,))
      Array([9.4766..., 9.7857...], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        x = random.uniform(key, shape, found)
        return _placed(jnp.multiply(x, jnp.asarray(scale, found)), out_sharding)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that gives normal numbers of mean 0.

    Args:
      stddev: their standard deviation.
      dtype: the dtype where the call gives none, by default the default float one.

    Example:
      >>> normal(1.0)(random.PRNGKey(0), (2,))
      Array([1.6226..., 2.0252...], dtype=float32)
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        x = random.normal(key, shape, found)
        return _placed(jnp.multiply(x, jnp.asarray(stddev, found)), out_sharding)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer that gives normal numbers of mean 0, none beyond given bounds.

    Args:
      stddev: the standard deviation of the distribution before it is cut.
      dtype: the dtype where the call gives none, by default the default float one.
      lower, upper: where it is cut, in standard deviations.

    Example:
      >>> truncated_normal(1.0)(random.PRNGKey(0), (2,)).shape
      (2,)
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        x = random.truncated_normal(key, lower, upper, shape, found)
        return _placed(jnp.multiply(x, jnp.asarray(stddev, found)), out_sharding)

    return init


def _product(shape: Sequence[int], axes: Axes) -> int:
    return shape[axes] if isinstance(axes, int) else prod(shape[a] for a in axes)


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """How many inputs each unit has, and how many outputs each input reaches."""
    if len(shape) <= 1 and (in_axis, out_axis) == (-2, -1):
        raise ValueError(
            f"variance_scaling: weights of rank {len(shape)} do not show which axes are inputs and "
            "outputs. Give a shape of 2 dimensions or more, or in_axis and out_axis."
        )
    ins, outs = _product(shape, in_axis), _product(shape, out_axis)
    # Other dimensions are those of a convolution's window, which all units share.
    window = prod(shape) / ins / outs / _product(shape, batch_axis)
    return ins * window, outs * window


def _complex_disc(key: Any, shape: Sequence[int], dtype: Any, radius_of: Any) -> Any:
    """Complex numbers of uniform angle, whose radius a function makes of a uniform number."""
    part = np.dtype(f"float{np.dtype(dtype).itemsize * 4}")
    key_r, key_theta = random.split(key)
    radius = radius_of(random.uniform(key_r, shape, part))
    angle = random.uniform(key_theta, shape, part).astype(dtype)
    turn = jnp.multiply(np.array(2 * np.pi, dtype)[()], angle)
    return jnp.multiply(radius.astype(dtype), jnp.exp(jnp.multiply(np.array(1j, dtype)[()], turn)))


def _complex_uniform(key: Any, shape: Sequence[int], dtype: Any) -> Any:
    return _complex_disc(key, shape, dtype, lambda u: jnp.sqrt(jnp.multiply(2, u)))


def _complex_truncated_normal(key: Any, upper: float, shape: Sequence[int], dtype: Any) -> Any:
    def radius(u):
        one = np.array(1, dtype)[()]
        cut = jnp.subtract(one, jnp.exp(np.array(-(upper**2), dtype)[()]))
        u = jnp.subtract(one, jnp.multiply(cut, u.astype(dtype)))
        return jnp.sqrt(jnp.negative(jnp.log(u)))

    return _complex_disc(key, shape, dtype, radius)


# The standard deviation of a standard normal distribution cut at ±2, real and complex.
_CUT_STDDEV = 0.87962566103423978
_CUT_STDDEV_COMPLEX = 0.95311164380491208


def variance_scaling(
    scale: Any,
    mode: Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"],
    distribution: Literal["truncated_normal", "normal", "uniform"],
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer whose variance is ``scale`` divided by a layer's number of inputs or outputs.

    Args:
      scale: the variance's numerator.
      mode: its denominator: ``"fan_in"``, ``"fan_out"``, or their arithmetic or geometric mean.
      distribution: of the numbers, whose mean is 0.
      in_axis, out_axis: the axes of a layer's inputs and outputs.
      batch_axis: axes that count for neither.
      dtype: the dtype where the call gives none, by default the default float one.

    Raises:
      ValueError: if the mode or the distribution is unknown, or the shape has no such axes.

    Example:
      >>> init = variance_scaling(1.0, "fan_avg", "uniform")
      >>> init(random.PRNGKey(0), (2, 3)).shape
      (2, 3)

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010.
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        shape = as_sizes(shape)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis) if prod(shape) else (1, 1)
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
        variance = np.array(scale / denominator, found)[()]
        is_complex = issubdtype(found, np.complexfloating)
        match distribution:
            case "normal":
                x = random.normal(key, shape, found)
                result = jnp.multiply(x, jnp.sqrt(variance))
            case "uniform" if is_complex:
                x = _complex_uniform(key, shape, found)
                result = jnp.multiply(x, jnp.sqrt(variance))
            case "uniform":
                x = random.uniform(key, shape, found, -1)
                three = np.array(3, found)[()]
                result = jnp.multiply(x, jnp.sqrt(jnp.multiply(three, variance)))
            case "truncated_normal":
                cut = np.array(_CUT_STDDEV_COMPLEX if is_complex else _CUT_STDDEV, found)[()]
                stddev = jnp.divide(jnp.sqrt(variance), cut)
                if is_complex:
                    x = _complex_truncated_normal(key, 2, shape, found)
                else:
                    x = random.truncated_normal(key, -2, 2, shape, found)
                result = jnp.multiply(x, stddev)
            case _:
                raise ValueError(
                    f"variance_scaling: distribution={distribution!r} is unknown; it is "
                    "'truncated_normal', 'normal' or 'uniform'."
                )
        return _placed(result, out_sharding)

    return init


def _scaled(
    scale: float, mode: Any, distribution: Any, name: str, summary: str, source: str
) -> Any:
    """One of the named settings of ``variance_scaling``."""

    def initializer(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = (
        f"{summary}\n\nArgs:\n  in_axis, out_axis, batch_axis, dtype: as for "
        f"``variance_scaling``.\n\nExample:\n  >>> {name}()(random.PRNGKey(0), (2, 3)).shape\n"
        f"  (2, 3)\n\nSource: {source}"
    )
    return initializer


_GLOROT = (
    'Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural\n'
    'networks", 2010.'
)
_LECUN = 'LeCun, Bottou, Orr and Müller, "Efficient backprop", 1998.'
_HE = 'He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015.'

glorot_uniform = _scaled(
    1.0, "fan_avg", "uniform", "glorot_uniform",
    "Uniform weights of variance 2 / (inputs + outputs).", _GLOROT,
)  # fmt: skip
glorot_normal = _scaled(
    1.0, "fan_avg", "truncated_normal", "glorot_normal",
    "Truncated normal weights of variance 2 / (inputs + outputs).", _GLOROT,
)  # fmt: skip
lecun_uniform = _scaled(
    1.0, "fan_in", "uniform", "lecun_uniform",
    "Uniform weights of variance 1 / inputs.", _LECUN,
)  # fmt: skip
lecun_normal = _scaled(
    1.0, "fan_in", "truncated_normal", "lecun_normal",
    "Truncated normal weights of variance 1 / inputs.", _LECUN,
)  # fmt: skip
he_uniform = _scaled(
    2.0, "fan_in", "uniform", "he_uniform",
    "Uniform weights of variance 2 / inputs, for ``relu``.", _HE,
)  # fmt: skip
he_normal = _scaled(
    2.0, "fan_in", "truncated_normal", "he_normal",
    "Truncated normal weights of variance 2 / inputs, for ``relu``.", _HE,
)  # fmt: skip
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer that gives matrices uniform over those with orthonormal columns or rows.

    Args:
      scale: what they are multiplied by.
      column_axis: the axis of the matrix's columns; the others together are its rows.
      dtype: the dtype where the call gives none, by default the default float one.

    Raises:
      ValueError: if the shape has fewer than two dimensions.

    Example:
      >>> orthogonal()(random.PRNGKey(0), (3, 2)).shape
      (3, 2)

    Source: Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of learning
    in deep linear neural networks", 2013.
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        shape = as_sizes(shape)
        if len(shape) < 2:
            raise ValueError(f"orthogonal: the shape must have at least two sizes, got {shape}.")
        columns = shape[column_axis]
        rest = list(shape)
        del rest[column_axis]
        rows = prod(rest)
        x = random.normal(key, (max(rows, columns), min(rows, columns)), found)
        q, r = jnp.linalg.qr(x)
        # Without the signs of r's diagonal the distribution would not be uniform (Mezzadri 2007).
        q = jnp.multiply(q, lax.expand_dims(lax.sign(jnp.diagonal(r)), (0,)))
        if columns > rows:
            q = q.T
        q = jnp.reshape(jnp.transpose(q), (columns, *rest))
        q = jnp.moveaxis(q, 0, column_axis)
        return _placed(jnp.multiply(jnp.asarray(scale, found), q), out_sharding)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer for convolutions: an orthogonal matrix at the window's centre, 0 elsewhere.

    Args:
      scale: what the matrix is multiplied by.
      column_axis: the axis of the matrix's columns.
      dtype: the dtype where the call gives none, by default the default float one.

    Raises:
      ValueError: if the shape is not that of a convolution over 1 to 3 dimensions, or has more
        inputs than outputs.

    Example:
      >>> delta_orthogonal()(random.PRNGKey(0), (3, 2, 2)).shape
      (3, 2, 2)

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.
    """
    default = dtype

    def init(key, shape, dtype=None, out_sharding=None):
        found = explicit_dtype(default if dtype is None else dtype)
        shape = as_sizes(shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: the shape must have 3, 4 or 5 sizes, got {shape}.")
        if shape[-1] < shape[-2]:
            raise ValueError(
                "delta_orthogonal: there must not be more inputs than outputs, but the shape "
                f"{shape} has {shape[-2]} and {shape[-1]}."
            )
        matrix = orthogonal(scale, column_axis, found)(key, shape[-2:])
        before = [(n - 1) // 2 for n in shape[:-2]]
        padding = [(b, n - 1 - b, 0) for b, n in zip(before, shape[:-2], strict=True)]
        matrix = lax.expand_dims(matrix, tuple(range(len(padding))))
        padded = lax.pad(matrix, np.array(0, found)[()], [*padding, (0, 0, 0), (0, 0, 0)])
        return _placed(padded, out_sharding)

    return init
