"""Facts about float dtypes that samplers need, as scalars of those dtypes."""

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ricci_ir import DTypeLike


class FloatInfo:
    """What samplers need to know of a float dtype.

    Called with a number, it gives the scalar of the dtype.

    Attributes:
      dtype: the dtype.
      width: its bits.
      mantissa: the bits of its mantissa, without the leading 1 that is not stored.
      uint: the unsigned integer dtype of the same width.
      random_bits: how many random bits are drawn to fill the mantissa.
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
        """A number as a scalar of the dtype, which may be one that NumPy's types do not know."""
        return np.array(value, self.dtype)[()]

    @property
    def above_minus_one(self) -> Any:
        """The smallest number greater than -1."""
        return np.nextafter(self(-1), self(0), dtype=self.dtype)


@lru_cache
def float_info(dtype: np.dtype) -> FloatInfo:
    """The facts about a float dtype."""
    return FloatInfo(dtype)
