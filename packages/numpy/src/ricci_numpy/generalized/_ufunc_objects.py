"""NumPy's ufuncs: elementwise functions with methods such as ``reduce`` and ``accumulate``."""

import operator
from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from math import prod
from typing import Any, cast

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy._traced_calls import call_traced
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.reductions._reduced_axes import keep_axes, reduced_axes
from ricci_numpy.shapes._reshaping import ravel
from ricci_numpy.shapes._transposing import moveaxis

from ._mapping import loops, vectorize

__all__ = ["frompyfunc", "ufunc"]


def _method[F: Callable[..., Any]](*settings: str) -> Callable[[F], F]:
    """Decorate a method of ``ufunc``, whose calls are dispatched for the functions of the table.

    Args:
      settings: the names of its parameters that are not operands.
    """

    def mark(body: F) -> F:
        plain: Any = ir.public(body)

        @wraps(body)
        def method(self: "ufunc[Any]", *args: object, **options: object) -> object:
            return (dispatched if self._is_listed else plain)(self, *args, **options)

        dispatched: Any = ir.public(ir.dispatched("self", *settings)(body))
        return cast(F, ir.boundary(method))

    return mark


@ir.exported
class ufunc[R](ir.PickledByName):
    """An elementwise function, extended to whole axes as NumPy's ufuncs are.

    A call broadcasts its operands against each other. A function of two operands and one result
    also runs along an axis: ``reduce`` combines all elements, ``accumulate`` gives every
    intermediate result of that, ``reduceat`` reduces parts of the axis, ``outer`` combines all
    pairs of elements, and ``at`` combines elements at chosen places.

    Args:
      func: the function of one element of each operand.
      nin: the number of operands.
      nout: the number of results.
      name: the name to show, ``func``'s own by default.
      nargs: how many of the operands, counted from the first, may be arrays.
      identity: the initial value of a reduction. Without it, an array without elements cannot be
        reduced.
      call: the same function of whole arrays. Without it, ``func`` is vectorized.
      reduce, accumulate, at, reduceat: functions that these methods call. By default they run
        ``func`` in a loop over the axis.
      exact: whether combining an element with ``identity`` returns it, converted to the dtype of
        the results.

    Example:
      >>> import ricci.numpy as jnp
      >>> hypotenuse = jnp.frompyfunc(lambda a, b: (a * a + b * b) ** 0.5, 2, 1)
      >>> hypotenuse(jnp.array([3.0, 6.0]), jnp.array([4.0, 8.0])).tolist()
      [5.0, 10.0]
      >>> jnp.multiply.accumulate(jnp.array([1, 2, 3, 4])).tolist()
      [1, 2, 6, 24]

    Source: numpy.ufunc.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: ir.ArrayLike | None = None,
        call: Callable[..., ir.Array] | None = None,
        reduce: Callable[..., ir.Array] | None = None,
        accumulate: Callable[..., ir.Array] | None = None,
        at: Callable[..., ir.Array] | None = None,
        reduceat: Callable[..., ir.Array] | None = None,
        exact: bool = False,
    ):
        update_wrapper(self, func)
        self._wrapped = func
        self.__name__: str = name or ("partial" if isinstance(func, partial) else func.__name__)
        self._nin: int = operator.index(nin)
        self._nout: int = operator.index(nout)
        self._nargs: int = self._nin if nargs is None else operator.index(nargs)
        self._identity = identity
        self._is_exact = exact
        self._is_known = call is not None
        self._is_listed: bool = False  # among the functions of NumPy, whose methods are dispatched
        self.func: Callable[..., Any] = vectorize(func) if call is None else call
        self._loops = loops(self.func)
        # Loops over the axis are the general case; known functions have reductions, scans or
        # scatters.
        self._faster = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}

    def _key(self) -> tuple[Any, ...]:
        return self._wrapped, self._nin, self._nout, self._nargs, self._identity, self.__name__

    def __eq__(self, other: object) -> bool:
        return self is other or type(other) is ufunc and self._key() == other._key()

    def __hash__(self) -> int:
        # The identity may be an array scalar, which cannot be hashed.
        return hash((self._wrapped, self._nin, self._nout))

    @property
    def nin(self) -> int:
        """The number of operands."""
        return self._nin

    @property
    def nout(self) -> int:
        """The number of results."""
        return self._nout

    @property
    def nargs(self) -> int:
        """The number of leading operands that may be arrays."""
        return self._nargs

    @property
    def identity(self) -> ir.ArrayLike | None:
        """The initial value of a reduction, if there is one."""
        return self._identity

    @ir.boundary
    def __call__(self, *args: ir.ArrayLike, out: None = None, where: None = None) -> R:
        """Apply the function to arrays that broadcast; an array, or a tuple of ``nout``."""
        try:
            if out is not None or where is not None:
                raise NotImplementedError(
                    f"{self.__name__}: out= and where= are not supported; use the result, and "
                    "numpy.where to choose elements."
                )
            if self._is_known or ir.is_recording() or any(x is None for x in args):
                return self.func(*args)
            return call_traced(self.__name__, self._wrapped, self.func, (), *map(asarray, args))
        except Exception as error:
            ir.leave(error)
            raise

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def _check_binary(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{self.__name__}.{method} needs a function of 2 operands.")

    @_method("axis", "dtype", "out", "keepdims")
    def reduce(
        self,
        a: ir.ArrayLike,
        axis: ir.Axis = 0,
        dtype: ir.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ir.ArrayLike | None = None,
        where: ir.ArrayLike | None = None,
    ) -> ir.Array:
        """Combine the elements along an axis, or all with ``axis=None``.

        Raises:
          ValueError: if there are no elements and the function has no identity.
        """
        self._check_binary("reduce")
        promotion.no_out(f"{self.__name__}.reduce", out)
        if faster := self._faster["reduce"]:
            return faster(
                a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
            )
        return self._fold(a, axis, dtype, keepdims, initial, where)

    def _fold(
        self,
        a: ir.ArrayLike,
        axis: ir.Axis,
        dtype: ir.DTypeLike | None,
        keepdims: bool,
        initial: ir.ArrayLike | None,
        mask: ir.ArrayLike | None,
    ) -> ir.Array:
        """``reduce`` by a loop over the axis."""
        name = f"{self.__name__}.reduce"
        a = asarray(*promotion.operands(name, a), dtype=dtype)
        axes = reduced_axes(name, axis, a.ndim)
        identity = None
        if initial is None and self.identity is not None:
            if isinstance(self.identity, bool | int | float | complex):
                identity = ir.static_number(self.identity)
            else:
                initial = self.identity
        lacks_start = initial is None and identity is None
        if mask is not None:
            if lacks_start:
                raise ValueError(f"{name}: with where=..., give initial=...")
            (mask,) = promotion.operands(name, mask)
        rows, other_shape = _rows_along(a, axes)
        if mask is not None:
            mask, _ = _rows_along(broadcast(asarray(mask), a.shape), axes)
        if rows.shape[0] == 0 and lacks_start:
            raise ValueError(
                f"{name}: an empty axis cannot be reduced, since the function has no identity."
            )
        result = broadcast(self._loops.reduce(rows, initial, mask, identity=identity), other_shape)
        return keep_axes(result, axes) if keepdims else result

    @_method("axis", "dtype", "out")
    def accumulate(
        self, a: ir.ArrayLike, axis: int = 0, dtype: ir.DTypeLike | None = None, out: None = None
    ) -> ir.Array:
        """The results of combining the elements so far, along an axis."""
        self._check_binary("accumulate")
        promotion.no_out(f"{self.__name__}.accumulate", out)
        name = f"{self.__name__}.accumulate"
        (a,) = promotion.operands(name, a)
        if axis is None or isinstance(axis, tuple):
            raise ValueError(f"{name} goes along one axis, got axis={axis}.")
        if faster := self._faster["accumulate"]:
            return faster(a, axis=axis, dtype=dtype)
        a = asarray(a, dtype=dtype)
        (axis,) = reduced_axes(name, axis, a.ndim)
        options = {
            "dtype": None if dtype is None else a.dtype,
            "identity": self._identity if self._is_exact else None,
        }
        return moveaxis(self._loops.accumulate(moveaxis(a, axis, 0), **options), 0, axis)

    @_method()
    def outer(self, A: ir.ArrayLike, B: ir.ArrayLike, /) -> ir.Array:
        """The results for all pairs of an element of each array."""
        self._check_binary("outer")
        A, B = (asarray(x) for x in promotion.operands(f"{self.__name__}.outer", A, B))
        # Both get the rank of the result, so that nothing is left to be promoted.
        if A.ndim and B.ndim:
            rank = A.ndim + B.ndim
            # A keeps the leading dimensions, B the trailing ones; a scalar needs none.
            A, B = lax.expand_dims(A, range(A.ndim, rank)), lax.expand_dims(B, range(A.ndim))
        return self.func(A, B)

    @_method("inplace")
    def at(
        self,
        a: ir.ArrayLike,
        indices: ir.Index,
        b: ir.ArrayLike | None = None,
        /,
        *,
        inplace: bool = True,
    ) -> ir.Array:
        """An updated copy of an array: the function is applied at the given places.

        Args:
          a: an array.
          indices: where, as in ``a[indices]``; places that occur twice are updated twice.
          b: the second operand, if the function takes two.
          inplace: must be false, since arrays do not change.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at cannot change an array. Give inplace=False, and use the "
                "result, which is an updated copy."
            )
        (a,) = promotion.operands(f"{self.__name__}.at", a)
        a = asarray(a)
        if self.nin == 1:
            return promotion.convert(a, a.dtype).at[indices].apply(self.func)
        if faster := self._faster["at"]:
            return faster(a.at[indices], b)
        if self.nin != 2 or b is None:
            raise ValueError(f"{self.__name__}.at needs a function of 1 or 2 operands, and those.")
        (operand,) = promotion.operands(f"{self.__name__}.at", b)
        dtype = getattr(indices, "dtype", None)
        direct = a.ndim == 1 and dtype in promotion.INTEGER_DTYPES
        if direct:
            places = asarray(cast(ir.ArrayLike, indices))
        else:
            # Indexing an array of the elements' positions gives the positions that are selected.
            numbers = lax.reshape(lax.iota(np.int32, a.size), a.shape)
            # Out of bounds becomes a.size, a place behind the flattened array, where updates are
            # dropped.
            places = numbers.at[indices].get(mode="fill", fill_value=a.size)
        values = broadcast(asarray(operand), places.shape)
        count = (places.size,)
        places, values = lax.reshape(places, count), lax.reshape(values, count)
        return lax.reshape(self._loops.at(ravel(a), places, values, wrap=direct), a.shape)

    @_method("axis", "dtype", "out")
    def reduceat(
        self,
        a: ir.ArrayLike,
        indices: ir.ArrayLike,
        axis: int = 0,
        dtype: ir.DTypeLike | None = None,
        out: None = None,
    ) -> ir.Array:
        """Reduce the parts of an axis between consecutive indices.

        Args:
          a: an array.
          indices: a vector of integers: part ``i`` starts at ``indices[i]`` and ends before
            ``indices[i + 1]``, the last one at the end of the axis; a part that would end before it
            starts is the single element at its start.
          axis: the axis.
          dtype: the dtype of the elements that are combined and of the result.
          out: not supported.

        Raises:
          TypeError: if ``indices`` is not an array of integers.
          ValueError: if it is not a vector.
          IndexError: if the axis has no elements.
        """
        self._check_binary("reduceat")
        name = f"{self.__name__}.reduceat"
        promotion.no_out(name, out)
        a, indices = promotion.operands(name, a, indices)
        a, indices = asarray(a, dtype=dtype), asarray(indices)
        if indices.ndim != 1:
            raise ValueError(f"{name}: the indices must be a vector, got rank {indices.ndim}.")
        if indices.dtype not in promotion.INTEGER_DTYPES:
            raise TypeError(f"{name}: the indices must be integers, got {indices.dtype}.")
        (axis,) = reduced_axes(name, axis, a.ndim)
        if not indices.size:
            if not a.shape[axis]:
                raise IndexError(f"{name}: axis {axis} of an array of shape {a.shape} is empty.")
            whole = self.reduceat(a, lax.full((1,), 0, indices.dtype), axis)
            return lax.slice_in_dim(whole, 0, 0, axis=axis)
        if faster := self._faster["reduceat"]:
            return faster(a, indices, axis=axis)
        return moveaxis(self._loops.reduceat(moveaxis(a, axis, 0), indices), 0, axis)


def _rows_along(a: ir.Array, axes: tuple[int, ...]) -> tuple[ir.Array, ir.Shape]:
    """The array with the given axes merged into a first one, and the shape of the others."""
    others = tuple(i for i in range(a.ndim) if i not in axes)
    other_shape = tuple(a.shape[i] for i in others)
    a = lax.transpose(a, (*axes, *others))
    return lax.reshape(a, (prod(a.shape[: len(axes)]), *other_shape)), other_shape


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: ir.ArrayLike | None = None
) -> ufunc[Any]:
    """Make a ufunc of a function of arrays that broadcast.

    Args:
      func: a function of ``nin`` arrays.
      nin: the number of its operands.
      nout: the number of its results.
      identity: the value of a reduction of nothing.

    Returns:
      A ``ufunc``, with ``reduce``, ``accumulate``, ``at``, ``outer`` and ``reduceat``.

    Example:
      >>> import ricci.numpy as jnp
      >>> larger = jnp.frompyfunc(lambda x, y: jnp.where(x > y, x, y), 2, 1)
      >>> int(larger.reduce(jnp.array([3, 5, 2])))
      5

    Source: numpy.frompyfunc.
    """
    return ufunc(func, nin, nout, identity=identity)
