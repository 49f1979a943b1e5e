"""Fourier transforms of symbolic lengths, known only at run time.

StableHLO's operation takes its lengths as attributes. With symbolic ones each dimension is
multiplied by the matrix of roots of unity, which takes time quadratic in the length.
"""

from math import pi, prod

import numpy as np

from ricci_ir import Array, Shape, issubdtype
from ricci_lax.elementwise._addition import add, neg, sub
from ricci_lax.elementwise._arithmetic import div, mul, rem
from ricci_lax.elementwise._comparison import bitwise_or, eq, select_n
from ricci_lax.elementwise._complex_parts import complex, imag, real
from ricci_lax.elementwise._conversion import convert_element_type
from ricci_lax.elementwise._factories import complex_of, real_part, scalar
from ricci_lax.elementwise._transcendental import cos, sin
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._filling import broadcasted_iota, full, iota
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_lax.structure._transposing import transpose

from ._dot import dot_general

_UINT32 = np.dtype(np.uint32)


def _dtype(x: Array) -> np.dtype:
    return array_aval(x).dtype


def by_products(x: Array, *, kind: str, lengths: Shape) -> Array:
    """The transform of the last dimensions, of a kind (``FFT``, ``IFFT``, ``RFFT``, ``IRFFT``)."""
    first = len(shape_of(x)) - len(lengths)
    last = len(shape_of(x)) - 1
    inverse = kind in ("IFFT", "IRFFT")
    if kind == "RFFT":
        x = _along(convert_element_type(x, complex_of(_dtype(x))), last, lengths[-1], -1, True)
    for i, length in enumerate(lengths):
        if first + i < last or kind in ("FFT", "IFFT"):
            x = _along(x, first + i, length, 1 if inverse else -1)
    if kind == "IRFFT":
        x = _to_reals(x, lengths[-1])
    if inverse:
        x = div(x, broadcast_in_dim(scalar(prod(lengths), _dtype(x)), shape_of(x), ()))
    return x


def symbolic_multiplicities(length: int) -> Array:
    """The multiplicity in the whole of each coefficient of a real transform's half."""
    places = iota(_UINT32, length // 2 + 1)
    alone = bitwise_or(
        eq(places, full(shape_of(places), 0, _UINT32)),
        eq(add(places, places), full(shape_of(places), scalar(length, _UINT32))),
    )
    once, twice = (full(shape_of(places), n, np.int32) for n in (1, 2))
    return select_n(alone, twice, once)


def _angles(rows: int, length: int, dtype: np.dtype) -> Array:
    """The angles of the roots of unity in a matrix of shape ``(rows, length)``."""
    shape = rows, length
    number = full(shape, scalar(length, _UINT32))
    i, j = (broadcasted_iota(_UINT32, shape, d) for d in (0, 1))
    turns = rem(mul(i, j), number)  # exact, so that large angles are as well
    whole = div(convert_element_type(turns, dtype), convert_element_type(number, dtype))
    return mul(whole, full(shape, 2 * pi, dtype))


def _contracted(x: Array, matrix: Array) -> Array:
    """The products of the last dimension of ``x`` with the rows of a matrix."""
    numbers = (((len(shape_of(x)) - 1,), (1,)), ((), ()))
    return dot_general(x, matrix, numbers, precision="highest")


def _along(x: Array, axis: int, length: int, sign: int, half: bool = False) -> Array:
    dtype = real_part(_dtype(x))
    angles = _angles(length // 2 + 1 if half else length, length, dtype)
    sine = sin(angles)
    roots = complex(cos(angles), sine if sign > 0 else neg(sine))
    order = [d for d in range(len(shape_of(x))) if d != axis] + [axis]
    products = _contracted(transpose(x, order), roots)
    assert issubdtype(_dtype(products), np.complexfloating)
    return transpose(products, tuple(np.argsort(order).tolist()))


def _to_reals(x: Array, length: int) -> Array:
    dtype = real_part(_dtype(x))
    counts = convert_element_type(symbolic_multiplicities(length), dtype)
    weights = broadcast_in_dim(counts, shape_of(x), (len(shape_of(x)) - 1,))
    angles = transpose(_angles(length // 2 + 1, length, dtype), (1, 0))
    cosines = _contracted(mul(real(x), weights), cos(angles))
    return sub(cosines, _contracted(mul(imag(x), weights), sin(angles)))
