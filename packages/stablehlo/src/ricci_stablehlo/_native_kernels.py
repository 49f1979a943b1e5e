"""Compiled kernels of the optional package ``ricci_native``, which replace operations on CPUs.

A lowering rule asks for a kernel and gets one where calling it is right and faster. It writes XLA's
operation otherwise, so that every module can be written without the package.
"""

from collections.abc import Callable, Mapping, Sequence

import ricci_ir as ir

from ._lowering import Lowering
from ._values import Value

__all__ = ["installed_kernels", "native_kernel", "NativeKernel"]


class NativeKernel(ir.TupleRecord):
    """A kernel, and the arrays for which it is faster than XLA's operation.

    Attributes:
      target: the name by which it is registered with XLA, which includes the package's version.
      least_elements: for each dtype that it supports, the fewest elements.
      least_length: the shortest rows: the least size of the dimension that it works along.
    """

    target: str
    least_elements: Mapping[str, int]
    least_length: int

    def write_rows(
        self,
        ctx: Lowering,
        operands: Sequence[Value],
        outs: Sequence[ir.ShapedArray],
        dimension: int,
        **attributes: int,
    ) -> list[Value]:
        """Write a call whose operands lie in memory row by row, along one dimension.

        Args:
          ctx: the context of the operation.
          operands: arrays of one shape.
          outs: the types of the results: of that shape, or without the dimension.
          dimension: the dimension of the rows.
          attributes: further parameters of the kernel, beside the ``length`` of a row.
        """
        shape = operands[0].shape
        others = tuple(d for d in reversed(range(len(shape))) if d != dimension)
        reduced = tuple(d - (d > dimension) for d in others)
        numbers = {"length": shape[dimension], **attributes}
        return ctx.custom_call(
            self.target,
            operands,
            outs,
            backend_config={name: f"{number} : i64" for name, number in numbers.items()},
            operand_layouts=[(dimension, *others)] * len(operands),
            result_layouts=[
                (dimension, *others) if len(out.shape) == len(shape) else reduced for out in outs
            ],
        )

    def write_elements(
        self, ctx: Lowering, operands: Sequence[Value], out: ir.ShapedArray
    ) -> Value:
        """Write a call whose operands and result lie in memory row by row.

        Args:
          ctx: the context of the operation.
          operands: arrays, of the result's shape or others that the kernel takes.
          out: the type of the result.
        """
        layouts = [tuple(reversed(range(len(x.shape)))) for x in operands]
        layout = tuple(reversed(range(out.ndim)))
        return ctx.custom_call(
            self.target, operands, [out], operand_layouts=layouts, result_layouts=[layout]
        )[0]


# The kernels of the package by operation; none where it is not installed.
installed_kernels: ir.Hook[Callable[[], Mapping[str, NativeKernel]]] = ir.Hook(
    "native kernels", provided_by="ricci_xla", default=dict
)


def native_kernel(
    ctx: Lowering, operation: str, aval: ir.ShapedArray, dimension: int
) -> NativeKernel | None:
    """Return the kernel to call for an operation along one dimension, or ``None``.

    There is one only in a module that stays in this process, since a file is read where the package
    may be missing; and not where the compiler shards the operation over several devices, since it
    would gather the operands of a call.

    Args:
      ctx: the context of the operation.
      operation: its name in the table of kernels.
      aval: the type of the operand that decides: an array of static shape.
      dimension: the dimension that the operation works along.
    """
    module = ctx.module
    if module.platform != "cpu" or not module.calls_native_kernels or not ir.native_kernels.value:
        return None
    if module.num_partitions > 1 and not module.manual:
        return None
    if not ir.is_static_shape(aval.shape):
        return None
    length = aval.shape[dimension]
    # Positions within a row are 32-bit numbers.
    if not 0 < length < 1 << 32:
        return None
    kernel = installed_kernels.call().get(operation)
    if kernel is None or length < kernel.least_length:
        return None
    least = kernel.least_elements.get(aval.dtype.name)
    return kernel if least is not None and aval.size >= least else None
