"""The types of ``grad(f, (0,))``, ``grad(f, (1,))`` and ``grad(f, -1)``, for type checkers alone.

As in ``_gradient_types``, by the annotations of the arguments. With ``-1`` the last argument of the
call is meant, whose position checkers know where a call has at most three.
"""

from collections.abc import Callable
from typing import Any, Concatenate, Protocol, overload

import ricci_ir as ir

from ._gradient_types import Unannotated


class GradientsAt0[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a tuple with the gradient with respect to the first argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[**P](
        self: "GradientsAt0[Callable[Concatenate[Unannotated, P], ir.ArrayLike]]",
        zeroth: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any]: ...
    @overload
    def __call__[**P](
        self: "GradientsAt0[Callable[Concatenate[float, P], ir.ArrayLike]]",
        zeroth: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P](
        self: "GradientsAt0[Callable[Concatenate[A, P], ir.ArrayLike]]",
        zeroth: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A]: ...
    @overload
    def __call__[**P](
        self: "GradientsAt0[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Any]: ...


class GradientsAt1[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a tuple with the gradient with respect to the second argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[Z, **P](
        self: "GradientsAt1[Callable[Concatenate[Z, Unannotated, P], ir.ArrayLike]]",
        zeroth: Z,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any]: ...
    @overload
    def __call__[Z, **P](
        self: "GradientsAt1[Callable[Concatenate[Z, float, P], ir.ArrayLike]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array]: ...
    @overload
    def __call__[Z, A: ir.ArrayTree, **P](
        self: "GradientsAt1[Callable[Concatenate[Z, A, P], ir.ArrayLike]]",
        zeroth: Z,
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A]: ...
    @overload
    def __call__[**P](
        self: "GradientsAt1[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Any]: ...


class GradientAtLast[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns the gradient with respect to the last argument of a call."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__(
        self: "GradientAtLast[Callable[[Unannotated], ir.ArrayLike]]", zeroth: object, /
    ) -> ir.PyTree: ...
    @overload
    def __call__(
        self: "GradientAtLast[Callable[[float], ir.ArrayLike]]", zeroth: ir.ArrayLike, /
    ) -> ir.Array: ...
    @overload
    def __call__[A: ir.ArrayTree](
        self: "GradientAtLast[Callable[[A], ir.ArrayLike]]", zeroth: A, /
    ) -> A: ...
    @overload
    def __call__[Z](
        self: "GradientAtLast[Callable[[Z, Unannotated], ir.ArrayLike]]",
        zeroth: Z,
        first: object,
        /,
    ) -> ir.PyTree: ...
    @overload
    def __call__[Z](
        self: "GradientAtLast[Callable[[Z, float], ir.ArrayLike]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
    ) -> ir.Array: ...
    @overload
    def __call__[Z, A: ir.ArrayTree](
        self: "GradientAtLast[Callable[[Z, A], ir.ArrayLike]]", zeroth: Z, first: A, /
    ) -> A: ...
    @overload
    def __call__[Y, Z](
        self: "GradientAtLast[Callable[[Y, Z, Unannotated], ir.ArrayLike]]",
        zeroth: Y,
        first: Z,
        second: object,
        /,
    ) -> ir.PyTree: ...
    @overload
    def __call__[Y, Z](
        self: "GradientAtLast[Callable[[Y, Z, float], ir.ArrayLike]]",
        zeroth: Y,
        first: Z,
        second: ir.ArrayLike,
        /,
    ) -> ir.Array: ...
    @overload
    def __call__[Y, Z, A: ir.ArrayTree](
        self: "GradientAtLast[Callable[[Y, Z, A], ir.ArrayLike]]", zeroth: Y, first: Z, second: A, /
    ) -> A: ...
    @overload
    def __call__[**P](
        self: "GradientAtLast[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> ir.PyTree: ...


class ValueAndGradientsAt0[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a value and a tuple with a gradient by the first argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[**P](
        self: "ValueAndGradientsAt0[Callable[Concatenate[Unannotated, P], ir.ArrayLike]]",
        zeroth: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[Any]]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientsAt0[Callable[Concatenate[float, P], ir.ArrayLike]]",
        zeroth: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[ir.Array]]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P](
        self: "ValueAndGradientsAt0[Callable[Concatenate[A, P], ir.ArrayLike]]",
        zeroth: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[A]]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientsAt0[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[ir.Array, tuple[Any]]: ...


class ValueAndGradientsAt1[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a value and a tuple with a gradient by the second argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[Z, **P](
        self: "ValueAndGradientsAt1[Callable[Concatenate[Z, Unannotated, P], ir.ArrayLike]]",
        zeroth: Z,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[Any]]: ...
    @overload
    def __call__[Z, **P](
        self: "ValueAndGradientsAt1[Callable[Concatenate[Z, float, P], ir.ArrayLike]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[ir.Array]]: ...
    @overload
    def __call__[Z, A: ir.ArrayTree, **P](
        self: "ValueAndGradientsAt1[Callable[Concatenate[Z, A, P], ir.ArrayLike]]",
        zeroth: Z,
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[A]]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientsAt1[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[ir.Array, tuple[Any]]: ...


class ValueAndGradientAtLast[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a value and the gradient by the last argument of a call."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__(
        self: "ValueAndGradientAtLast[Callable[[Unannotated], ir.ArrayLike]]", zeroth: object, /
    ) -> tuple[ir.Array, Any]: ...
    @overload
    def __call__(
        self: "ValueAndGradientAtLast[Callable[[float], ir.ArrayLike]]", zeroth: ir.ArrayLike, /
    ) -> tuple[ir.Array, ir.Array]: ...
    @overload
    def __call__[A: ir.ArrayTree](
        self: "ValueAndGradientAtLast[Callable[[A], ir.ArrayLike]]", zeroth: A, /
    ) -> tuple[ir.Array, A]: ...
    @overload
    def __call__[Z](
        self: "ValueAndGradientAtLast[Callable[[Z, Unannotated], ir.ArrayLike]]",
        zeroth: Z,
        first: object,
        /,
    ) -> tuple[ir.Array, Any]: ...
    @overload
    def __call__[Z](
        self: "ValueAndGradientAtLast[Callable[[Z, float], ir.ArrayLike]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
    ) -> tuple[ir.Array, ir.Array]: ...
    @overload
    def __call__[Z, A: ir.ArrayTree](
        self: "ValueAndGradientAtLast[Callable[[Z, A], ir.ArrayLike]]", zeroth: Z, first: A, /
    ) -> tuple[ir.Array, A]: ...
    @overload
    def __call__[Y, Z](
        self: "ValueAndGradientAtLast[Callable[[Y, Z, Unannotated], ir.ArrayLike]]",
        zeroth: Y,
        first: Z,
        second: object,
        /,
    ) -> tuple[ir.Array, Any]: ...
    @overload
    def __call__[Y, Z](
        self: "ValueAndGradientAtLast[Callable[[Y, Z, float], ir.ArrayLike]]",
        zeroth: Y,
        first: Z,
        second: ir.ArrayLike,
        /,
    ) -> tuple[ir.Array, ir.Array]: ...
    @overload
    def __call__[Y, Z, A: ir.ArrayTree](
        self: "ValueAndGradientAtLast[Callable[[Y, Z, A], ir.ArrayLike]]",
        zeroth: Y,
        first: Z,
        second: A,
        /,
    ) -> tuple[ir.Array, A]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientAtLast[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[ir.Array, Any]: ...
