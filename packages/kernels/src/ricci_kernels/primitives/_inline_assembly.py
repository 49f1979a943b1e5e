"""Assembly of NVIDIA GPUs (PTX) that is applied to elements."""

from collections.abc import Sequence

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_stablehlo import Lowering, Value

__all__ = ["elementwise_inline_asm"]


def elementwise_inline_asm(
    asm: str,
    *,
    args: Sequence[ir.ArrayLike],
    constraints: str,
    pack: int,
    result_shape_dtypes: Sequence[ir.ShapeDtypeStruct],
) -> list[ir.Array]:
    """Apply instructions of NVIDIA's assembly (PTX) to the elements of arrays.

    They are a part of a kernel that is compiled for a GPU. An interpreter cannot run them: write a
    branch with the same operation of ``lax`` or ``numpy`` for it.

    Args:
      asm: the instructions, with ``$0``, ``$1`` and so on for the registers of the results and then
        of the operands.
      args: the operands, arrays of one shape.
      constraints: for each register its kind, as ``"=f,f"``: ``f`` for float32, ``r`` for 32 bits,
        ``h`` for 16, ``l`` for 64; those of results begin with ``=``.
      pack: the number of elements that the instructions compute at once.
      result_shape_dtypes: the types of the results, of the shape of the operands.

    Returns:
      The results.

    Raises:
      ValueError: if there are no operands, or if shapes differ.
      NotImplementedError: when the kernel is interpreted, or compiled for another device.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> x = ricci.ShapeDtypeStruct((128,), np.float32)
      >>> def kernel(x, out):
      ...     (out[...],) = plgpu.elementwise_inline_asm(
      ...         "tanh.approx.f32 $0, $1;",
      ...         args=[x[...]],
      ...         constraints="=f,f",
      ...         pack=1,
      ...         result_shape_dtypes=[ricci.ShapeDtypeStruct((128,), np.float32)],
      ...     )
      >>> text = pl.lower_as_mlir(pl.pallas_call(kernel, x), x, platforms=["cuda"])
      >>> "tanh.approx" in text
      True
    """
    arrays = [jnp.asarray(x) for x in args]
    outs = tuple([ir.ShapedArray(tuple(x.shape), x.dtype) for x in result_shape_dtypes])
    shapes = {x.shape for x in (*arrays, *outs)}
    if not arrays or len(shapes) != 1:
        raise ValueError(
            f"elementwise_inline_asm: operands of shapes {[x.shape for x in arrays]} and results "
            f"of {[x.shape for x in outs]}. Pass one operand or more, all of one shape."
        )
    return elementwise_inline_asm_p.bind(
        *arrays, asm=asm, constraints=constraints, pack=pack, result_shape_dtypes=outs
    )


def _lower(ctx: Lowering, *operands: Value, asm: str, **_: object) -> list[Value]:
    raise NotImplementedError(
        f"elementwise_inline_asm: {asm!r:.60} is an instruction of NVIDIA GPUs, which only kernels "
        f"compiled for them have; here it would run on {ctx.platform.upper()}. Write the operation "
        "with lax or numpy for interpreted kernels."
    )


_unknown = ir.unsupported("the derivative of assembly is not known: use custom_jvp")

# Operands: arrays of one shape.
elementwise_inline_asm_p: ir.Primitive = ir.define(
    "elementwise_inline_asm",
    abstract_eval=lambda *_, result_shape_dtypes, **params: list(result_shape_dtypes),
    multiple_results=True,
    sharding=ir.by_program,
    jvp=_unknown,
    transpose=_unknown,
    batch=ir.unsupported("assembly is written in kernels, whose grid vmap extends"),
    lower=_lower,
)
