"""``bucketed``: compile a function of varying array sizes for a few padded sizes only."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

import ricci_ir as ir
from ricci_lax import full, select
from ricci_lax import slice as lax_slice
from ricci_pytree import PyTreeDef, argument_paths, tree_flatten, tree_unflatten
from ricci_xla import device_put, jit

from . import _rules as _rules
from ._axes import PaddedAxes, describe_axes, padded_axes_of_call, read_entry
from ._dynamic_moves import take
from ._extents import Extents, PaddingError
from ._interpreter import run_padded
from ._sizes import POWERS_OF_TWO, Sizes, SizesArgument, Use, read_sizes

__all__ = ["Bucketed", "bucketed", "padding"]


class Padding:
    """The fill values of padding.

    Attributes:
      extreme: fill with NaN and the greatest integers in place of zeros. Results are the same, as
        no padding reaches them, which tests check.
    """

    def __init__(self):
        self.extreme: bool = False

    def fill(self, dtype: np.dtype) -> float:
        """The fill value of an array's padding."""
        if not self.extreme:
            return 0
        if dtype.kind == "b":
            return True
        if np.issubdtype(dtype, np.integer):
            return np.iinfo(dtype).max
        return np.nan


padding: Padding = Padding()


def pad_to(x: ir.Array, sizes: Mapping[int, int]) -> ir.Array | np.ndarray:
    """Pad an array on the host to larger sizes along some axes."""
    if not isinstance(getattr(x, "dtype", np.dtype(float)), np.dtype):  # random keys
        # Keys have no fill value: the last one is repeated.
        for axis, size in sizes.items():
            positions = np.minimum(np.arange(size, dtype=np.int32), np.int32(x.shape[axis] - 1))
            x = take(x, positions, axis)
        return x
    array = np.asarray(x)
    shape = [sizes.get(axis, n) for axis, n in enumerate(array.shape)]
    result = np.full(shape, padding.fill(array.dtype), array.dtype)
    # On the host: on a device, each length would compile its own pad.
    result[tuple(slice(n) for n in array.shape)] = array
    return result


def crop(x: ir.Array, shape: Sequence[int]) -> ir.Array | np.ndarray:
    """The first elements of an array along each axis."""
    if tuple(shape) == x.shape:
        return x
    if not isinstance(x.dtype, np.dtype):
        return lax_slice(x, [0] * x.ndim, shape)
    # On the host as well, since a slice of a new size would be compiled for each length.
    part = tuple(slice(n) for n in shape)
    return device_put(np.ascontiguousarray(np.asarray(x)[part]))


@overload
def bucketed[**P, R](
    fun: Callable[P, R],
    *,
    axis: ir.PyTree = 0,
    sizes: SizesArgument = POWERS_OF_TWO,
    constraints: Sequence[str] = (),
) -> "Bucketed[P, R]": ...
@overload
def bucketed[R](
    fun: Callable[..., R],
    *args: ir.PyTree,
    axis: ir.PyTree = 0,
    sizes: SizesArgument = POWERS_OF_TWO,
    constraints: Sequence[str] = (),
) -> R: ...
def bucketed(
    fun: Callable[..., object],
    *args: ir.PyTree,
    axis: ir.PyTree = 0,
    sizes: SizesArgument = POWERS_OF_TWO,
    constraints: Sequence[str] = (),
) -> object:
    """Compile a function of arrays whose sizes vary for a few sizes only.

    Arguments are padded to the next of ``sizes``, and one executable serves all lengths up to
    that size. Results are those of ``fun`` on the unpadded arguments: operations of the jaxpr
    are changed where padding would reach a result; where that is impossible, an error is raised.

    Args:
      fun: a function of pytrees of arrays, such as ``grad(f)`` or ``vmap(f)``. It is compiled, so
        ``jit`` around or inside of it is not needed.
      args: its arguments, or none: ``bucketed(f, x)`` is ``bucketed(f)(x)``.
      axis: the axis that is padded: an int for all arguments, a tuple with an entry for each
        positional argument, or a dict by the names of arguments. An entry is an int, ``None`` for
        an argument that is not padded, or a string that names the length of each padded axis,
        ``"batch, time, _"``; or a pytree of these that is a prefix of the argument. Axes with the
        same name have the same length; that of axes given as ints is ``n``.
      sizes: the sizes to pad to, or ``"powers of two"``; or a dict of these by the lengths' names.
      constraints: assumptions about the lengths, such as ``"n >= 2"``; see ``SymbolicScope``.

    Returns:
      A function with the results of ``fun``; with arguments, these results. The function's
      attribute ``compiled`` lists the sizes that it was compiled for, ``rows`` what the calls used
      of them.

    Raises:
      TypeError: if ``fun`` is not a function.
      PaddingError: from a call, if it cannot be shown that padding reaches no result.
      ValueError: if the sizes, the axes or the lengths of a call are invalid.

    Example:
      Sentences of any length, by two executables:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> score = ricci.bucketed(lambda x: jnp.mean(x**2), sizes=[4, 16])
      >>> [float(score(jnp.full(n, 2.0))) for n in (2, 3, 4, 9)]
      [4.0, 4.0, 4.0, 4.0]
      >>> score.compiled
      [{'n': 4}, {'n': 16}]

    See also:
      ``jit``, which compiles for each length; ``export.symbolic_shape``.
    """
    if not callable(fun):
        raise TypeError(f"bucketed expects a function, got {fun!r:.60}.")
    function = Bucketed(fun, axis, read_sizes(sizes), tuple(constraints))
    return function(*args) if args else function


class _SymbolicTrace:
    """A function traced for types with symbolic sizes; it serves all sizes and lengths.

    Attributes:
      out_shapes: the shape of each result, with symbolic sizes.
      run: a jitted function of the lengths and the padded arrays.
      uses: the calls for each choice of sizes.
    """

    def __init__(
        self,
        jaxpr: ir.Jaxpr,
        out_tree: PyTreeDef,
        axes: Sequence[PaddedAxes],
        origins: Mapping[str, str],
        name: str,
        source: ir.Source,
        scope: ir.SymbolicScope,
    ):
        self.out_tree: PyTreeDef = out_tree
        outs: list[Any] = jaxpr.out_avals
        self.out_shapes: list[tuple[Any, ...]] = [aval.shape for aval in outs]
        self.uses: dict[tuple[int, ...], Use] = {}
        self.scope: ir.SymbolicScope = scope

        def run(lengths: dict[str, Any], leaves: list[Any]) -> list[Any]:
            sizes = {
                variable: x.shape[axis]
                for x, padded_axes in zip(leaves, axes, strict=True)
                for axis, variable in padded_axes.items()
            }
            extents = Extents(sizes, lengths, origins)
            results = run_padded(jaxpr, leaves, extents, source)
            return [_zero_padding(extents, x, aval) for x, aval in zip(results, outs, strict=True)]

        run.__name__ = run.__qualname__ = f"bucketed_{name}"
        self.run: Callable[[dict[str, Any], list[Any]], list[Any]] = jit(run)

    def check(self, lengths: Mapping[str, int]) -> None:
        """Raise ``ValueError`` if the lengths of a call violate a constraint."""
        for constraint in self.scope.constraints:
            difference = _evaluate(constraint.difference, lengths)
            if difference < 0 or (difference and constraint.comparison == "=="):
                values = ", ".join(f"{name} = {n}" for name, n in lengths.items())
                raise ValueError(
                    f"bucketed: the constraint {constraint.text} does not hold for {values}."
                )


class Bucketed[**P, R]:
    """A function that pads its arguments to a few sizes, returned by ``bucketed``.

    Args:
      fun, axis, sizes, constraints: as for ``bucketed``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> mean = ricci.bucketed(jnp.mean, sizes=[4, 16])
      >>> float(mean(jnp.array([1.0, 2.0, 6.0]))), mean.compiled
      (3.0, [{'n': 4}])
      >>> mean.rows
      [{'sizes': {'n': 4}, 'calls': 1, 'padding': 0.25}]
    """

    def __init__(
        self,
        fun: Callable[P, R],
        axis: ir.PyTree,
        sizes: Mapping[str, Sizes] | Sizes,
        constraints: tuple[str, ...],
    ):
        self._fun: Callable[P, R] = fun
        self._axis = axis
        self._sizes = sizes
        self._constraints = constraints
        self._name: str = getattr(fun, "__name__", type(fun).__name__)
        self._source: ir.Source = ir.Source(getattr(fun, "__code__", None), -1)
        self._traced: ir.Cache[Any, _SymbolicTrace] = ir.Cache("bucketed functions", 256)
        self._exact = ir.ArrayCalls("bucketed", fun, jit)
        functools.update_wrapper(self, fun, updated=())

    @property
    def compiled(self) -> list[dict[str, int]]:
        """The sizes that the function was compiled for, by the names of lengths."""
        return [dict(use.sizes) for use in self._uses()]

    @property
    def rows(self) -> list[dict[str, object]]:
        """The executables as data: sizes, number of calls, and the share of padding in these."""
        return [use.row for use in self._uses()]

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, repr(self))

    def _uses(self) -> list[Use]:
        traces = list(self._traced.entries.values())
        uses = [use for traced in traces for use in traced.uses.values()]
        return sorted(uses, key=lambda use: sorted(use.sizes.items()))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return _call(self, *args, **kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call, leaves = ir.array_call(self._fun, args, kwargs)
        _check_not_traced(leaves)
        names = call.select(argument_paths(args, kwargs, self._fun))
        entries = call.select(padded_axes_of_call(self._axis, self._fun, args, kwargs))
        axes = [
            read_entry(entry, np.ndim(x), name)
            for entry, x, name in zip(entries, leaves, names, strict=True)
        ]
        lengths = _lengths(leaves, axes, names)
        # Symbolic sizes are at least 1, so that empty arrays are compiled for their own sizes.
        if 0 in lengths.values():
            exact, _ = self._exact.of(args, kwargs)
            return exact(*leaves)
        origins = describe_axes(names, axes)
        sizes = {name: self._bucket(name, n, origins) for name, n in lengths.items()}
        traced = self._trace(call, leaves, axes, names, lengths)
        traced.check(lengths)
        arrays = [
            pad_to(x, {axis: sizes[name] for axis, name in padded_axes.items()})
            if padded_axes
            else x
            for x, padded_axes in zip(leaves, axes, strict=True)
        ]
        # Lengths are operands, not constants: one executable serves all lengths of a bucket.
        results = traced.run({name: np.int32(n) for name, n in lengths.items()}, arrays)
        traced.uses.setdefault(tuple(sizes.values()), Use(sizes)).count(lengths)
        shapes = ([_evaluate(n, lengths) for n in shape] for shape in traced.out_shapes)
        return tree_unflatten(traced.out_tree, list(map(crop, results, shapes)))

    def _bucket(self, name: str, length: int, origins: Mapping[str, str]) -> int:
        sizes = self._sizes.get(name) if isinstance(self._sizes, Mapping) else self._sizes
        if sizes is None:
            raise ValueError(f"bucketed: sizes= has no entry for the length {name!r}.")
        return sizes.bucket(length, origins[name])

    def _trace(
        self,
        call: ir.ArrayCall,
        leaves: Sequence[Any],
        axes: Sequence[PaddedAxes],
        names: Sequence[str],
        lengths: Mapping[str, int],
    ) -> _SymbolicTrace:
        avals: list[Any] = list(map(ir.argument_aval, leaves))
        types = tuple(
            (
                # A padded axis is represented by its variable's name, so that all its lengths share
                # the trace.
                tuple(padded_axes.get(i, n) for i, n in enumerate(aval.shape)),
                aval.dtype,
                aval.weak_type,
            )
            for aval, padded_axes in zip(avals, axes, strict=True)
        )
        # Neither lengths nor bucket sizes are part of it: the trace is symbolic, jit makes the
        # executables.
        key = call.key, types, ir.trace_context()
        try:
            traced = self._traced.entries.get(key)
        except TypeError:  # a leaf that is not an array cannot be hashed: traced in each call
            return self._make(call, types, names, lengths)
        if traced is None:
            traced = self._traced.make(key, self._make, call, types, names, lengths)
        return traced

    def _make(
        self,
        call: ir.ArrayCall,
        types: Sequence[Any],
        names: Sequence[str],
        lengths: Mapping[str, int],
    ) -> _SymbolicTrace:
        scope = ir.SymbolicScope(self._constraints)
        symbols = {name: ir.symbolic_shape(name, scope=scope)[0] for name in lengths}
        avals = [
            ir.ShapedArray(tuple(symbols.get(n, n) for n in shape), dtype, weak)
            for shape, dtype, weak in types
        ]
        out_tree: Any = None

        def flat(*xs: object) -> list[Any]:
            nonlocal out_tree
            results, out_tree = tree_flatten(call.run("bucketed", self._fun, xs))
            return results

        info = ir.DebugInfo("bucketed", self._name, tuple(names))
        try:
            jaxpr = ir.trace_to_jaxpr(flat, avals, info)
        except (ir.InconclusiveDimensionOperation, TypeError) as error:
            # An error of the user's own is not about sizes.
            if "symbolic dimension" not in str(error).lower():
                error.add_note(_symbolic_note(lengths))
                raise
            raise PaddingError(_inconclusive_message(error, self._source)) from error
        except (AssertionError, ValueError) as error:
            error.add_note(_symbolic_note(lengths))
            raise
        axes = [{i: n for i, n in enumerate(t[0]) if isinstance(n, str)} for t in types]
        origins = describe_axes(names, axes)
        return _SymbolicTrace(jaxpr, out_tree, axes, origins, self._name, self._source, scope)


@ir.api_boundary
def _call(function: Bucketed[..., Any], *args: object, **kwargs: object) -> Any:
    return function._run(args, kwargs)


def _zero_padding(extents: Extents, x: ir.ArrayLike, aval: ir.ShapedArray) -> ir.ArrayLike:
    """Fill the padding of a result with zeros, so that checks for NaN find none in it."""
    # Keys have no zero, so their padding stays as it is.
    mask = extents.mask(aval, range(len(aval.shape)))
    if mask is None or not isinstance(aval.dtype, np.dtype):
        return x
    return select(mask, x, full(mask.shape, 0, aval.dtype))


def _check_not_traced(leaves: Sequence[Any]) -> None:
    if any(isinstance(leaf, ir.Tracer) for leaf in leaves):
        raise TypeError(
            "bucketed: the function was called with a traced value, inside of jit or of another "
            "transformation, which is for one size. Put bucketed outermost: "
            "bucketed(grad(f)) and bucketed(f), not grad(bucketed(f)) and jit(bucketed(f))."
        )


def _lengths(
    leaves: Sequence[Any], axes: Sequence[PaddedAxes], names: Sequence[str]
) -> dict[str, int]:
    """The length of each variable in the arguments of a call."""
    length_of: dict[str, int] = {}
    first: dict[str, str] = {}
    for x, padded_axes, name in zip(leaves, axes, names, strict=True):
        for axis, variable in padded_axes.items():
            n = np.shape(x)[axis]
            if length_of.setdefault(variable, n) != n:
                raise ValueError(
                    f"bucketed: axis {axis} of {name} has {n} elements, and {first[variable]}, "
                    f"with the same length {variable!r}, has {length_of[variable]}. Give axes of "
                    'different lengths different names: axis="rows, _" and axis="columns".'
                )
            first.setdefault(variable, f"axis {axis} of {name}")
    if not length_of:
        raise ValueError(
            "bucketed: no argument has a padded axis. Name one with axis=, as vmap's in_axes does."
        )
    return dict(sorted(length_of.items()))


def _evaluate(n: Any, lengths: Mapping[str, int]) -> int:
    return n.evaluate(lengths) if ir.is_symbolic_dim(n) else n


def _inconclusive_message(error: Exception, outer_source: ir.Source) -> str:
    source, trace = outer_source, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if not ir.is_internal_module(frame.f_globals.get("__name__")):
            source = ir.Source(frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return (
        f"bucketed: the function's behaviour at {source} depends on a length, and one executable "
        f"serves all lengths of a bucket.\n{error}\n"
        "bucketed takes constraints as well: constraints=['n >= 2']."
    )


def _symbolic_note(lengths: Mapping[str, int]) -> str:
    return (
        f"bucketed traces the function with symbolic sizes, {', '.join(lengths)}, which code that "
        "asks for integers refuses."
    )
