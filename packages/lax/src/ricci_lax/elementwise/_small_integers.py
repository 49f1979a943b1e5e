"""Operations on integers of 2 and 4 bits that XLA does not compile for CPUs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, traced

from ._conversion import convert_element_type

__all__ = ["lower_in_bytes"]

_BYTES: dict[np.dtype, np.dtype] = {
    **dict.fromkeys(map(np.dtype, (ir.int2, ir.int4)), np.dtype(np.int8)),
    **dict.fromkeys(map(np.dtype, (ir.uint2, ir.uint4)), np.dtype(np.uint8)),
}


def lower_in_bytes(
    ctx: Lowering, primitive: ir.Primitive, operands: Sequence[Value], params: dict[str, Any]
) -> list[Value] | None:
    """Write an operation on integers of 2 and 4 bits as that on bytes, with converted results.

    XLA's CPU backend sorts integers of 2 bits as if each were a byte, and reads past the operand;
    it has neither the positions of their extrema nor products that are wider than the factors.

    Returns:
      The results; ``None`` on other platforms, and if no operand has such a dtype.
    """
    if ctx.platform != "cpu" or not any(x.dtype in _BYTES for x in operands):
        return None
    dtypes = [out.dtype for out in ctx.outs]

    def run(*xs: ir.Array) -> list[ir.Array]:
        wide = [convert_element_type(x, _BYTES.get(x.dtype, x.dtype)) for x in xs]
        results = primitive.bind(*wide, **params)
        results = results if primitive.multiple_results else [results]
        return [convert_element_type(r, d) for r, d in zip(results, dtypes, strict=True)]

    return traced(run)(ctx, *operands)
