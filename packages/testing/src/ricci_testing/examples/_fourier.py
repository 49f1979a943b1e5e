"""Examples of Fourier transforms."""

import numpy as np
import numpy.typing as npt

import ricci_lax as lax
from ricci_ir import Shape, primitives

from ._example import C64, F32, Example, array_of

_KINDS = lax.FftType
# Shapes and lengths: even and odd, in one to three dimensions, with one element and with none.
_COMPLEX = [
    ((5,), (5,)),
    ((2, 4), (4,)),
    ((2, 3), (2, 3)),
    ((2, 1, 2, 3), (1, 2, 3)),
    ((0, 4), (4,)),
    ((2, 0), (0,)),
]
_REAL = [
    ((5,), (5,)),
    ((2, 4), (4,)),
    ((2, 3), (2, 3)),
    ((3, 2, 4), (3, 2, 4)),
    ((2, 1), (1,)),
    ((0, 4), (4,)),
]


def _example(shape: Shape, dtype: npt.DTypeLike, kind: lax.FftType, lengths: Shape) -> Example:
    return Example((array_of(*shape, dtype=dtype),), {"fft_type": kind, "fft_lengths": lengths})


def fourier_examples() -> dict[str, list[Example]]:
    """The examples of Fourier transforms, if they are defined."""
    transforms = [
        *(_example(s, C64, kind, n) for kind in (_KINDS.FFT, _KINDS.IFFT) for s, n in _COMPLEX),
        *(_example(s, F32, _KINDS.RFFT, n) for s, n in _REAL),
        *(_example((*s[:-1], s[-1] // 2 + 1), C64, _KINDS.IRFFT, n) for s, n in _REAL),
        _example((2, 4), np.complex128, _KINDS.FFT, (4,)),
        _example((2, 5), np.float64, _KINDS.RFFT, (5,)),
    ]
    return {name: examples for name, examples in {"fft": transforms}.items() if name in primitives}
