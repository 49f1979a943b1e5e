"""Kernels for TPUs, operations in kernels, and an evaluator of their text."""

from . import memories as memories
from .evaluator import Kernel as Kernel
from .evaluator import kernel_texts as kernel_texts
from .kernels import KERNELS as KERNELS
from .kernels import rows as rows
from .operations import GROUPS as GROUPS
from .operations import operation_kernel as operation_kernel

OPERATIONS = {
    f"{group}: {name}": function for group, row in GROUPS.items() for name, function in row.items()
}
