"""The types of Jacobians, for type checkers."""

from typing import Protocol, overload

import ricci_ir as ir

__all__ = ["ArrayJacobian"]


class ArrayJacobian[**P](Protocol):
    """A Jacobian by the first argument: an array if that is one, else a pytree of arrays."""

    @overload
    def __call__(self, x: ir.ArrayLike, /, *args: P.args, **kwargs: P.kwargs) -> ir.Array: ...
    @overload
    def __call__(self, x: ir.PyTree, /, *args: P.args, **kwargs: P.kwargs) -> ir.PyTree: ...
