"""The compiler of kernels for NVIDIA GPUs: a kernel's jaxpr as Triton IR, in XLA's custom call.

It is imported with the first kernel that is lowered for such a device.
"""

from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING as _TYPE_CHECKING

import ricci_ir as _ir
from ricci_kernels._compiled_calls import KernelCall as _KernelCall
from ricci_kernels._compiled_calls import kernel_compilers as _kernel_compilers
from ricci_stablehlo import Lowering as _Lowering
from ricci_stablehlo import Value as _Value

from ._table import triton_rules as triton_rules

if _TYPE_CHECKING:
    from ._calls import kernel_text as kernel_text
    from ._calls import triton_call as triton_call

_names = {"kernel_text": "._calls:kernel_text", "triton_call": "._calls:triton_call"}
__all__ = ["kernel_text", "triton_call", "triton_rules"]

if not _TYPE_CHECKING:
    __getattr__, __dir__ = _ir.lazy_names(globals(), _names)


def _compiled(ctx: _Lowering, call: _KernelCall, operands: _Sequence[_Value]) -> list[_Value]:
    return __getattr__("triton_call")(ctx, call, operands)


_kernel_compilers["cuda"] = _compiled
