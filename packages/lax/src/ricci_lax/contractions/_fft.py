"""Discrete Fourier transforms, of static and of symbolic lengths."""

from collections.abc import Sequence
from enum import IntEnum
from math import pi, prod

import numpy as np

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import move_dim
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._comparison import bitwise_or, eq, select_n
from ricci_lax.elementwise._conversion import convert_element_type, converted
from ricci_lax.elementwise._factories import complex_of, real_part, scalar
from ricci_lax.elementwise._linear import add, complex, conj, imag, neg, real, sub
from ricci_lax.elementwise._remainder import rem
from ricci_lax.elementwise._transcendental import cos, sin
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.shapes._dynamic_slicing import dynamic_update_slice
from ricci_lax.structure import broadcast_in_dim, broadcasted_iota, full, iota, transpose
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_stablehlo import Lowering, Value, int_list, native_kernel, traced

from ._dot import dot_general

__all__ = ["FftType", "fft", "fft_p"]

# StableHLO's operation takes its lengths as attributes. With symbolic ones each dimension is
# multiplied by the matrix of roots of unity, which takes time quadratic in the length.


_UINT32 = np.dtype(np.uint32)


def _dtype(x: ir.Array) -> np.dtype:
    return array_aval(x).dtype


def by_products(x: ir.Array, *, kind: str, lengths: ir.Shape) -> ir.Array:
    """The transform of the last dimensions, of a kind (``FFT``, ``IFFT``, ``RFFT``, ``IRFFT``)."""
    first = len(shape_of(x)) - len(lengths)
    last = len(shape_of(x)) - 1
    inverse = kind in ("IFFT", "IRFFT")
    # The real transform of the last dimension comes first, the inverse one last, so that all
    # transforms between them are complex.
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


def symbolic_multiplicities(length: int) -> ir.Array:
    """The multiplicity in the whole of each coefficient of a real transform's half."""
    # The coefficients at 0 and, for even lengths, at length / 2 are their own conjugates.
    places = iota(_UINT32, length // 2 + 1)
    alone = bitwise_or(
        eq(places, full(shape_of(places), 0, _UINT32)),
        eq(add(places, places), full(shape_of(places), scalar(length, _UINT32))),
    )
    once, twice = (full(shape_of(places), n, np.int32) for n in (1, 2))
    return select_n(alone, twice, once)


def _angles(rows: int, length: int, dtype: np.dtype) -> ir.Array:
    """The angles of the roots of unity in a matrix of shape ``(rows, length)``."""
    shape = rows, length
    number = full(shape, scalar(length, _UINT32))
    i, j = (broadcasted_iota(_UINT32, shape, d) for d in (0, 1))
    turns = rem(mul(i, j), number)  # exact, so that large angles are as well
    whole = div(convert_element_type(turns, dtype), convert_element_type(number, dtype))
    return mul(whole, full(shape, 2 * pi, dtype))


def _contracted(x: ir.Array, matrix: ir.Array) -> ir.Array:
    """The products of the last dimension of ``x`` with the rows of a matrix."""
    numbers = (((len(shape_of(x)) - 1,), (1,)), ((), ()))
    return dot_general(x, matrix, numbers, precision="highest")


def _along(x: ir.Array, axis: int, length: int, sign: int, half: bool = False) -> ir.Array:
    dtype = real_part(_dtype(x))
    angles = _angles(length // 2 + 1 if half else length, length, dtype)
    sine = sin(angles)
    roots = complex(cos(angles), sine if sign > 0 else neg(sine))
    order = [d for d in range(len(shape_of(x))) if d != axis] + [axis]
    products = _contracted(transpose(x, order), roots)
    assert ir.issubdtype(_dtype(products), np.complexfloating)
    return transpose(products, tuple(np.argsort(order).tolist()))


def _to_reals(x: ir.Array, length: int) -> ir.Array:
    dtype = real_part(_dtype(x))
    counts = convert_element_type(symbolic_multiplicities(length), dtype)
    weights = broadcast_in_dim(counts, shape_of(x), (len(shape_of(x)) - 1,))
    angles = transpose(_angles(length // 2 + 1, length, dtype), (1, 0))
    # The coefficients of the other half are conjugates, and contribute the same real parts: the sum
    # of Re(c) cos - Im(c) sin, weighted.
    cosines = _contracted(mul(real(x), weights), cos(angles))
    return sub(cosines, _contracted(mul(imag(x), weights), sin(angles)))


_GREATEST_RANK = 3  # StableHLO transforms at most three dimensions at once
_DOUBLES = ("float64", "int64", "uint64", "complex128")


@ir.exported
class FftType(IntEnum):
    """The kinds of discrete Fourier transform.

    ``FFT`` and ``IFFT`` map complex arrays to complex ones. ``RFFT`` maps a real array to the
    non-redundant half of its transform, and ``IRFFT`` maps such a half back.
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_BY_NAME = {form: kind for kind in FftType for form in (kind.name, kind.name.lower())}


def _check_operand(x: ir.ShapedArray, kind: FftType, lengths: ir.Shape) -> None:
    name, rank = kind.name, len(lengths)
    expected = ("float32", "float64") if kind is FftType.RFFT else ("complex64", "complex128")
    if x.dtype.name not in expected:
        raise ValueError(
            f"fft: {name} transforms {expected[0]} or {expected[1]}, but the operand is "
            f"{x.str_short()}. Convert it first."
        )
    if not 1 <= rank <= _GREATEST_RANK:
        raise ValueError(
            f"fft: fft_lengths={lengths} names {rank} dimensions, but a transform is over one to "
            f"{_GREATEST_RANK}. Transform over groups of dimensions, one after another."
        )
    if rank > x.ndim:
        raise ValueError(
            f"fft: fft_lengths={lengths} names {rank} dimensions, but the operand is "
            f"{x.str_short()} and has {x.ndim}."
        )
    if any(n < 0 for n in lengths):
        raise ValueError(f"fft: fft_lengths={lengths} holds a negative length.")


def _fft_aval(x: ir.ShapedArray, *, fft_type: FftType, fft_lengths: ir.Shape) -> ir.ShapedArray:
    _check_operand(x, fft_type, fft_lengths)
    *outer, last = fft_lengths
    batch = x.shape[: x.ndim - len(fft_lengths)]
    half = last // 2 + 1
    if fft_type is not FftType.IRFFT:
        size = last
    elif last:
        size = half
    else:
        size = x.shape[-1]  # the result is empty: any operand size is valid
    expected = (*batch, *outer, size)
    if x.shape != expected:
        raise ValueError(
            f"fft: {fft_type.name} with fft_lengths={fft_lengths} takes an operand whose last "
            f"dimensions have shape {expected[len(batch) :]}, but it is "
            f"{x.str_short()}. Slice or pad it, or change fft_lengths."
        )
    if fft_type is FftType.RFFT:
        if not last:
            raise ValueError(
                f"fft: RFFT of length 0 is not defined (fft_lengths={fft_lengths}, operand "
                f"{x.str_short()})."
            )
        return ir.ShapedArray((*batch, *outer, half), complex_of(x.dtype))
    if fft_type is FftType.IRFFT:
        return ir.ShapedArray((*batch, *outer, last), real_part(x.dtype))
    return ir.ShapedArray(x.shape, x.dtype)


def _multiplicities(aval: ir.ShapedArray, length: int) -> ir.Array:
    """The multiplicity (1 or 2) in the whole transform of each coefficient of the half."""
    count, dtype = length // 2 + 1, aval.dtype
    counts = full((count,), 2, dtype)
    counts = dynamic_update_slice(counts, full((1,), 1, dtype), (0,))
    if ir.is_symbolic_dim(length):
        counts = ir.as_array(converted(symbolic_multiplicities(length), dtype))
    elif length % 2 == 0:
        counts = dynamic_update_slice(counts, full((1,), 1, dtype), (count - 1,))
    if aval.ndim == 1:
        return counts
    shape = (1,) * (aval.ndim - 1) + (count,)
    return broadcast_in_dim(counts, shape, (aval.ndim - 1,))


@ir.composite("_rfft_transpose")
def _rfft_transpose(ct: ir.Array, *, lengths: ir.Shape) -> ir.Array:
    aval = array_aval(ct)
    # The inverse transform adds the conjugate of each coefficient for the half that is left out.
    # The transpose sums the half alone, and so divides by the number of times that each is counted.
    counts = _multiplicities(aval, lengths[-1])
    result = fft(div(conj(ct), counts), FftType.IRFFT, lengths)
    return mul(scalar(prod(lengths), real_part(aval.dtype)), result)


def _irfft_transpose(ct: ir.Array, lengths: ir.Shape) -> ir.Array:
    half = fft(ct, FftType.RFFT, lengths)
    aval = array_aval(half)
    number = prod(lengths)
    if ir.is_symbolic_dim(number):
        scale = div(_number(1, aval.dtype), scalar(number, aval.dtype))
    else:
        scale = _number(1 / number, aval.dtype)
    return conj(mul(mul(scale, _multiplicities(aval, lengths[-1])), half))


def _number(value: float, dtype: np.dtype) -> ir.ArrayLike:
    return ir.exact_scalar(value, dtype)


def _fft_transpose(ct, x, *, fft_type, fft_lengths):
    if fft_type is FftType.RFFT:
        return [_rfft_transpose(ct, lengths=fft_lengths)]
    if fft_type is FftType.IRFFT:
        return [_irfft_transpose(ct, fft_lengths)]
    # The matrix of the transform is symmetric, so that the transform is its own transpose.
    return [fft(ct, fft_type, fft_lengths)]


def _fft_batch(_axis, args, dims, *, fft_type, fft_lengths):
    return fft(move_dim(args[0], dims[0], 0), fft_type, fft_lengths), 0


# The longest rows for the native kernel in bytes, which fit in a core's caches with their copies.
_LONGEST_ROWS = 1 << 15


def _transformed_rows(ctx: Lowering, x: Value, kind: FftType, length: int) -> Value | None:
    """The transforms of rows by the native kernel, or None where XLA's are as fast."""
    last = ctx.out.ndim - 1
    # Pairs of real numbers are transformed as complex ones.
    shortest, size = (16, 2) if kind in (FftType.FFT, FftType.IFFT) else (32, 1)
    row_bytes = length * size * real_part(ctx.out.dtype).itemsize
    if length < shortest or row_bytes > _LONGEST_ROWS or length & (length - 1):
        return None
    kernel = native_kernel(ctx, "fft", ctx.out, last)
    if kernel is None:
        return None
    rows = tuple(range(last + 1))[::-1]
    numbers = {"length": f"{length} : i64", "kind": f"{int(kind)} : i64"}
    return ctx.custom_call(
        kernel.target,
        [x],
        [ctx.out],
        backend_config=numbers,
        operand_layouts=[rows],
        result_layouts=[rows],
    )[0]


def _fft_lower(ctx: Lowering, x: Value, *, fft_type: FftType, fft_lengths: ir.Shape) -> Value:
    if not ir.is_static_shape(fft_lengths):
        return traced(by_products)(ctx, x, kind=fft_type.name, lengths=fft_lengths)
    if len(fft_lengths) == 1:
        rows = _transformed_rows(ctx, x, fft_type, fft_lengths[0])
        if rows is not None:
            return rows
    text = f", type = {fft_type.name}, length = {int_list(fft_lengths)}"
    return ctx.emit("stablehlo.fft", [x], ctx.out, text, full=True)


# Operand: an array of the dtype that ``fft_type`` transforms.
fft_p: ir.Primitive = ir.define(
    "fft",
    sharding=ir.factors(ir.same_dimensions),
    abstract_eval=_fft_aval,
    jvp=linear,
    transpose=_fft_transpose,
    batch=_fft_batch,
    lower=_fft_lower,
    checkify=checks_nan,
)


@ir.composite("fft")
def _fft(x: ir.Array, *, kind: FftType, lengths: ir.Shape) -> ir.Array:
    aval = array_aval(x)
    dtype = aval.dtype
    if kind is not FftType.RFFT:
        if not ir.issubdtype(dtype, np.complexfloating):
            dtype = np.dtype(np.complex128 if dtype.name in _DOUBLES else np.complex64)
    elif ir.issubdtype(dtype, np.complexfloating):
        raise ValueError(
            f"fft: RFFT transforms real numbers, but the operand is {aval.str_short()}. Take its "
            "real part, or use FFT."
        )
    elif not ir.issubdtype(dtype, np.floating):
        dtype = np.dtype(np.float64 if dtype.name in _DOUBLES else np.float32)
    operand = converted(x, dtype)
    return fft_p.bind(operand, fft_type=kind, fft_lengths=lengths) if lengths else operand


@ir.dispatched("fft_type", "fft_lengths")
def fft(x: ir.ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> ir.Array:
    """Transform the last dimensions of an array, by the discrete Fourier transform.

    Args:
      x: an array: real for ``RFFT``, else it is converted to complex64 (complex128 if its dtype
        has 64 bits). Its last sizes are ``fft_lengths``; for ``IRFFT`` the last size is
        ``fft_lengths[-1] // 2 + 1``.
      fft_type: an ``FftType`` or its name, as ``"fft"`` or ``"FFT"``.
      fft_lengths: the lengths of the transform, one for each dimension that it is over: the last
        ones of ``x``, three at most. Without any, the result is ``x``, converted.

    Returns:
      A complex array of the shape of ``x`` for ``FFT`` and ``IFFT``; one whose last size is
      ``fft_lengths[-1] // 2 + 1`` for ``RFFT``; a real one whose last size is
      ``fft_lengths[-1]`` for ``IRFFT``. Inverse transforms divide by the number of elements.

    Raises:
      TypeError: if ``fft_type`` is neither.
      ValueError: if ``fft_type`` is unknown, if lengths do not fit the shape, or if ``RFFT`` is
        asked for complex numbers or for floating-point ones of 16 bits.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> x = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
      >>> np.asarray(lax.fft(x, "rfft", (4,))).tolist()
      [(1+0j), (1+0j), (1+0j)]

    Source: StableHLO ``fft``.
    """
    if isinstance(fft_type, str):
        kind = _BY_NAME.get(fft_type)
        if kind is None:
            raise ValueError(
                f"fft: fft_type={fft_type!r} is not a kind of transform; the kinds are "
                f"{', '.join(repr(k.name.lower()) for k in FftType)}."
            )
    elif isinstance(fft_type, FftType):
        kind = fft_type
    else:
        raise TypeError(
            f"fft: fft_type={fft_type!r} is neither an FftType nor the name of one, such as 'fft'."
        )
    lengths = ir.to_sizes(fft_lengths)
    return _fft(x, kind=kind, lengths=lengths)
