"""The compiler of kernels for NVIDIA GPUs: a kernel's jaxpr as Triton IR, in XLA's custom call.

Its rules are imported with the first kernel that is lowered for such a device.
"""

from collections.abc import Sequence as _Sequence

from ricci_kernels.calls._compiled_calls import KernelCall as _KernelCall
from ricci_kernels.calls._compiled_calls import kernel_compilers as _kernel_compilers
from ricci_stablehlo import Lowering as _Lowering
from ricci_stablehlo import Value as _Value

from ._table import triton_rules as triton_rules


def _compiled(ctx: _Lowering, call: _KernelCall, operands: _Sequence[_Value]) -> list[_Value]:
    from ._calls import triton_call  # noqa: PLC0415 - lazy: few programs need it

    return triton_call(ctx, call, operands)


_kernel_compilers["cuda"] = _compiled
