"""Tools for kernels: pictures of their grids, and checks."""

from ._checking import KernelFinding as KernelFinding
from ._checking import check as check
from ._drawing import draw as draw
