"""``jet``: higher derivatives of functions along a curve, by power series."""

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any, final

import numpy as np

import ricci_ir as ir
from ricci_autodiff import FlatFunction, Zero, has_tangent, instantiate
from ricci_autodiff.jets import Coefficient, jet_flat
from ricci_lax.elementwise._arithmetic import div, mul
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_pytree import PyTreeDef, tree_flatten, tree_structure, tree_unflatten

__all__ = ["jet", "jet2", "zero_series", "zero_term", "ZeroSeries", "ZeroTerm"]


@final
class ZeroTerm:
    """A term of a series that is zero, without an array."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_term"


@final
class ZeroSeries:
    """A series all of whose terms are zero: that of an argument that does not move."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_series"


zero_term: ZeroTerm = ZeroTerm()
zero_series: ZeroSeries = ZeroSeries()


@ir.api_boundary
def jet(
    fun: Callable[..., ir.PyTree],
    primals: Sequence[ir.ArrayLike],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[ir.PyTree, ir.PyTree]:
    """The value of a function and its derivatives along a curve, up to any order.

    With arguments ``x(t)`` whose derivatives at 0 are the terms of ``series``, the result is
    ``y(t) = fun(x(t))``, and its derivatives at 0 are returned. All orders are computed together,
    at a cost that grows with the square of the order; that of nested ``jvp`` doubles with each.

    Args:
      fun: a function of arrays that returns a pytree of arrays.
      primals: a tuple or list of the arguments at 0.
      series: for each argument a list of its derivatives of order 1, 2, …, all lists of one length.
        A term has the shape of its primal, or is a scalar that is broadcast to it.
        ``zero_term`` is a term that is zero, ``zero_series`` a list of such.
      factorial_scaled: whether terms are derivatives. If not, they are Taylor coefficients, which
        are the derivatives divided by the factorial of the order.

    Returns:
      The value, and its pytree with a list of terms in the place of each array.

    Raises:
      TypeError: if an argument is not an array, a term does not have the shape of its primal, or
        there is not one series for each argument.
      ValueError: if a primal is a container, or the series are not of one length.
      NotImplementedError: if ``fun`` applies an operation that has no derivative.

    Example:
      A curve through 0 with velocity 1: the terms are the derivatives of the function there.

      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.jet import jet
      >>> value, terms = jet(lambda x: x / (1.0 - x), (0.0,), ([1.0, 0.0, 0.0],))
      >>> float(value), [float(term) for term in terms]
      (0.0, [1.0, 2.0, 6.0])
    """
    if not callable(fun):
        raise TypeError(f"jet: the first argument must be a function, got {type(fun).__name__}.")
    avals, tree = _checked_primals(primals)
    leaves = list(map(ir.as_array, primals))
    rows, order = _checked_series(series, leaves, avals)
    if factorial_scaled:
        # The rules work on Taylor coefficients: derivatives over factorials.
        rows = [[_divided(t, factorial(k + 1)) for k, t in enumerate(row)] for row in rows]
    flat = FlatFunction(fun, tree)
    results, out_series = jet_flat(flat, order, leaves, rows)
    terms = [
        [_term(t, x, factorial(k + 1) if factorial_scaled else 1) for k, t in enumerate(row)]
        for row, x in zip(out_series, results, strict=True)
    ]
    value = tree_unflatten(flat.out_tree, map(ir.as_array, results))
    return value, tree_unflatten(flat.out_tree, terms)


def jet2(
    fun: Callable[..., ir.PyTree],
    primals: Sequence[ir.ArrayLike],
    series: Sequence[Any],
    *,
    factorial_scaled: bool = False,
    **_: Any,
) -> tuple[ir.PyTree, ir.PyTree]:
    """Like ``jet``, with terms that are Taylor coefficients rather than derivatives.

    Args:
      fun, primals: as for ``jet``.
      series: for each argument a list of its Taylor coefficients of order 1, 2, ….
      factorial_scaled: whether terms are derivatives after all.

    Returns:
      The value, and its pytree with a list of terms in the place of each array.

    Example:
      >>> from ricci import lax
      >>> from ricci.experimental.jet import jet2
      >>> value, terms = jet2(lax.exp, (0.0,), ([1.0, 0.0],))
      >>> [float(term) for term in terms]
      [1.0, 0.5]
    """
    return jet(fun, primals, series, factorial_scaled=factorial_scaled)


_leaf = tree_structure(0)


def _checked_primals(primals: Sequence[Any]) -> tuple[list[ir.ShapedArray], PyTreeDef]:
    if not isinstance(primals, tuple | list):
        raise TypeError(
            "jet: primals must be a tuple or a list with one entry for each argument of the "
            f"function, got {type(primals).__name__}. Write jet(f, (x,), ([x1, x2],))."
        )
    for i, primal in enumerate(primals):
        if tree_structure(primal) != _leaf:
            raise ValueError(
                f"jet: primal {i} is not an array but a {type(primal).__name__}. Give the arrays "
                "inside of it as arguments of their own, and put them together in the function."
            )
    avals: list[Any] = list(map(ir.get_aval, primals))
    return avals, tree_flatten(tuple(primals))[1]


def _checked_series(
    series: Sequence[Any], primals: Sequence[Any], avals: Sequence[ir.ShapedArray]
) -> tuple[list[list[Coefficient]], int]:
    if not isinstance(series, tuple | list):
        raise TypeError(
            "jet: series must be a tuple or a list with one list of terms for each argument, got "
            f"{type(series).__name__}. Write jet(f, (x,), ([x1, x2],))."
        )
    if len(series) != len(primals):
        # JAX raises for a missing order before it calls the function with too few arguments.
        raise (TypeError if series else ValueError)(
            f"jet: there are {len(primals)} primals and {len(series)} series. Give one list of "
            "terms for each argument; zero_series stands for one that does not move."
        )
    lengths = {i: _length(s, i) for i, s in enumerate(series) if not isinstance(s, ZeroSeries)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{n} for argument {i}" for i, n in lengths.items())
        raise ValueError(
            f"jet: the series must have one length, the order, but there are {shown} terms. Fill "
            "the shorter ones with zero_term."
        )
    # Arguments that do not move have no order: those that do must agree.
    order = next(iter(lengths.values()), 0)
    rows: list[list[Coefficient]] = []
    for i, (terms, aval) in enumerate(zip(series, avals, strict=True)):
        if isinstance(terms, ZeroSeries):
            rows.append([None] * order)
        else:
            rows.append([_checked_term(terms[k], aval, i, k) for k in range(order)])
    return rows, order


def _length(terms: Any, i: int) -> int:
    try:
        return len(terms)
    except TypeError:
        raise TypeError(
            f"jet: the series of argument {i} must be a list of terms, got "
            f"{type(terms).__name__}. Write jet(f, (x,), ([x1, x2],))."
        ) from None


def _checked_term(term: Any, aval: ir.ShapedArray, i: int, k: int) -> Coefficient:
    """A term as an array of the tangent type of its primal."""
    if isinstance(term, ZeroTerm):
        return None
    label = f"jet: term {k} of the series of argument {i}"
    try:
        actual: Any = ir.get_aval(term)
    except TypeError:
        raise TypeError(f"{label} is not an array but a {type(term).__name__}.") from None
    if actual.shape not in ((), aval.shape):
        raise TypeError(
            f"{label} has the shape {actual.shape}, and its primal has the shape {aval.shape}. "
            "Give both the same shape."
        )
    dtype = aval.dtype
    if not has_tangent(aval):  # an integer, which the function may convert to a float
        dtype = actual.dtype
    if ir.issubdtype(actual.dtype, np.complexfloating) and not ir.issubdtype(
        dtype, np.complexfloating
    ):
        raise TypeError(
            f"{label} is complex, of dtype {actual.dtype}, and its primal is real, of dtype "
            f"{dtype}. Give the real part, or a complex primal."
        )
    weak = aval.weak_type and actual.weak_type
    term = converted(term, dtype, weak)
    same = actual.shape == aval.shape
    return ir.as_array(term if same else broadcast_in_dim(term, aval.shape, ()))


def _divided(term: Coefficient, number: int) -> Coefficient:
    return term if term is None or number == 1 else div(term, scalar_like(term, number))


def _term(term: Coefficient, result: ir.ArrayLike, factor: int) -> ir.Array:
    """A coefficient of a result, times a factor, as an array."""
    if term is not None:
        return ir.as_array(term if factor == 1 else mul(term, scalar_like(term, factor)))
    aval: Any = ir.get_aval(result)
    if has_tangent(aval):
        return ir.as_array(instantiate(Zero.from_primal(result)))
    return ir.as_array(broadcast_in_dim(0.0, aval.shape, ()))  # the result is discrete
