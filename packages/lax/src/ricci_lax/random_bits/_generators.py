"""Random numbers from the compiler's generators."""

from enum import IntEnum

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_batching import move_dim
from ricci_ir import Array, ArrayLike, Primitive, Shape, ShapedArray, ShapeLike
from ricci_lax.shapes import dynamic_update_index_in_dim, slice
from ricci_lax.structure import _operand_types as operand_types
from ricci_lax.structure import full, squeeze
from ricci_stablehlo import Lowering, Value, tensor_type

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p", "rng_uniform"]
__all__ += ["rng_uniform_p"]

_KEYS = {"uint32": 4, "uint64": 2}  # the number of words in a key of 128 bits
_BITS = ("uint8", "uint16", "uint32", "uint64")
# Drawing another dtype crashes the compiler, and the process with it.
_DRAWN = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64")


@ir.exported
class RandomAlgorithm(IntEnum):
    """The generators of ``rng_bit_generator``.

    ``RNG_THREE_FRY`` and ``RNG_PHILOX`` return the same bits everywhere; ``RNG_DEFAULT`` is
    whichever suits the device.
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


# rng_bit_generator


def _rng_bit_generator_aval(
    key: ShapedArray, *, shape: Shape, dtype: np.dtype, algorithm: RandomAlgorithm, out_sharding
) -> list[ShapedArray]:
    words = _KEYS.get(key.dtype.name)
    if words is None or key.shape != (words,):
        raise TypeError(
            "rng_bit_generator: the key must be uint32[4] or uint64[2], but it is "
            f"{key.str_short()}."
        )
    if dtype.name not in _BITS:
        raise TypeError(
            f"rng_bit_generator: random bits are of dtype {', '.join(_BITS)}, not {dtype}. Ask "
            "for the unsigned dtype of as many bits, and convert."
        )
    operand_types.check_nonnegative("rng_bit_generator", shape)
    return [ShapedArray(key.shape, key.dtype), ShapedArray(shape, dtype)]


def _rng_bit_generator_batch(axis, args, dims, *, shape, **params):
    """The batching rule: all examples draw from the first one's key, unlike in a loop."""
    keys, batched = move_dim(args[0], dims[0], 0), (axis.size, *shape)
    if not axis.size:
        return [keys, full(batched, 0, params["dtype"])], [0, 0]
    first = squeeze(slice(keys, (0, 0), (1, operand_types.shape_of(keys)[1])), (0,))
    new_key, bits = rng_bit_generator_p.bind(first, shape=batched, **params)
    return [dynamic_update_index_in_dim(keys, new_key, 0, 0), bits], [0, 0]


def _rng_bit_generator_lower(
    ctx: Lowering, key: Value, *, algorithm: RandomAlgorithm, **params: object
) -> list[Value]:
    key_aval, bits = ctx.outs
    state = ShapedArray((2,), np.dtype(np.uint64))
    narrow = key.dtype != state.dtype
    pairs = key_aval.resized((2, 2))
    # The operation's state is uint64[2]: each pair of 32-bit words is read as one word.
    if narrow:
        key = ctx.emit("stablehlo.reshape", [key], pairs)
        key = ctx.emit("stablehlo.bitcast_convert", [key], state)
    new_key, drawn = _write_bits(ctx, key, algorithm.name.removeprefix("RNG_"), [state, bits])
    if narrow:
        new_key = ctx.emit("stablehlo.bitcast_convert", [new_key], pairs)
        new_key = ctx.emit("stablehlo.reshape", [new_key], key_aval)
    return [new_key, drawn]


def _write_bits(ctx: Lowering, key: Value, algorithm: str, outs: list[ShapedArray]) -> list[Value]:
    if not ir.is_static_shape(outs[1].shape):
        return ctx.custom_call(
            "stablehlo.dynamic_rng_bit_generator",
            [key, ctx.integers(outs[1].shape, np.int32)],
            outs,
            api_version=2,
            annotations=f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>",
            shapes_as_operands=False,
        )
    types = f"({tensor_type(outs[0])}) -> ({', '.join(map(tensor_type, outs))})"
    body = f" {key}, algorithm = {algorithm}"
    return ctx.append("stablehlo.rng_bit_generator", body, outs, types)


# Operand: the key, uint32[4] or uint64[2].
rng_bit_generator_p: Primitive = ir.define(
    "rng_bit_generator",
    sharding=ir.unsharded(),
    abstract_eval=_rng_bit_generator_aval,
    multiple_results=True,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=_rng_bit_generator_batch,
    lower=_rng_bit_generator_lower,
)


def rng_bit_generator(
    key: ArrayLike,
    shape: ShapeLike,
    dtype: ir.DTypeLike = np.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: object = None,
) -> tuple[Array, Array]:
    """Random bits from one of the compiler's generators.

    Under ``vmap`` all examples draw from the first one's key, and only that key changes.

    Args:
      key: the generator's state, uint32[4] or uint64[2]. The first half is the key proper, the
        second a counter.
      shape: the shape of the bits.
      dtype: their dtype: uint8, uint16, uint32 or uint64.
      algorithm: the generator, a ``RandomAlgorithm`` or its number.
      out_sharding: the sharding of the bits.

    Returns:
      The state to draw from next, and the bits.

    Raises:
      TypeError: if the key, the shape or the dtype is none of these.
      ValueError: if the algorithm is none.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> key = np.zeros(4, np.uint32)
      >>> key, bits = lax.rng_bit_generator(key, (3,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
      >>> np.asarray(key).tolist(), [hex(b) for b in np.asarray(bits).tolist()]
      ([0, 0, 2, 0], ['0x6b200159', '0x99ba4efe', '0x508efb2c'])

    Source: StableHLO ``rng_bit_generator``; Salmon, Moraes, Dror and Shaw, "Parallel random
    numbers: as easy as 1, 2, 3", SC 2011.
    """
    if not isinstance(algorithm, RandomAlgorithm):
        algorithm = _algorithm(algorithm)
    new_key, bits = rng_bit_generator_p.bind(
        key,
        shape=operand_types.as_sizes(shape),
        dtype=np.dtype(ir.explicit_dtype(dtype, "rng_bit_generator")),
        algorithm=algorithm,
        out_sharding=None,
    )
    return new_key, operand_types.with_out_sharding(bits, out_sharding)


def _algorithm(number: int) -> RandomAlgorithm:
    try:
        return RandomAlgorithm(number)
    except ValueError:
        raise ValueError(
            f"rng_bit_generator: algorithm={number!r} is none of "
            f"{', '.join(a.name for a in RandomAlgorithm)}."
        ) from None


# rng_uniform


def _rng_uniform_aval(a: ShapedArray, b: ShapedArray, *, shape: Shape) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(
            f"rng_uniform: the bounds differ in dtype: {a.str_short()} and {b.str_short()}. "
            "Convert one of them."
        )
    if a.shape or b.shape:
        raise ValueError(
            f"rng_uniform: the bounds must be scalars, but they are {a.str_short()} and "
            f"{b.str_short()}."
        )
    if a.dtype.name not in _DRAWN:
        raise TypeError(
            f"rng_uniform: numbers of dtype {', '.join(_DRAWN)} can be drawn, but the bounds are "
            f"{a.dtype}. Draw others, and convert them."
        )
    operand_types.check_nonnegative("rng_uniform", shape)
    return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)


def _rng_uniform_lower(ctx: Lowering, a: Value, b: Value, *, shape: Shape) -> Value:
    out = ctx.out
    sizes = ctx.constant(np.asarray(shape, np.int64))
    return ctx.emit("stablehlo.rng", [a, b, sizes], out, ", distribution = UNIFORM", full=True)


_STATEFUL = (
    "it draws from a state of the device that no program sees. Draw with ricci.random or "
    "rng_bit_generator instead, whose state is a key"
)

# Operands: the lower and the upper bound, scalars.
rng_uniform_p: Primitive = ir.define(
    "rng_uniform",
    sharding=ir.unsharded(),
    abstract_eval=_rng_uniform_aval,
    jvp=ir.unsupported(_STATEFUL),
    transpose=not_linear,
    batch=ir.unsupported(_STATEFUL),
    lower=_rng_uniform_lower,
)


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: ShapeLike) -> Array:
    """Random numbers between two bounds, different ones with every call.

    They come from the device's state, so they cannot be reproduced, mapped over or
    differentiated; ``ricci.random`` has none of these limits.

    Args:
      a, b: scalars of one dtype: the least value, and the bound that values stay below.
      shape: the shape of the result.

    Returns:
      An array of their dtype.

    Raises:
      TypeError: if the shape is none, or numbers of the dtype cannot be drawn.
      ValueError: if the bounds differ in dtype, or are not scalars.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> x = np.asarray(lax.rng_uniform(2.0, 3.0, (5,)))
      >>> x.shape, bool(((2 <= x) & (x < 3)).all())
      ((5,), True)

    Source: StableHLO ``rng``.
    """
    return rng_uniform_p.bind(a, b, shape=operand_types.as_sizes(shape))
