"""Checks and conversions of samplers' arguments."""

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

import ricci_lax as lax
from ricci_ir import explicit_dtype, get_aval, issubdtype
from ricci_lax.authoring import as_sizes, placement


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape given by a user; an int is a shape of one dimension.

    Raises:
      TypeError: if it is no sequence of concrete integers.
      ValueError: if a size is negative.
    """
    sizes = as_sizes(shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"shapes must have nonnegative sizes, got {shape}.")
    return sizes


def fits(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether arrays of a shape broadcast to ``sizes``."""
    pairs = zip(reversed(shape), reversed(sizes), strict=False)
    return len(shape) <= len(sizes) and all(n in (1, m) for n, m in pairs)


def common_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that parameters of these shapes broadcast to.

    Raises:
      ValueError: if there is none.
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    common = tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*padded, strict=True))
    if not all(fits(shape, common) for shape in shapes):
        raise ValueError(
            f"{name}: the parameters' shapes {', '.join(map(str, shapes))} do not broadcast to one."
        )
    return common


def sampled_shape(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape to sample: ``shape``, or for ``None`` the one that the parameters broadcast to.

    Raises:
      ValueError: if the parameters do not broadcast to it.
    """
    shapes = [get_aval(x).shape for x in parameters]  # pyright: ignore
    if shape is None:
        return common_shape(name, *shapes)
    sizes = as_shape(shape)
    if not all(fits(own, sizes) for own in shapes):
        raise ValueError(
            f"{name}: the shape {sizes} does not hold samples for parameters of shapes "
            f"{', '.join(map(str, shapes))}: give a shape that they broadcast to."
        )
    return sizes


def float_dtype(name: str, dtype: Any, kind: type = np.floating) -> np.dtype:
    """The dtype of a sampler's result, by default the default one for floats.

    Raises:
      ValueError: if it is of another kind.
    """
    found = explicit_dtype(dtype, name)
    if not issubdtype(found, kind):
        what = "float" if kind is np.floating else "float or complex"
        raise ValueError(f"{name}: samples are of a {what} dtype, and dtype={found} is none.")
    return found


class Float:
    """What samplers need to know of a float dtype, as scalars of that dtype.

    ``uint`` has the float's width; ``random_bits`` is how many random bits fill the mantissa.
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

    def __init__(self, dtype: np.dtype):
        info = ml_dtypes.finfo(dtype)
        self.dtype = dtype
        self.width = info.bits
        self.mantissa = info.nmant
        self.uint = np.dtype(f"uint{info.bits}")
        self.random_bits = 8 if info.nmant < 8 else info.bits
        self.one = self(1)
        self.eps = self(info.eps)
        self.largest = self(info.max)
        self.tiny = self(info.tiny)

    def __call__(self, value: Any) -> Any:
        return np.array(value, self.dtype)[()]

    @property
    def above_minus_one(self) -> Any:
        """The smallest number greater than -1."""
        return np.nextafter(self(-1), self(0), dtype=self.dtype)


@lru_cache
def float_info(dtype: np.dtype) -> Float:
    """The facts about a float dtype."""
    return Float(dtype)


def with_rank(x: Any, ndim: int) -> Any:
    """A parameter with dimensions of size 1 in front, up to a rank."""
    shape = get_aval(x).shape  # pyright: ignore[reportAttributeAccessIssue]
    if len(shape) >= ndim:
        return x
    padded = (1,) * (ndim - len(shape)) + shape
    return lax.broadcast_in_dim(x, padded, tuple(range(ndim - len(shape), ndim)))


def to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter repeated to a shape."""
    own = get_aval(x).shape  # pyright: ignore[reportAttributeAccessIssue]
    if own == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(own), len(shape))))


def placed(x: Any, out_sharding: Any) -> Any:
    """A sampler's result with the sharding that was asked for."""
    return x if out_sharding is None else placement.constrain(x, out_sharding)
