"""Constants of float dtypes, as scalars of those dtypes."""

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ricci_ir import DTypeLike, exact_scalar, is_narrowed


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

    def __init__(self, dtype: DTypeLike):
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
        return exact_scalar(value, self.dtype)

    @property
    def above_minus_one(self) -> Any:
        """The smallest number greater than -1."""
        ends = (np.array(end, self.dtype) for end in (-1, 0))
        return self(np.nextafter(*ends, dtype=self.dtype))


def float_info(dtype: np.dtype) -> FloatInfo:
    """Return the facts about a float dtype."""
    return _float_info(dtype, is_narrowed(dtype))


@lru_cache
def _float_info(dtype: np.dtype, _narrowed: bool) -> FloatInfo:
    return FloatInfo(dtype)
