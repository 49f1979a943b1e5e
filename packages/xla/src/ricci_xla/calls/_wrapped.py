"""The type of jitted functions."""

from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Protocol,
    Self,
    final,
    overload,
    runtime_checkable,
)

import ricci_ir as ir

if TYPE_CHECKING:
    from ._stages import Lowered, Traced

__all__ = ["CompilerOptions", "Wrapped"]

CompilerOptions = dict[str, str | bool | int | float]


@final
class _Untyped:
    """A class that matches only parameters without an annotation."""


@runtime_checkable
class Wrapped[**P, R](Protocol):
    """A jitted function, which can also be traced, lowered and compiled in separate steps.

    These steps take descriptions of arrays (``ShapeDtypeStruct``) as well, whatever the function's
    annotations.
    """

    if TYPE_CHECKING:
        __name__: str

        @property
        def __wrapped__(self) -> Callable[P, R]: ...

        @overload
        def __get__(self, instance: None, owner: type[Any], /) -> Self: ...
        @overload
        def __get__[T](
            self: "Wrapped[Concatenate[_Untyped, ...], T]",
            instance: object,
            owner: type[Any] | None = None,
            /,
        ) -> Callable[..., T]: ...
        @overload
        def __get__[S, **Q, T](
            self: "Wrapped[Concatenate[S, Q], T]", instance: S, owner: type[Any] | None = None, /
        ) -> Callable[Q, T]: ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function, compiled for the arguments' types."""
        ...

    def trace(self, *args: object, **kwargs: object) -> "Traced":
        """Trace the function for arguments, or descriptions of arguments, of these types."""
        ...

    def lower(self, *args: object, **kwargs: object) -> "Lowered":
        """Trace the function, and lower its jaxpr to StableHLO."""
        ...

    def eval_shape(self, *args: object, **kwargs: object) -> ir.PyTree:
        """Trace the function, and describe its result by a pytree of ``ShapeDtypeStruct``."""
        ...

    def clear_cache(self) -> None:
        """Clear the function's cache. Later calls trace and compile it again."""
        ...
