"""The rules of narrow numbers in words, and of rounding by random bits."""

from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.tpu import _packing as packing

from ._writer import Value, Writer, memory_element, mosaic_rules


def _pack(ctx: Writer, *words: Value, packed_dtype: np.dtype, **_: object) -> list[Value]:
    attribute = f"target_type = {memory_element(packed_dtype)}"
    return [ctx.emit("tpu.pack_elementwise", words, ctx.out, attribute)]


def _unpack(
    ctx: Writer, words: Value, *, index: int, packed_dtype: np.dtype, jaxpr: ir.Jaxpr, **_: object
) -> list[Any]:
    # The operation extends the sign of all integers.
    if ir.issubdtype(packed_dtype, np.unsignedinteger):
        return ctx.apply(jaxpr, [words])
    attributes = f"index = {index} : i32, source_type = {memory_element(packed_dtype)}"
    return [ctx.emit("tpu.unpack_elementwise", [words], ctx.out, attributes)]


def _stochastic_round(ctx: Writer, x: Value, random_bits: Value, **_: object) -> list[Value]:
    return [ctx.emit("tpu.stochastic_convert", [x, random_bits], ctx.out)]


mosaic_rules.update(
    {
        packing.pack_p: _pack,
        packing.stochastic_round_p: _stochastic_round,
        packing.unpack_p: _unpack,
    }
)
