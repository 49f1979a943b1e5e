"""Arguments of samplers: shapes, dtypes and parameters, their checks and conversions."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import as_sizes, with_out_sharding
from ricci_random.keys._key_arguments import check_key
from ricci_random.keys._primitives import type_of

type Sharding = Any
"""The sharding of an array. The classes of shardings belong to the runtime."""


def as_shape(shape: ir.ShapeLike) -> ir.Shape:
    """Convert a shape argument; an int is a shape of one dimension.

    Raises:
      TypeError: if it is not a sequence of concrete integers.
      ValueError: if a size is negative.
    """
    sizes = as_sizes(shape)
    for n in sizes:
        if n < 0:
            raise ValueError(f"no dimension of a shape may have a negative size, got {shape}.")
    return sizes


def broadcasts_to(shape: ir.Shape, sizes: ir.Shape) -> bool:
    """Whether arrays of a shape broadcast to ``sizes``."""
    pairs = zip(reversed(shape), reversed(sizes), strict=False)
    return len(shape) <= len(sizes) and all(n in (1, m) for n, m in pairs)


def common_shape(name: str, *shapes: ir.Shape) -> ir.Shape:
    """The shape that parameters of these shapes broadcast to.

    Raises:
      ValueError: if they do not broadcast.
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    common = tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*padded, strict=True))
    if not all(broadcasts_to(shape, common) for shape in shapes):
        raise ValueError(
            f"{name}: the parameters' shapes {', '.join(map(str, shapes))} do not broadcast to one."
        )
    return common


def sampled_shape(name: str, shape: ir.ShapeLike | None, *parameters: ir.ArrayLike) -> ir.Shape:
    """The shape of the samples: ``shape``, by default the one that the parameters broadcast to.

    Raises:
      ValueError: if the parameters do not broadcast to it.
    """
    shapes = [type_of(x).shape for x in parameters]
    if shape is None:
        return common_shape(name, *shapes)
    sizes = as_shape(shape)
    if not all(broadcasts_to(parameter_shape, sizes) for parameter_shape in shapes):
        raise ValueError(
            f"{name}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast to the "
            f"shape {sizes} of the samples. Give a shape that they broadcast to."
        )
    return sizes


def float_dtype(name: str, dtype: ir.DTypeLike | None, kind: type = np.floating) -> np.dtype:
    """The dtype of a sampler's result, by default the default one for floats.

    Raises:
      ValueError: if it is of another kind.
    """
    result_dtype = ir.explicit_dtype(dtype, name)
    if not ir.issubdtype(result_dtype, kind):
        what = "float" if kind is np.floating else "float or complex"
        raise ValueError(f"{name}: samples have a {what} dtype, got dtype={result_dtype}.")
    return result_dtype


def with_rank(x: ir.ArrayLike, ndim: int) -> ir.Array:
    """Add leading dimensions of size 1 to a parameter, up to a rank."""
    shape = type_of(x).shape
    if len(shape) >= ndim:
        return x  # pyright: ignore[reportReturnType]  # scalars are operands without conversion
    padded = (1,) * (ndim - len(shape)) + shape
    return lax.broadcast_in_dim(x, padded, tuple(range(ndim - len(shape), ndim)))


def with_rank_unless_scalar(x: ir.Array, shape: ir.Shape) -> ir.Array:
    """Raise a parameter to the rank of a shape; a scalar is returned unchanged."""
    return with_rank(x, len(shape)) if type_of(x).shape else x


def to_shape(x: ir.Array, shape: ir.Shape) -> ir.Array:
    """Broadcast a parameter to a shape."""
    old_shape = type_of(x).shape
    if old_shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(old_shape), len(shape))))


class FloatInfo:
    """Constants of a float dtype.

    Called with a number, it returns the scalar of the dtype.

    Attributes:
      dtype: the dtype.
      width: its bits.
      mantissa: the bits of its mantissa, without the leading 1 that is not stored.
      uint: the unsigned integer dtype of the same width.
      random_bits: the number of random bits drawn for the mantissa.
      one, eps, largest, tiny: 1, the distance from 1 to the next number, the greatest number and
        the least positive normal one.
    """

    __slots__ = (
        "dtype",
        "eps",
        "largest",
        "mantissa",
        "one",
        "random_bits",
        "tiny",
        "uint",
        "width",
    )

    def __init__(self, dtype: ir.DTypeLike):
        info = ml_dtypes.finfo(dtype)
        self.dtype = np.dtype(dtype)
        self.width: int = info.bits
        self.mantissa: int = info.nmant
        self.uint = np.dtype(f"uint{info.bits}")
        self.random_bits: int = 8 if info.nmant < 8 else info.bits
        self.one = self(1)
        self.eps = self(info.eps)
        self.largest = self(info.max)
        self.tiny = self(info.tiny)

    def __call__(self, value: object) -> Any:
        """A number as a scalar of the dtype, which may be an extension type."""
        return ir.exact_scalar(value, self.dtype)

    @property
    def above_minus_one(self) -> Any:
        """The smallest number greater than -1."""
        ends = (np.array(end, self.dtype) for end in (-1, 0))
        return self(np.nextafter(*ends, dtype=self.dtype))


def float_info(dtype: np.dtype) -> FloatInfo:
    """Return the facts about a float dtype."""
    return _float_info(dtype, ir.is_narrowed(dtype))


@lru_cache
def _float_info(dtype: np.dtype, _narrowed: bool) -> FloatInfo:
    return FloatInfo(dtype)


def sample(
    name: str,
    draw: Callable[..., ir.Array],
    key: ir.ArrayLike,
    parameters: tuple[ir.ArrayLike, ...],
    shape: ir.ShapeLike | None,
    dtype: ir.DTypeLike | None,
    out_sharding: Sharding = None,
    kind: type = np.floating,
    **settings: object,
) -> ir.Array:
    """Check the arguments of a sampler and draw samples.

    Args:
      name: the sampler's name, for messages.
      draw: ``draw(key, *parameters, shape=shape, dtype=dtype, **settings)``.
      key: the user's key.
      parameters: the distribution's parameters, which must broadcast to ``shape``.
      shape: the result's shape; ``None`` for the broadcast shape of the parameters.
      dtype: the result's dtype; ``None`` for the default float dtype.
      out_sharding: the result's sharding.
      kind: what the dtype must be: ``np.floating``, or ``np.inexact`` to allow complex ones.
      **settings: other keyword arguments of ``draw``.

    Raises:
      TypeError: if ``key`` is not a key, or ``shape`` is not a shape.
      ValueError: if ``key`` is an array of keys, the parameters do not broadcast to ``shape``, or
        the dtype is of another kind.
    """
    key = check_key(key, name)
    result_dtype = float_dtype(name, dtype, kind)
    if parameters:
        sizes = sampled_shape(name, shape, *parameters)
    else:
        sizes = as_shape(shape)  # pyright: ignore[reportArgumentType]  # as_shape raises for None
    samples = draw(key, *parameters, shape=sizes, dtype=result_dtype, **settings)
    return samples if out_sharding is None else with_out_sharding(samples, out_sharding)
