"""Kernels compiled for TPUs: their jaxprs in the text of Mosaic's dialects.

The rules of kind ``mosaic`` are a table that this package fills, for the primitives of
``ricci_lax`` and for those of kernels. A primitive without one is inlined if it has a program, and
refused else.
"""

from ricci_kernels.calls._compiled_calls import kernel_compilers

from . import (
    _compositions,
    _contractions,
    _control_flow,
    _copies,
    _devices,
    _elementwise,
    _packing,
    _random,
    _reductions,
    _structure,
)
from ._blocks import Buffer as Buffer
from ._blocks import plan as plan
from ._kernel import compile_kernel as compile_kernel
from ._writer import mosaic_rules as mosaic_rules

kernel_compilers["tpu"] = compile_kernel
