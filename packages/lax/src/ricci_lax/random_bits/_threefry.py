"""Threefry-2x32, the counter-based generator behind random keys, as primitives."""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_batching import move_dim
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._identity import lower_barrier
from ricci_lax.structure._operand_types import broadcast_result_shape, shape_of
from ricci_stablehlo import Lowering, Value

__all__ = ["threefry2x32_p", "threefry2x32_xor_p"]

_UINT32 = np.dtype("uint32")
# Table 2 of the paper: how far a word is rotated in each of eight rounds, which then repeat.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# The key's words are extended by their xor with this (section 4.1, from Skein).
_PARITY = 0x1BD11BDA
_GROUPS = 5  # of four rounds each, with the key added after each


class _WordOperations[Word](Protocol):
    """Operations on 32-bit words."""

    def add(self, x: Word, y: Word, /) -> Word: ...
    def xor(self, x: Word, y: Word, /) -> Word: ...
    def rotate(self, x: Word, bits: int, /) -> Word: ...
    def constant(self, number: int, /) -> Word: ...


def encrypt[Word](
    key: Sequence[Word], counter: Sequence[Word], ops: _WordOperations[Word]
) -> tuple[Word, Word]:
    """Threefry-2x32 with 20 rounds, on words of any kind.

    Args:
      key, counter: two words each.
      ops: computes with these words.
    """
    (k0, k1), (x0, x1) = key, counter
    add, xor, constant = ops.add, ops.xor, ops.constant
    keys = (k0, k1, xor(xor(k0, k1), constant(_PARITY)))
    x0, x1 = add(x0, keys[0]), add(x1, keys[1])
    for group in range(_GROUPS):
        for bits in _ROTATIONS[group % 2]:
            x0 = add(x0, x1)
            x1 = xor(x0, ops.rotate(x1, bits))
        # Key injection: two of the three words in turn, and the number of the injection.
        x0 = add(x0, keys[(group + 1) % 3])
        x1 = add(add(x1, keys[(group + 2) % 3]), constant(group + 1))
    return x0, x1


class _StableHLO:
    """Writes each step as an operation; values of one shape."""

    __slots__ = ("aval", "constants", "ctx")

    def __init__(self, ctx: Lowering, aval: ir.ShapedArray):
        self.ctx = ctx
        self.aval = aval
        self.constants: dict[int, Value] = {}

    def constant(self, number: int) -> Value:
        cached = self.constants.get(number)
        if cached is None:
            scalar = self.ctx.constant(np.uint32(number))
            cached = self.constants[number] = self.ctx.broadcast_to(scalar, self.aval.shape)
        return cached

    def add(self, x: Value, y: Value) -> Value:
        return self.ctx.emit("stablehlo.add", [x, y], self.aval)

    def xor(self, x: Value, y: Value) -> Value:
        return self.ctx.emit("stablehlo.xor", [x, y], self.aval)

    def rotate(self, x: Value, bits: int) -> Value:
        emit, constant = self.ctx.emit, self.constant
        high = emit("stablehlo.shift_left", [x, constant(bits)], self.aval)
        low = emit("stablehlo.shift_right_logical", [x, constant(32 - bits)], self.aval)
        return emit("stablehlo.or", [high, low], self.aval)


def _threefry2x32_aval(*avals: ir.ShapedArray) -> ir.ShapedArray:
    if any(aval.dtype != _UINT32 for aval in avals):
        raise TypeError(
            "threefry2x32 works on words of uint32, but was given "
            f"{[aval.str_short() for aval in avals]}."
        )
    return ir.ShapedArray(broadcast_result_shape("threefry2x32", *avals), _UINT32)


def _aligned_for_batch(args, dims):
    """The operands with the batch in front, which broadcast."""
    shapes = [shape_of(x) for x in args]
    rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))

    # The batch becomes the first dimension; the others align at the end, with sizes of 1 between.
    def align(x, shape, dim):
        if dim is not None:
            x = move_dim(x, dim, 0)
            dims = (0, *range(1 + rank - (len(shape) - 1), rank + 1))
            sizes = shape_of(x)
            padded = (sizes[0],) + (1,) * (rank + 1 - len(sizes)) + sizes[1:]
            return broadcast_in_dim(x, padded, dims)
        return broadcast_in_dim(x, (1, *shape), range(1, len(shape) + 1)) if shape else x

    return [align(*each) for each in zip(args, shapes, dims, strict=True)]


def _write_words(ctx: Lowering, operands: Sequence[Value]) -> tuple[Value, Value]:
    aval = ctx.outs[0]
    full = [ctx.broadcast_to(x, aval.shape) for x in operands]
    return encrypt(full[:2], full[2:], _StableHLO(ctx, aval))


def _separate(ctx: Lowering, *words: Value) -> Sequence[Value]:
    """Keep words apart from the operations on them.

    Without the barrier, XLA fuses the cipher with the operations on the bits and contracts some of
    them, which changes the last digit of results. LLVM also vectorizes the chain better alone.
    """
    return lower_barrier(ctx, *words) if ctx.platform == "cpu" else words


def _threefry2x32_lower(ctx: Lowering, *operands: Value) -> Sequence[Value]:
    words = _write_words(ctx, operands)
    return _by_pairs(ctx, *words) if ctx.platform == "cpu" else words


def _by_pairs(ctx: Lowering, x0: Value, x1: Value) -> Sequence[Value]:
    """Both words by way of integers of 64 bits, which are a single result of the cipher.

    XLA's CPUs compute all of an operation's operands for each result that is not one of a fusion.
    """
    narrow = ctx.outs[0]
    wide = narrow.update(dtype=np.dtype("uint64"))
    bits = ctx.broadcast_to(ctx.constant(np.uint64(32)), narrow.shape)
    low, high = (ctx.emit("stablehlo.convert", [x], wide) for x in (x0, x1))
    high = ctx.emit("stablehlo.shift_left", [high, bits], wide)
    (pair,) = _separate(ctx, ctx.emit("stablehlo.or", [low, high], wide))
    upper = ctx.emit("stablehlo.shift_right_logical", [pair, bits], wide)
    return [ctx.emit("stablehlo.convert", [x], narrow) for x in (pair, upper)]


def _threefry2x32_xor_lower(ctx: Lowering, *operands: Value) -> Value:
    word = ctx.emit("stablehlo.xor", _write_words(ctx, operands), ctx.out)
    return _separate(ctx, word)[0]


# Operands: the key's two words and the counter's two words, uint32, broadcast elementwise.
threefry2x32_p: ir.Primitive = ir.define(
    "threefry2x32",
    sharding=ir.by_element,
    multiple_results=True,
    abstract_eval=lambda *avals: [_threefry2x32_aval(*avals)] * 2,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=lambda axis, args, dims: (threefry2x32_p.bind(*_aligned_for_batch(args, dims)), [0, 0]),
    lower=_threefry2x32_lower,
)
# The words' xor, in one operation.
threefry2x32_xor_p: ir.Primitive = ir.define(
    "threefry2x32_xor",
    sharding=ir.by_element,
    abstract_eval=_threefry2x32_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=lambda axis, args, dims: (threefry2x32_xor_p.bind(*_aligned_for_batch(args, dims)), 0),
    lower=_threefry2x32_xor_lower,
)


class _NumPy:
    """Computes each step with NumPy, on unsigned 32-bit arrays (which wrap silently)."""

    add, xor, constant = staticmethod(np.add), staticmethod(np.bitwise_xor), np.uint32

    @staticmethod
    def rotate(x: np.ndarray, bits: int) -> np.ndarray:
        return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def threefry2x32_numpy(
    k0: ir.ArrayLike, k1: ir.ArrayLike, x0: ir.ArrayLike, x1: ir.ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """The same function of NumPy arrays, for use without a compiler.

    Example:
      >>> from ricci_lax.random_bits._threefry import threefry2x32_numpy
      >>> [hex(int(word)) for word in threefry2x32_numpy(0, 0, 0, 0)]
      ['0x6b200159', '0x99ba4efe']
    """
    words = [np.asarray(x, _UINT32)[np.newaxis] for x in (k0, k1, x0, x1)]
    y0, y1 = encrypt(words[:2], words[2:], cast(_WordOperations[np.ndarray], _NumPy))
    return y0[0], y1[0]


def threefry2x32(
    k0: ir.ArrayLike, k1: ir.ArrayLike, x0: ir.ArrayLike, x1: ir.ArrayLike
) -> tuple[ir.Array, ir.Array]:
    """Encrypt counters with a key: the Threefry-2x32 cipher with 20 rounds.

    Args:
      k0, k1: the key's two words, uint32.
      x0, x1: the counter's two words, uint32. All four are scalars or arrays of one rank, and
        sizes of 1 are repeated.

    Returns:
      Two uint32 arrays of the shape that the operands broadcast to.

    Raises:
      TypeError: if an operand is not uint32, or shapes do not fit.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    y0, y1 = threefry2x32_p.bind(k0, k1, x0, x1)
    return y0, y1


def threefry2x32_xor(
    k0: ir.ArrayLike, k1: ir.ArrayLike, x0: ir.ArrayLike, x1: ir.ArrayLike
) -> ir.Array:
    """Encrypt counters as ``threefry2x32`` does, and combine the words by exclusive or."""
    return threefry2x32_xor_p.bind(k0, k1, x0, x1)
