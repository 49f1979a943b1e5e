"""The steps of ``jacfwd`` and ``jacrev``, in JAX's private forms: ``jax._src.api``.

Libraries whose Jacobians are computed in chunks of columns or rows are written with them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, PyTree, ShapedArray, get_aval, issubdtype
from ricci_numpy import authoring
from ricci_pytree import tree_flatten, tree_unflatten


def _type_of(x: ArrayLike) -> ShapedArray:
    return cast(ShapedArray, get_aval(x))


def _check(name: str, kind: str, allowed: type, x: ArrayLike) -> None:
    dtype = _type_of(x).dtype
    if allowed is not np.generic and not issubdtype(dtype, allowed):
        raise TypeError(
            f"{name} requires {kind} with dtypes that are sub-dtypes of np.{allowed.__name__}, "
            f"but got {dtype}."
        )


def check_input_dtype_jacfwd(holomorphic: bool, x: ArrayLike) -> None:
    """Raise ``TypeError`` where ``jacfwd`` cannot differentiate with respect to an array."""
    _check("jacfwd", "inputs", np.complexfloating if holomorphic else np.floating, x)


def check_input_dtype_jacrev(holomorphic: bool, allow_int: bool, x: ArrayLike) -> None:
    """Raise ``TypeError`` where ``jacrev`` cannot differentiate with respect to an array."""
    allowed = np.generic if allow_int else np.inexact
    _check("jacrev", "inputs", np.complexfloating if holomorphic else allowed, x)


def check_output_dtype_jacfwd(holomorphic: bool, x: ArrayLike) -> None:
    """Raise ``TypeError`` where ``jacfwd`` cannot differentiate a result."""
    _check("jacfwd", "outputs", np.complexfloating if holomorphic else np.generic, x)


def check_output_dtype_jacrev(holomorphic: bool, x: ArrayLike) -> None:
    """Raise ``TypeError`` where ``jacrev`` cannot differentiate a result."""
    _check("jacrev", "outputs", np.complexfloating if holomorphic else np.floating, x)


def std_basis(pytree: PyTree) -> PyTree:
    """Return the standard basis of a pytree of arrays, stacked along a new first axis.

    Args:
      pytree: arrays of ``n`` elements in total.

    Returns:
      A pytree of arrays of shape ``(n, *x.shape)`` and of the dtypes of the arrays.

    Raises:
      ValueError: if there are no arrays.
    """
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        raise ValueError("a pytree without arrays has no standard basis")
    sizes = list(map(np.size, leaves))
    bases = []
    for (start, _), x in zip(_ranges(sizes), leaves, strict=True):
        aval = _type_of(x)
        block = jnp.eye(sum(sizes), aval.size, k=-start, dtype=aval.dtype)
        block = authoring.convert(block, aval.dtype, aval.weak_type)
        bases.append(lax.reshape(block, (sum(sizes), *aval.shape)))
    return tree_unflatten(tree, bases)


def jacfwd_unravel(input_pytree: PyTree, output_pytree_leaf: Array, arr: Array) -> PyTree:
    """Split the columns of a Jacobian into blocks, one for each input array.

    Args:
      input_pytree: arrays of ``n`` elements in total.
      output_pytree_leaf: the result ``y`` whose Jacobian it is.
      arr: of shape ``(*y.shape, n)``.

    Returns:
      A pytree like the inputs ``x``, of arrays of shape ``(*y.shape, *x.shape)``.
    """
    shape = np.shape(output_pytree_leaf)
    return _blocks(input_pytree, arr, -1, lambda x: (*shape, *np.shape(x)))


def jacrev_unravel(output_pytree: PyTree, input_pytree_leaf: Array, arr: Array) -> PyTree:
    """Split the rows of a Jacobian into blocks, one for each result.

    Args:
      output_pytree: arrays of ``n`` elements in total.
      input_pytree_leaf: the input ``x`` with respect to which the Jacobian is.
      arr: of shape ``(n, *x.shape)``.

    Returns:
      A pytree like the results ``y``, of arrays of shape ``(*y.shape, *x.shape)``.
    """
    shape = np.shape(input_pytree_leaf)
    return _blocks(output_pytree, arr, 0, lambda y: (*np.shape(y), *shape))


def _blocks(
    pytree: PyTree, arr: Array, axis: int, shape_of: Callable[[Array], tuple[int, ...]]
) -> PyTree:
    leaves, tree = tree_flatten(pytree)
    parts = [
        lax.reshape(lax.slice_in_dim(arr, start, stop, axis=axis), shape_of(x))
        for (start, stop), x in zip(_ranges(map(np.size, leaves)), leaves, strict=True)
    ]
    return tree_unflatten(tree, parts)


def _ranges(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for size in sizes:
        yield start, start + size
        start += size
