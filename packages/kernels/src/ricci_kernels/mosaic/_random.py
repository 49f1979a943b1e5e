"""The rules of random numbers: those of a TPU's generator, and keys for it in scalar memory."""

from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.primitives import _tpu_random as random
from ricci_kernels.tpu import _keys as keys

from ._elementwise import converted
from ._writer import INT32, KeyValue, Value, Writer, mosaic_rules

_UINT32 = np.dtype("uint32")


def _seed(ctx: Writer, *words: Value) -> list[Any]:
    ctx.write("tpu.prng_set_seed_32", words)
    return []


def _draw(ctx: Writer, shape: tuple[int, ...], dtype: np.dtype) -> Value:
    if len(shape) < 2:
        raise ctx.refuse(f"random bits have two dimensions or more, not the shape {shape}.")
    return ctx.emit("tpu.prng_random_bits", [], ir.ShapedArray(shape, dtype))


def _random_bits(ctx: Writer, *, shape: tuple[int, ...]) -> Value:
    return _draw(ctx, shape, INT32)


def _bits_of_key(ctx: Writer, key: KeyValue, *, bit_width: int, shape: tuple[int, ...]) -> Value:
    _check_key(ctx, key)
    if bit_width != 32:
        raise ctx.refuse(f"its random bits are of {bit_width} bits. Draw 32, and convert them.")
    _seed(ctx, *key.words)
    return _draw(ctx, shape, _UINT32)


def _fold_in(ctx: Writer, key: KeyValue, number: Value) -> KeyValue:
    _check_key(ctx, key)
    word = converted(ctx, number, _UINT32)
    jaxpr = ir.trace_to_jaxpr(
        lambda *xs: list(keys.folded_words(xs[:2], xs[2])), [ir.ShapedArray((), _UINT32)] * 3
    )
    return KeyValue(key.aval, ctx.apply(jaxpr, [*key.words, word]))


def _check_key(ctx: Writer, key: KeyValue) -> None:
    if key.aval.dtype != keys.key_dtype:
        raise ctx.refuse(
            f"its key has the dtype {key.aval.dtype}. Pass pltpu.to_pallas_key(key) to the kernel."
        )


mosaic_rules.update(
    {
        random.prng_random_bits_p: _random_bits,
        random.prng_seed_p: _seed,
        ir.primitives["random_bits"]: _bits_of_key,
        ir.primitives["random_fold_in"]: _fold_in,
    }
)
