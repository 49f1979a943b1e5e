"""The types of ``grad(f, 1)`` and ``grad(f, (0, 1))``, for type checkers alone.

As in ``_gradient_types``, by the annotations of the first two arguments. Tuples of one position,
and ``-1``, are in ``_gradient_types_of_tuples``; other ``argnums`` have gradients of type ``Any``.
"""

from collections.abc import Callable
from typing import Any, Concatenate, Protocol, overload

import ricci_ir as ir

from ._gradient_types import Unannotated, WithAux


class GradientAt1[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a gradient with respect to its second argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[Z, **P](
        self: "GradientAt1[Callable[Concatenate[Z, Unannotated, P], ir.ArrayLike]]",
        zeroth: Z,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Any: ...
    @overload
    def __call__[Z, **P](
        self: "GradientAt1[Callable[Concatenate[Z, float, P], ir.ArrayLike]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> ir.Array: ...
    @overload
    def __call__[Z, A: ir.ArrayTree, **P](
        self: "GradientAt1[Callable[Concatenate[Z, A, P], ir.ArrayLike]]",
        zeroth: Z,
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> A: ...
    @overload
    def __call__[**P](
        self: "GradientAt1[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...


class GradientWithAuxAt1[F: Callable[..., WithAux[Any]]](Protocol):
    """Returns a gradient and auxiliary data with respect to its second argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[Z, **P, Aux](
        self: "GradientWithAuxAt1[Callable[Concatenate[Z, Unannotated, P], WithAux[Aux]]]",
        zeroth: Z,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any, Aux]: ...
    @overload
    def __call__[Z, **P, Aux](
        self: "GradientWithAuxAt1[Callable[Concatenate[Z, float, P], WithAux[Aux]]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, Aux]: ...
    @overload
    def __call__[Z, A: ir.ArrayTree, **P, Aux](
        self: "GradientWithAuxAt1[Callable[Concatenate[Z, A, P], WithAux[Aux]]]",
        zeroth: Z,
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A, Aux]: ...
    @overload
    def __call__[**P, Aux](
        self: "GradientWithAuxAt1[Callable[P, WithAux[Aux]]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Any, Aux]: ...


class ValueAndGradientAt1[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a value and a gradient with respect to its second argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[Z, **P](
        self: "ValueAndGradientAt1[Callable[Concatenate[Z, Unannotated, P], ir.ArrayLike]]",
        zeroth: Z,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, Any]: ...
    @overload
    def __call__[Z, **P](
        self: "ValueAndGradientAt1[Callable[Concatenate[Z, float, P], ir.ArrayLike]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, ir.Array]: ...
    @overload
    def __call__[Z, A: ir.ArrayTree, **P](
        self: "ValueAndGradientAt1[Callable[Concatenate[Z, A, P], ir.ArrayLike]]",
        zeroth: Z,
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, A]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientAt1[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[ir.Array, Any]: ...


class ValueAndGradientWithAuxAt1[F: Callable[..., WithAux[Any]]](Protocol):
    """Returns a value, auxiliary data and a gradient with respect to its second argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[Z, **P, Aux](
        self: "ValueAndGradientWithAuxAt1[Callable[Concatenate[Z, Unannotated, P], WithAux[Aux]]]",
        zeroth: Z,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], Any]: ...
    @overload
    def __call__[Z, **P, Aux](
        self: "ValueAndGradientWithAuxAt1[Callable[Concatenate[Z, float, P], WithAux[Aux]]]",
        zeroth: Z,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], ir.Array]: ...
    @overload
    def __call__[Z, A: ir.ArrayTree, **P, Aux](
        self: "ValueAndGradientWithAuxAt1[Callable[Concatenate[Z, A, P], WithAux[Aux]]]",
        zeroth: Z,
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], A]: ...
    @overload
    def __call__[**P, Aux](
        self: "ValueAndGradientWithAuxAt1[Callable[P, WithAux[Aux]]]",
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], Any]: ...


class GradientAt01[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a gradient with respect to its first two arguments."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[B, **P](
        self: "GradientAt01[Callable[Concatenate[Unannotated, B, P], ir.ArrayLike]]",
        zeroth: object,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__[A, **P](
        self: "GradientAt01[Callable[Concatenate[A, Unannotated, P], ir.ArrayLike]]",
        zeroth: A,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__[**P](
        self: "GradientAt01[Callable[Concatenate[float, float, P], ir.ArrayLike]]",
        zeroth: ir.ArrayLike,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, ir.Array]: ...
    @overload
    def __call__[B: ir.ArrayTree, **P](
        self: "GradientAt01[Callable[Concatenate[float, B, P], ir.ArrayLike]]",
        zeroth: ir.ArrayLike,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, B]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P](
        self: "GradientAt01[Callable[Concatenate[A, float, P], ir.ArrayLike]]",
        zeroth: A,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A, ir.Array]: ...
    @overload
    def __call__[A: ir.ArrayTree, B: ir.ArrayTree, **P](
        self: "GradientAt01[Callable[Concatenate[A, B, P], ir.ArrayLike]]",
        zeroth: A,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A, B]: ...
    @overload
    def __call__[**P](
        self: "GradientAt01[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Any, Any]: ...


class GradientWithAuxAt01[F: Callable[..., WithAux[Any]]](Protocol):
    """Returns a gradient and auxiliary data with respect to its first two arguments."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[B, **P, Aux](
        self: "GradientWithAuxAt01[Callable[Concatenate[Unannotated, B, P], WithAux[Aux]]]",
        zeroth: object,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[Any, Any], Aux]: ...
    @overload
    def __call__[A, **P, Aux](
        self: "GradientWithAuxAt01[Callable[Concatenate[A, Unannotated, P], WithAux[Aux]]]",
        zeroth: A,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[Any, Any], Aux]: ...
    @overload
    def __call__[**P, Aux](
        self: "GradientWithAuxAt01[Callable[Concatenate[float, float, P], WithAux[Aux]]]",
        zeroth: ir.ArrayLike,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, ir.Array], Aux]: ...
    @overload
    def __call__[B: ir.ArrayTree, **P, Aux](
        self: "GradientWithAuxAt01[Callable[Concatenate[float, B, P], WithAux[Aux]]]",
        zeroth: ir.ArrayLike,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, B], Aux]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P, Aux](
        self: "GradientWithAuxAt01[Callable[Concatenate[A, float, P], WithAux[Aux]]]",
        zeroth: A,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[A, ir.Array], Aux]: ...
    @overload
    def __call__[A: ir.ArrayTree, B: ir.ArrayTree, **P, Aux](
        self: "GradientWithAuxAt01[Callable[Concatenate[A, B, P], WithAux[Aux]]]",
        zeroth: A,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[A, B], Aux]: ...
    @overload
    def __call__[**P, Aux](
        self: "GradientWithAuxAt01[Callable[P, WithAux[Aux]]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[tuple[Any, Any], Aux]: ...


class ValueAndGradientAt01[F: Callable[..., ir.ArrayLike]](Protocol):
    """Returns a value and a gradient with respect to its first two arguments."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[B, **P](
        self: "ValueAndGradientAt01[Callable[Concatenate[Unannotated, B, P], ir.ArrayLike]]",
        zeroth: object,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[Any, Any]]: ...
    @overload
    def __call__[A, **P](
        self: "ValueAndGradientAt01[Callable[Concatenate[A, Unannotated, P], ir.ArrayLike]]",
        zeroth: A,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[Any, Any]]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientAt01[Callable[Concatenate[float, float, P], ir.ArrayLike]]",
        zeroth: ir.ArrayLike,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[ir.Array, ir.Array]]: ...
    @overload
    def __call__[B: ir.ArrayTree, **P](
        self: "ValueAndGradientAt01[Callable[Concatenate[float, B, P], ir.ArrayLike]]",
        zeroth: ir.ArrayLike,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[ir.Array, B]]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P](
        self: "ValueAndGradientAt01[Callable[Concatenate[A, float, P], ir.ArrayLike]]",
        zeroth: A,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[A, ir.Array]]: ...
    @overload
    def __call__[A: ir.ArrayTree, B: ir.ArrayTree, **P](
        self: "ValueAndGradientAt01[Callable[Concatenate[A, B, P], ir.ArrayLike]]",
        zeroth: A,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, tuple[A, B]]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradientAt01[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[ir.Array, tuple[Any, Any]]: ...


class ValueAndGradientWithAuxAt01[F: Callable[..., WithAux[Any]]](Protocol):
    """Returns a value, auxiliary data and a gradient with respect to its first two arguments."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[B, **P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[Concatenate[Unannotated, B, P], WithAux[Aux]]]",
        zeroth: object,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[Any, Any]]: ...
    @overload
    def __call__[A, **P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[Concatenate[A, Unannotated, P], WithAux[Aux]]]",
        zeroth: A,
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[Any, Any]]: ...
    @overload
    def __call__[**P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[Concatenate[float, float, P], WithAux[Aux]]]",
        zeroth: ir.ArrayLike,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[ir.Array, ir.Array]]: ...
    @overload
    def __call__[B: ir.ArrayTree, **P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[Concatenate[float, B, P], WithAux[Aux]]]",
        zeroth: ir.ArrayLike,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[ir.Array, B]]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[Concatenate[A, float, P], WithAux[Aux]]]",
        zeroth: A,
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[A, ir.Array]]: ...
    @overload
    def __call__[A: ir.ArrayTree, B: ir.ArrayTree, **P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[Concatenate[A, B, P], WithAux[Aux]]]",
        zeroth: A,
        first: B,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[A, B]]: ...
    @overload
    def __call__[**P, Aux](
        self: "ValueAndGradientWithAuxAt01[Callable[P, WithAux[Aux]]]",
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], tuple[Any, Any]]: ...
