"""The types of a layer's functions."""

from collections.abc import Callable
from typing import Any

from ricci_ir import Array

type Shapes = Any  # a shape, or for several inputs a sequence of shapes
type InitFun = Callable[[Array, Shapes], tuple[Shapes, Any]]
type ApplyFun = Callable[..., Any]
type Layer = tuple[InitFun, ApplyFun]
