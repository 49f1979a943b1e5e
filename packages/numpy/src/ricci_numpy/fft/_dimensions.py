"""Discrete Fourier transforms along any dimensions, with NumPy's lengths and norms."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import canonical_axes, convert, operands, strong_constant
from ricci_numpy.shapes._transposing import moveaxis
from ricci_numpy.ufuncs._unary import conj

_GREATEST_RANK = 3  # of the transforms that ``lax.fft`` has
# The norm under which a transform is scaled as the inverse is under the given norm.
_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_INVERSES = (lax.FftType.IFFT, lax.FftType.IRFFT)


def transform(
    name: str,
    kind: lax.FftType,
    a: ir.ArrayLike,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
    *,
    only: int | None = None,
    hermitian: bool = False,
) -> ir.Array:
    """Apply a transform of any kind, as one step, after checking its arguments.

    Args:
      name: the function, for messages.
      kind: the transform.
      a: an array.
      s: the lengths along the axes; ``None`` for those that the array has.
      axes: the axes; ``None`` for the last ones of as many as ``s`` has, or all.
      norm: the name of the scaling; see ``fft``.
      only: how many axes there must be.
      hermitian: whether the complex end is conjugated, and scaled as for the other direction.

    Raises:
      TypeError: if ``a`` is not an array, or lengths or axes are not integers.
      ValueError: if an argument does not fit the others.
    """
    (a,) = operands(name, a)
    ndim = np.ndim(a)
    if norm not in _OPPOSITE:
        raise ValueError(
            f"{name}: norm={norm!r} is not one of 'backward', the default, 'ortho' and 'forward'."
        )
    if s is not None:
        s = ir.to_sizes(s)
        if any(n <= 0 for n in s):
            raise ValueError(f"{name}: lengths must be positive, got {s}.")
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    if len(axes) != len(set(axes)):
        raise ValueError(f"{name}: axes={tuple(axes)} names one twice.")
    if only is not None and len(axes) != only:
        raise ValueError(f"{name}: exactly {only} axes are needed, got axes={tuple(axes)}.")
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{name}: there are {len(s)} lengths for {len(axes)} axes.")
    if kind is lax.FftType.RFFT and np.iscomplexobj(a):
        raise ValueError(
            f"{name}: only real numbers can be transformed. Take the real part, or use fft."
        )
    axes = canonical_axes(tuple(axes), ndim)
    return _transformed(a, kind=kind, s=s, axes=axes, norm=norm, hermitian=hermitian)


@ir.inlined("fft")
def _transformed(
    a: ir.Array,
    *,
    kind: lax.FftType,
    s: tuple[int, ...] | None,
    axes: tuple[int, ...],
    norm: str | None,
    hermitian: bool,
) -> ir.Array:
    ndim = np.ndim(a)
    if hermitian and kind is lax.FftType.IRFFT:
        a = conj(a)
    # A spectrum of real data of length n has n // 2 + 1 numbers, so that the length of the inverse
    # transform is ambiguous by one: without ``s`` it is even. hfft is irfft of the conjugate with
    # the opposite scale, ihfft the conjugate of rfft.
    last = tuple(range(ndim - len(axes), ndim))
    x = moveaxis(a, axes, last)
    sizes = np.shape(x)[ndim - len(axes) :]
    if s is None:
        lengths = list(sizes)
        if kind is lax.FftType.IRFFT and lengths:
            lengths[-1] = ir.max_dim(2 * (lengths[-1] - 1), 0)
    else:
        lengths = list(s)
        needed = list(s)
        if kind is lax.FftType.IRFFT and needed:
            needed[-1] = needed[-1] // 2 + 1
        x = _with_sizes(x, np.shape(x)[: ndim - len(axes)] + tuple(needed))
    x = _over_last(x, kind, tuple(lengths))
    if hermitian and kind is lax.FftType.RFFT:
        x = conj(x)
    number = prod(lengths)
    scale = _scale(kind, number, _OPPOSITE[norm] if hermitian else norm)
    if scale is not None:
        aval = ir.get_aval(x)
        real = ir.finfo(aval.dtype).dtype
        if ir.is_symbolic_dim(number):
            x = lax.mul(x, convert(_symbolic_scale(kind, number, norm, real), aval.dtype))
        else:
            x = lax.mul(x, ir.exact_scalar(np.asarray(scale(real.type), real), aval.dtype))
    return moveaxis(x, last, axes)


def _with_sizes(x: ir.Array, sizes: tuple[int, ...]) -> ir.Array:
    """``x`` cut at the end, or continued by zeros, to have the given sizes."""
    shape = np.shape(x)
    cropped = tuple(map(ir.min_dim, shape, sizes))
    if cropped != shape:
        x = lax.slice(x, (0,) * len(shape), cropped)
    more = [(0, m - n, 0) for n, m in zip(cropped, sizes, strict=True)]
    if not any(high for _, high, _ in more):
        return x
    aval = ir.get_aval(x)
    return lax.pad(x, strong_constant(aval.dtype, 0), more)


def _over_last(x: ir.Array, kind: lax.FftType, lengths: tuple[int, ...]) -> ir.Array:
    """Transform the last dimensions, by groups that ``lax.fft`` takes.

    A real transform (RFFT, IRFFT) applies to the group that has the last dimension: an RFFT takes
    that group first, an IRFFT takes it last. The other groups are transformed as complex numbers.
    """
    groups = _groups(len(lengths))
    if len(groups) <= 1:
        return lax.fft(x, kind, lengths)
    other = lax.FftType.IFFT if kind in _INVERSES else lax.FftType.FFT
    # Half of a spectrum of real numbers is left out along the last dimension, so that the transform
    # of real numbers is done there first, and the one to real numbers last.
    if kind is lax.FftType.IRFFT:
        groups = groups[::-1]
    for start, stop in groups:
        step = kind if stop == len(lengths) else other
        x = _over(x, step, lengths, start, stop)
    return x


def _groups(count: int) -> list[tuple[int, int]]:
    """Ranges of dimensions, the last ones first, as equal as possible and three at most."""
    number = -(-count // _GREATEST_RANK)
    groups: list[tuple[int, int]] = []
    stop = count
    for left in range(number, 0, -1):
        start = stop - -(-stop // left)
        groups.append((start, stop))
        stop = start
    return groups


def _over(
    x: ir.Array, kind: lax.FftType, lengths: tuple[int, ...], start: int, stop: int
) -> ir.Array:
    """Transform the dimensions ``start`` to ``stop`` of the last ones, whose lengths are given."""
    ndim, count = np.ndim(x), len(lengths)
    if stop == count:
        return lax.fft(x, kind, lengths[start:stop])
    axes = range(ndim - count + start, ndim - count + stop)
    end = range(ndim - len(axes), ndim)
    return moveaxis(lax.fft(moveaxis(x, axes, end), kind, lengths[start:stop]), end, axes)


def _scale(kind: lax.FftType, count: int, norm: str | None) -> Callable[[type], Any] | None:
    """The factor of the result as a function of a float type, or ``None`` for a factor of 1."""
    if norm is None or norm == "backward":
        return None
    inverse = kind in _INVERSES
    if norm == "ortho":
        return lambda real: np.sqrt(real(count)) if inverse else real(1) / np.sqrt(real(count))
    return lambda real: real(count) if inverse else real(1) / real(count)


def _symbolic_scale(kind: lax.FftType, count: int, norm: str | None, real: np.dtype) -> ir.Array:
    """The factor of ``_scale`` for a symbolic number of elements."""
    number = convert(count, real)
    root = lax.sqrt(number) if norm == "ortho" else number
    return root if kind in _INVERSES else lax.div(strong_constant(real, 1), root)


def transform_1d(
    name: str,
    kind: lax.FftType,
    a: ir.ArrayLike,
    n: int | None,
    axis: int | None,
    norm: str | None,
    hermitian: bool = False,
) -> ir.Array:
    """A transform along one axis; see ``transform``."""
    if isinstance(axis, tuple | list):
        raise ValueError(f"{name}: one axis is transformed, got axis={axis}. Use {name}n.")
    axes = None if axis is None else (axis,)
    return transform(name, kind, a, None if n is None else (n,), axes, norm, hermitian=hermitian)
