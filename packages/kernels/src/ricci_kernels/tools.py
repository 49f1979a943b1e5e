"""Tools for kernels: pictures of their grids."""

from ._drawing import draw as draw
