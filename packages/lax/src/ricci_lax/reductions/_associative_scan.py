"""``associative_scan``: a parallel prefix scan with any associative operation."""

from collections.abc import Callable, Sequence

import numpy as np

from ricci_ir import Array, PyTree, exact_scalar, issubdtype
from ricci_lax.elementwise._addition import add
from ricci_lax.elementwise._comparison import bitwise_or
from ricci_lax.shapes._joining import concatenate
from ricci_lax.shapes._rearranging import rev
from ricci_lax.shapes._slicing import pad, slice_in_dim
from ricci_lax.structure._operand_types import array_aval, canonical_axis, shape_of
from ricci_pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    fn: Callable[..., PyTree], elems: PyTree, reverse: bool = False, axis: int = 0
) -> PyTree:
    """Combine the elements of arrays up to each one, in logarithmically many steps.

    Args:
      fn: ``fn(a, b)`` combines two pytrees like ``elems``, element by element along ``axis``; it
        must be associative.
      elems: a pytree of arrays of one size along ``axis``.
      reverse: whether to combine from the end.
      axis: the axis to scan along.

    Returns:
      A pytree like ``elems``, whose element ``i`` combines the elements up to ``i``.

    Raises:
      TypeError: if ``fn`` is not callable.
      ValueError: if the sizes differ, or ``elems`` is empty.

    Example:
      The recurrence ``h[i] = a[i] * h[i - 1] + b[i]``, without a loop: what is combined are the
      maps ``h -> a * h + b``, and applying two of them one after the other is such a map.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def after(first, second):
      ...     a1, b1 = first
      ...     a2, b2 = second
      ...     return a1 * a2, a2 * b1 + b2
      >>> a = jnp.array([0.5, 0.5, 2.0, 1.0])
      >>> b = jnp.array([4.0, 0.0, 1.0, 1.0])
      >>> lax.associative_scan(after, (a, b))[1].tolist()
      [4.0, 2.0, 5.0, 6.0]

    Notes:
      ``fn`` gets many elements at once, along ``axis``: it must be written for arrays, or wrapped
      in ``vmap``. Sums of floats are rounded in another order than by a loop.

    See also:
      ``scan``; ``cumsum`` and kin, for single operations.

    Source: Blelloch, "Prefix sums and their applications", 1990.
    """
    if not callable(fn):
        raise TypeError(
            f"associative_scan: fn is {fn!r}; give a function of two elements that returns "
            "their combination."
        )
    leaves, tree = tree_flatten(elems)
    if not leaves:
        raise ValueError("lax.associative_scan: elems must hold at least one array.")
    axis = canonical_axis(axis, len(shape_of(leaves[0])))
    size = shape_of(leaves[0])[axis]
    if any(len(shape_of(x)) <= axis or shape_of(x)[axis] != size for x in leaves):
        raise ValueError(
            "associative_scan: the arrays of elems differ in size along the dimension that "
            f"is scanned: their shapes are {[shape_of(x) for x in leaves]}."
        )

    def combine(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
        return tree_flatten(fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))[0]

    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]
    results = _scan(combine, leaves, axis)
    if reverse:
        results = [rev(x, (axis,)) for x in results]
    return tree_unflatten(tree, results)


def _scan(
    combine: Callable[[Sequence[Array], Sequence[Array]], list[Array]],
    elems: Sequence[Array],
    axis: int,
) -> list[Array]:
    size = shape_of(elems[0])[axis]
    if size < 2:
        return list(elems)

    def part(xs: Sequence[Array], start: int, stop: int, stride: int = 1) -> list[Array]:
        return [slice_in_dim(x, start, stop, stride, axis) for x in xs]

    # Scanning the combinations of pairs computes the results at odd positions. Each of these,
    # combined with the next element, is the result at the even position that follows.
    pairs = combine(part(elems, 0, size - 1, 2), part(elems, 1, size, 2))
    odd = _scan(combine, pairs, axis)
    before = part(odd, 0, size // 2 - 1) if size % 2 == 0 else odd
    even = combine(before, part(elems, 2, size, 2))
    even = [
        concatenate([slice_in_dim(x, 0, 1, 1, axis), following], axis)
        for x, following in zip(elems, even, strict=True)
    ]
    return [_interleave(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _interleave(even: Array, odd: Array, axis: int) -> Array:
    aval = array_aval(even)
    equal = aval.shape[axis] == shape_of(odd)[axis]
    zero = exact_scalar(0, aval.dtype)

    def spread(x: Array, low: int, high: int) -> Array:
        config = [(0, 0, 0)] * aval.ndim
        config[axis] = (low, high, 1)
        return pad(x, zero, config)

    join = bitwise_or if issubdtype(aval.dtype, np.bool_) else add
    return join(spread(even, 0, int(equal)), spread(odd, 1, int(not equal)))
