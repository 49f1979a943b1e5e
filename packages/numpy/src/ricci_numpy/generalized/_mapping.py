"""Functions of elements or small arrays, mapped over larger arrays.

``vectorize`` maps over leading dimensions. The methods ``reduce``, ``accumulate``, ``at`` and
``reduceat`` of ufuncs without a faster implementation are loops over an axis; a loop is traced once
for the types of its operands, and is one call in jaxprs.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial, wraps
from typing import Any, cast

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, DTypeLike, ShapedArray, ShapeLike
from ricci_numpy._promotion import INEXACT_DTYPES, as_elements, check_rank_promotion, convert
from ricci_numpy.arrays._broadcasting import as_shape, select_where
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.indexing._take import take
from ricci_numpy.sequences._ranges import arange
from ricci_numpy.shapes._reshaping import broadcast_shapes, broadcast_to, expand_dims, squeeze
from ricci_pytree import tree_map

__all__ = ["fromfunction", "vectorize"]

_DIMENSIONS = r"\((?:\w+(?:,\w+)*)?\)"
_SIDE = f"{_DIMENSIONS}(?:,{_DIMENSIONS})*"
_SIGNATURE = f"({_SIDE})->({_SIDE})"


class Signature(ir.TupleRecord):
    """A generalized ufunc's signature: the names of the core dimensions of each array."""

    inputs: list[tuple[str, ...]]
    outputs: list[tuple[str, ...]]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """The function that applies ``pyfunc`` to each of many small arrays at once.

    Its arguments broadcast against each other in their leading dimensions, over which ``pyfunc``
    is mapped by ``vmap``.

    Args:
      pyfunc: a function of scalars, or of arrays of the core dimensions that ``signature`` gives.
      excluded: positions of arguments that are passed as they are, and names of keyword arguments,
        which are passed only if they are named here.
      signature: the core dimensions, such as ``"(n,m),(m)->(n)"``; by default all arguments are
        scalars, and results may be of any shape.

    Returns:
      A function of arrays. Its results have the broadcast leading dimensions, then their own.

    Raises:
      TypeError: if ``excluded`` holds anything but integers and strings; or, when called, if the
        number of arguments or results is not the signature's, or an argument is not an array.
      ValueError: if ``signature`` is none, or ``excluded`` holds a negative number; or, when
        called, if dimensions do not fit each other or the signature.

    It is ``vmap`` for functions that broadcast as NumPy's do: which dimensions are mapped follows
    from the shapes.

    Example:
      >>> import ricci.numpy as jnp
      >>> dot = jnp.vectorize(lambda x, y: (x * y).sum(), signature="(n),(n)->()")
      >>> dot(jnp.ones((2, 1, 3)), jnp.ones((4, 3))).shape
      (2, 4)
      >>> @jnp.vectorize
      ... def step(x, low):
      ...     return jnp.where(x > low, x, 0.0)
      >>> step(jnp.array([[1.0], [3.0]]), jnp.array([0.0, 2.0])).tolist()
      [[1.0, 0.0], [3.0, 3.0]]

    See also:
      ``ricci.vmap``, with explicit dimensions; ``apply_along_axis``.

    Source: numpy.vectorize.
    """
    if any(not isinstance(place, str | int) for place in excluded):
        raise TypeError(
            f"vectorize: excluded={excluded!r} may hold positions and names of arguments only."
        )
    if any(isinstance(place, int) and place < 0 for place in excluded):
        raise ValueError(
            f"vectorize: excluded={excluded!r} holds a negative number. Count positions from 0."
        )
    core = None if signature is None else parse_signature(signature)
    hint = f"in vectorize with excluded={excluded!r} and signature={signature!r}"

    @wraps(pyfunc)
    @ir.api_boundary
    def vectorized(*args: Any, **kwargs: object) -> Any:
        stray = [name for name in kwargs if name not in excluded]
        if stray:
            raise TypeError(
                f"vectorize: argument {stray[0]!r} was passed by keyword. Pass it by position to "
                "map over it, or name it in excluded."
            )
        # An argument that is None is passed to the function as it is.
        absent = {i for i, x in enumerate(args) if x is None}
        if core is not None and absent - set(excluded):
            raise ValueError(f"None was passed at positions {sorted(absent)} {hint}.")
        mapped = [i for i in range(len(args)) if i not in excluded and i not in absent]

        def one(*arrays: object) -> Any:
            full = list(args)
            for i, array in zip(mapped, arrays, strict=True):
                full[i] = array
            return pyfunc(*full, **kwargs)

        arrays = [asarray(args[i]) for i in mapped]
        if core is None:
            return _map_leading(one, arrays, [x.ndim for x in arrays])
        sizes = core_sizes(arrays, core.inputs, hint)
        leading = [x.ndim - len(names) for x, names in zip(arrays, core.inputs, strict=True)]
        return _map_leading(checked_results(one, core.outputs, sizes, hint), arrays, leading)

    return vectorized


def parse_signature(text: str) -> Signature:
    """Parse a signature such as ``"(n,m),(m)->(n)"``.

    Raises:
      TypeError: if it is not a string.
      ValueError: if it is not a signature.
    """
    if not isinstance(text, str):
        raise TypeError(f"vectorize: a signature is a string, got {text!r}.")
    match = re.fullmatch(_SIGNATURE, text)
    if match is None:
        raise ValueError(
            f"vectorize: {text!r} is not a signature of a generalized ufunc. Write names of "
            "dimensions in parentheses, such as '(n,m),(m)->(n)'; no spaces."
        )
    inputs, outputs = (
        [tuple(filter(None, names[1:-1].split(","))) for names in re.findall(_DIMENSIONS, side)]
        for side in match.groups()
    )
    return Signature(inputs, outputs)


def core_sizes(
    arrays: Sequence[Array], inputs: Sequence[tuple[str, ...]], hint: str
) -> dict[str, int]:
    """Return the sizes of the core dimensions of arrays by name.

    Args:
      arrays: the arrays.
      inputs: the names of the core dimensions of each, which are its last.
      hint: the end of messages.

    Raises:
      TypeError: if there are more or fewer arrays.
      ValueError: if one has too few dimensions, or a core dimension of another size.
    """
    if len(arrays) != len(inputs):
        raise TypeError(f"expected {len(inputs)} arrays, got {len(arrays)} {hint}.")
    sizes: dict[str, int] = {}
    for x, names in zip(arrays, inputs, strict=True):
        if x.ndim < len(names):
            raise ValueError(
                f"an array of shape {x.shape} does not have enough dimensions for the core "
                f"dimensions {names} {hint}."
            )
        _check_sizes(sizes, x.shape[x.ndim - len(names) :], names, hint)
    return sizes


def _check_sizes(
    sizes: dict[str, int], shape: tuple[int, ...], names: tuple[str, ...], hint: str
) -> None:
    """Add the sizes of core dimensions to ``sizes``; raise if one has another size there."""
    for name, size in zip(names, shape, strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"the core dimension {name!r} has size {size} here and {sizes[name]} elsewhere "
                f"{hint}."
            )


def checked_results(
    fun: Callable[..., Any], outputs: Sequence[tuple[str, ...]], sizes: dict[str, int], hint: str
) -> Callable[..., Any]:
    """Wrap the function to check its results against the signature."""

    def checked(*arrays: object) -> Any:
        out = fun(*arrays)
        results = out if isinstance(out, tuple) else (out,)
        if len(outputs) > 1 and not isinstance(out, tuple):
            raise TypeError(
                f"expected a tuple of {len(outputs)} results, got {type(out).__name__} {hint}."
            )
        if len(results) != len(outputs):
            raise TypeError(f"expected {len(outputs)} results, got {len(results)} {hint}.")
        # Core dimensions that only results have must agree among these.
        all_sizes = dict(sizes)
        for result, names in zip(results, outputs, strict=True):
            # Instances of a class that is a pytree have the shape that they say.
            shape = getattr(result, "shape", None)
            if shape is None:
                shape = cast(ShapedArray, ir.get_aval(result)).shape
            if len(shape) != len(names):
                raise ValueError(
                    f"a result of shape {shape} does not have the core dimensions {names} {hint}."
                )
            _check_sizes(all_sizes, shape, names, hint)
        return out

    return checked


def _map_leading(fun: Callable[..., Any], arrays: list[Array], counts: list[int]) -> Any:
    """Map a function over the broadcast leading dimensions of arrays, ``counts`` of each."""
    leading = [x.shape[:n] for x, n in zip(arrays, counts, strict=True)]
    shapes = [shape for x, shape in zip(arrays, leading, strict=True) if x.ndim]
    if len(set(map(len, shapes))) > 1:
        check_rank_promotion("vectorize", shapes)
    loop = broadcast_shapes(*leading)
    squeezed = []
    # For each dimension of the loop, whether each array has it with a size other than 1.
    having = [[False] * len(arrays) for _ in loop]
    for k, (x, n) in enumerate(zip(arrays, counts, strict=True)):
        ones = tuple(axis for axis in range(n) if x.shape[axis] == 1)
        squeezed.append(squeeze(x, ones) if ones else x)
        for axis in range(n):
            having[len(loop) - n + axis][k] = axis not in ones
    absent = []
    for place in reversed(range(len(loop))):
        if any(having[place]):
            fun = vmap(fun, in_axes=tuple(0 if has else None for has in having[place]))
        else:
            absent.append(place)
    out = fun(*squeezed)
    return _expanded(out, tuple(sorted(absent))) if absent else out


def _expanded[T](out: T, axes: tuple[int, ...]) -> T:
    """Return results with dimensions of size 1 added where no array was mapped over."""
    return tree_map(lambda x: expand_dims(x, axes), out)


def fromfunction[R](
    function: Callable[..., R], shape: ShapeLike, *, dtype: DTypeLike = float, **kwargs: object
) -> R:
    """The values of a function at the indices of the elements of an array.

    Args:
      function: a function of scalars, one for each dimension; it is mapped by ``vmap``.
      shape: the sizes of the dimensions.
      dtype: the dtype of the indices.
      kwargs: passed to the function as they are.

    Returns:
      What the function returns, with ``shape`` before the shapes of its arrays.

    Raises:
      TypeError: if ``shape`` holds anything but integers.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int).tolist()
      [[0, 1, 2], [10, 11, 12]]

    Source: numpy.fromfunction.
    """
    sizes = as_shape(shape)
    mapped = partial(function, **kwargs)
    for axis in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple(0 if i == axis else None for i in range(len(sizes))))
    return mapped(*(arange(size, dtype=dtype) for size in sizes))


Combine = Callable[[Array, Array], Array]


class Loops(ir.TupleRecord):
    """The loops of one function; rows are the parts of an array along its first axis."""

    reduce: Callable[..., Array]
    accumulate: Callable[..., Array]
    at: Callable[..., Array]
    reduceat: Callable[..., Array]


def loops(func: Combine) -> Loops:
    """Return the loops of a function of two arrays that broadcast."""
    bodies = {"reduce": _reduce, "accumulate": _accumulate, "at": _at, "reduceat": _reduceat}
    return Loops(**{name: ir.Composite(partial(fun, func), name) for name, fun in bodies.items()})


def _combined_type(
    func: Combine, state: Array | ShapedArray, row: Array | ShapedArray
) -> ir.ShapeDtypeStruct:
    """The type of the results of ``func``, whose dtype the carry of a loop has from the start."""
    avals = [ShapedArray(x.shape, x.dtype, x.weak_type) for x in (state, row)]
    return ir.eval_shape(func, *avals)


def _combined(func: Combine, state: Array, row: Array) -> Array:
    """``func`` of both, with booleans and integers converted to the other's dtype by promotion.

    The conversion is explicit, so that it works under strict promotion, too: the state may have
    another dtype than the rows only because ``func`` returns it.
    """
    if state.dtype == ir.BOOL and row.dtype != ir.BOOL:
        state = convert(state, row.dtype)
    elif state.dtype in INEXACT_DTYPES and row.dtype not in INEXACT_DTYPES:
        row = convert(row, state.dtype)
    return func(state, row)


def _row(rows: Array, i: ArrayLike) -> Array:
    return lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)


def _reduce(
    func: Combine,
    rows: Array,
    initial: Array | None = None,
    where: Array | None = None,
    *,
    identity: float | None = None,
) -> Array:
    """The rows combined; ``identity`` is the initial value where that is a constant."""
    if initial is None and identity is not None:
        initial = asarray(identity)
    # Without an initial value the first row is the state, of whose dtype the result may differ.
    if initial is None:
        start, state = 1, lax.index_in_dim(rows, 0, 0, keepdims=False)
    else:
        start, state = 0, broadcast_to(as_elements(initial, rows.dtype), rows.shape[1:])
    part = ShapedArray(rows.shape[1:], rows.dtype)
    dtype = _combined_type(func, state, part).dtype
    if ir.surely_at_most(rows.shape[0], 0):
        return convert(state, dtype)

    def body(i, state):
        combined = convert(_combined(func, state, _row(rows, i)), dtype)
        if where is None:
            return combined
        return select_where(_row(where, i), combined, state, "reduce")

    return lax.fori_loop(start, rows.shape[0], body, convert(state, dtype))


def _accumulate(
    func: Combine, rows: Array, *, dtype: np.dtype | None = None, identity: ArrayLike | None = None
) -> Array:
    """The rows combined so far; ``identity`` leaves every row unchanged, where there is one."""
    part = ShapedArray(rows.shape[1:], rows.dtype)
    result: np.dtype = dtype or _combined_type(func, part, part).dtype
    if ir.surely_at_most(rows.shape[0], 0):
        return convert(rows, result)
    # With an identity the loop begins before the first row, and has one state to carry.
    if identity is not None:

        def step(state, row):
            state = convert(_combined(func, state, row), result)
            return state, state

        start = lax.full(rows.shape[1:], ir.exact_scalar(identity, result))
        return lax.scan(step, start, rows)[1]
    first = convert(lax.index_in_dim(rows, 0, 0, keepdims=False), result)
    second = lax.dynamic_index_in_dim(rows, np.int32(1), keepdims=False)  # the first of one row

    def counted_step(carry, row):
        i, state = carry
        # The first step returns the first row: nothing is copied to put it before the others. What
        # it computes and drops is what the second step computes, with the same derivative.
        is_first = lax.eq(i, np.int32(0))
        combined = _combined(func, state, select_where(is_first, second, row))
        state = select_where(is_first, state, convert(combined, result))
        return (lax.add(i, np.int32(1)), state), state

    return lax.scan(counted_step, (np.int32(0), first), rows)[1]


def _at(func: Combine, a: Array, places: Array, values: Array, *, wrap: bool = False) -> Array:
    """Update elements of a vector one after the other; places beyond its end are ignored.

    With ``wrap``, negative places count from the end.
    """
    size = a.shape[0]
    # Negative places count from the end; those before the start are moved past it, to be ignored,
    # too.
    if wrap:
        wide = places.dtype if places.dtype.itemsize == 8 else np.dtype(np.int32)
        places = convert(places, wide)
        limit, zero = lax.full_like(places, size), lax.full_like(places, 0)
        places = select_where(lax.lt(places, zero), lax.add(places, limit), places)
        inside = lax.bitwise_and(lax.ge(places, zero), lax.lt(places, limit))
        places = convert(select_where(inside, places, limit), np.int32)
    element = ShapedArray((), a.dtype, a.weak_type)
    value = ShapedArray((), values.dtype, values.weak_type)
    dtype = _combined_type(func, element, value).dtype

    def body(i, a):
        place = _row(places, i)
        element = _row(a, place)
        updated = convert(_combined(func, element, _row(values, i)), dtype)
        inside = lax.lt(place, np.int32(size))
        # Beyond the end, the index is that of the last element, which is written as it was.
        updated = select_where(inside, updated, element)
        return lax.dynamic_update_index_in_dim(a, updated, place, 0)

    return lax.fori_loop(0, places.shape[0], body, convert(a, dtype))


def _reduceat(func: Combine, rows: Array, starts: Array) -> Array:
    """Combine the rows from ``starts[i]`` to ``starts[i + 1] - 1``, for every ``i`` at once."""
    count = rows.shape[0]
    last = lax.full_like(starts, count, shape=(1,))
    ends = lax.concatenate([lax.slice_in_dim(starts, 1, None), last], 0)
    # One loop over all rows; row i is combined with the states of the segments that contain it. A
    # segment that does not ascend is its first row alone.
    state = take(rows, starts, axis=0)
    combined = _combined_type(func, state, state)
    dtype, weak = combined.dtype, combined.weak_type
    if dtype == ir.BOOL:
        dtype, weak = rows.dtype, rows.weak_type
    shape = (starts.shape[0],) + (1,) * (rows.ndim - 1)

    def body(i, state):
        i = lax.convert_element_type(i, starts.dtype)
        inside = lax.bitwise_and(lax.gt(i, starts), lax.lt(i, ends))
        combined = _combined(func, state, lax.expand_dims(_row(rows, i), (0,)))
        combined = convert(combined, dtype, weak)
        return select_where(lax.reshape(inside, shape), combined, state, "reduceat")

    return lax.fori_loop(0, count, body, convert(state, dtype, weak))
