"""Tools for kernels: pictures of their grids, and checks."""

from ._drawing import draw as draw
from .checks._checking import KernelFinding as KernelFinding
from .checks._checking import check as check
