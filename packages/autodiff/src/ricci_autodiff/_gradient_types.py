"""The types of ``grad(f)`` and ``value_and_grad(f)``, for type checkers alone.

The gradient has the structure of the argument. It has its type where all of its leaves are arrays;
that of an argument that may be a number, such as an ``ArrayLike``, is an array. Of other arguments,
such as a ``dict[str, int]``, annotations do not express it, and it is ``Any``.

``grad`` takes a function of any type: a ``Callable`` with a type variable for its first parameter
would give that type to the parameter of a lambda. The annotations are read where the gradient is
called, by the type of ``self``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, Protocol, TypedDict, final, overload

import ricci_ir as ir

type Only0 = tuple[Literal[0]]
type Only1 = tuple[Literal[1]]
type First2 = tuple[Literal[0], Literal[1]]
type WithAux[Aux] = tuple[ir.ArrayLike, Aux]


class GradOptions(TypedDict, total=False):
    """The keywords of ``grad`` that do not change the result's type."""

    holomorphic: bool
    allow_int: bool
    reduce_axes: Sequence[Any]


@final
class Unannotated:
    """A class that only parameters without an annotation accept."""


class Gradient[F: Callable[..., ir.ArrayLike]](Protocol):
    """A function that returns the gradient with respect to its first argument."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[**P](
        self: "Gradient[Callable[Concatenate[Unannotated, P], ir.ArrayLike]]",
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> ir.PyTree: ...
    @overload
    def __call__[**P](
        self: "Gradient[Callable[Concatenate[float, P], ir.ArrayLike]]",
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> ir.Array: ...
    @overload
    def __call__[A: ir.ArrayTree, **P](
        self: "Gradient[Callable[Concatenate[A, P], ir.ArrayLike]]",
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> A: ...
    @overload
    def __call__[**P](
        self: "Gradient[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> ir.PyTree: ...


class GradientWithAux[F: Callable[..., WithAux[Any]]](Protocol):
    """A function that returns the gradient and auxiliary data."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[**P, Aux](
        self: "GradientWithAux[Callable[Concatenate[Unannotated, P], WithAux[Aux]]]",
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[Any, Aux]: ...
    @overload
    def __call__[**P, Aux](
        self: "GradientWithAux[Callable[Concatenate[float, P], WithAux[Aux]]]",
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, Aux]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P, Aux](
        self: "GradientWithAux[Callable[Concatenate[A, P], WithAux[Aux]]]",
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[A, Aux]: ...
    @overload
    def __call__[**P, Aux](
        self: "GradientWithAux[Callable[P, WithAux[Aux]]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Any, Aux]: ...


class ValueAndGradient[F: Callable[..., ir.ArrayLike]](Protocol):
    """A function that returns a value and its gradient."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[**P](
        self: "ValueAndGradient[Callable[Concatenate[Unannotated, P], ir.ArrayLike]]",
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, Any]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradient[Callable[Concatenate[float, P], ir.ArrayLike]]",
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, ir.Array]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P](
        self: "ValueAndGradient[Callable[Concatenate[A, P], ir.ArrayLike]]",
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[ir.Array, A]: ...
    @overload
    def __call__[**P](
        self: "ValueAndGradient[Callable[P, ir.ArrayLike]]", *args: P.args, **kwargs: P.kwargs
    ) -> tuple[ir.Array, Any]: ...


class ValueAndGradientWithAux[F: Callable[..., WithAux[Any]]](Protocol):
    """A function that returns a value, auxiliary data and the gradient."""

    @property
    def __wrapped__(self) -> F:
        """The differentiated function."""
        ...

    @overload
    def __call__[**P, Aux](
        self: "ValueAndGradientWithAux[Callable[Concatenate[Unannotated, P], WithAux[Aux]]]",
        first: object,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], Any]: ...
    @overload
    def __call__[**P, Aux](
        self: "ValueAndGradientWithAux[Callable[Concatenate[float, P], WithAux[Aux]]]",
        first: ir.ArrayLike,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], ir.Array]: ...
    @overload
    def __call__[A: ir.ArrayTree, **P, Aux](
        self: "ValueAndGradientWithAux[Callable[Concatenate[A, P], WithAux[Aux]]]",
        first: A,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], A]: ...
    @overload
    def __call__[**P, Aux](
        self: "ValueAndGradientWithAux[Callable[P, WithAux[Aux]]]",
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> tuple[tuple[ir.Array, Aux], Any]: ...
