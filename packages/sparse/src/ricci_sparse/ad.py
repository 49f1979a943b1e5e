"""Derivatives with respect to sparse arrays: those of their elements, at the same indices."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import ricci_autodiff as autodiff
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array
from ricci_pytree import tree_flatten, tree_unflatten

from ._base import is_sparse
from .bcoo import BCOO
from .bcsr import BCSR

__all__ = ["flatten_fun_for_sparse_ad", "grad", "is_sparse", "jacfwd", "jacobian", "jacrev"]
__all__ += ["value_and_grad"]


class _Arguments:
    """Arguments of a call and the positions of those to differentiate by.

    Args:
      argnums: the positions of the arguments to differentiate by.
      args: all positional arguments: pytrees of arrays, some of them sparse.
    """

    __slots__ = ("args", "leaves", "positions", "single", "trees")

    def __init__(self, name: str, argnums: int | Sequence[int], args: tuple[Any, ...]):
        self.single: bool = isinstance(argnums, int)
        argument_numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if any(not -len(args) <= i < len(args) for i in argument_numbers):
            raise ValueError(
                f"{name}: argnums {argnums} must be positions of the {len(args)} positional "
                "arguments."
            )
        self.args: tuple[Any, ...] = args
        # Negative argnums count from the end.
        self.positions: list[int] = [i % len(args) for i in argument_numbers]
        flat = [tree_flatten(args[i], is_leaf=is_sparse) for i in self.positions]
        self.leaves: list[list[Any]] = [leaves for leaves, _ in flat]
        self.trees: list[Any] = [tree for _, tree in flat]

    def data(self) -> list[list[Any]]:
        """The arrays to differentiate by: dense ones, and the elements of sparse ones."""
        return [[x.data if is_sparse(x) else x for x in leaves] for leaves in self.leaves]

    def with_data(self, data: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """The arguments with these arrays in place of those of ``data``."""
        args = list(self.args)
        for i, tree, old, new in zip(self.positions, self.trees, self.leaves, data, strict=True):
            leaves = [_with_elements(x, d) for x, d in zip(old, new, strict=True)]
            args[i] = tree_unflatten(tree, leaves)
        return tuple(args)

    def results(self, derivatives: Sequence[Sequence[Any]], make: Callable[[Any, Any], Any]) -> Any:
        """Derivatives in the structure of the arguments; ``make(argument, derivative)`` each."""
        trees = tuple(
            tree_unflatten(tree, [make(x, d) for x, d in zip(leaves, ds, strict=True)])
            for tree, leaves, ds in zip(self.trees, self.leaves, derivatives, strict=True)
        )
        return trees[0] if self.single else trees


def _with_elements(x: Any, data: Any) -> Any:
    """Replace the elements of a sparse array; for a dense array, return ``data``."""
    if not is_sparse(x):
        return data
    _, aux = x.tree_flatten()
    # Every format has its elements first and its indices behind them.
    others = [part for part in x._arrays() if part is not x.data]
    return type(x).tree_unflatten(aux, (data, *others))


def flatten_fun_for_sparse_ad(
    fun: Callable[..., Any], argnums: int | tuple[int, ...], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[int, ...], list[Any], Callable[[Any], Any]]:
    """Flatten a function to one of the arrays in its arguments.

    Args:
      fun: a function of pytrees of arrays, some of them sparse.
      argnums: the positions of the arguments to differentiate by.
      args: the arguments.

    Returns:
      The function; the positions of its arguments to differentiate by; its arguments; and a
      function that gives a sequence of their derivatives the structure of the arguments.
    """
    arguments = _Arguments("flatten_fun_for_sparse_ad", argnums, args)
    counts = [len(leaves) for leaves in arguments.leaves]
    flat = [x for leaves in arguments.data() for x in leaves]

    def grouped(xs: Sequence[Any]) -> list[list[Any]]:
        leaves_left = iter(xs)
        return [[next(leaves_left) for _ in range(count)] for count in counts]

    def flat_fun(*xs: Any) -> Any:
        return fun(*arguments.with_data(grouped(xs)))

    def unflatten(derivatives: Any) -> Any:
        return arguments.results(grouped(list(derivatives)), _with_elements)

    return flat_fun, tuple(range(len(flat))), flat, unflatten


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., tuple[Any, Any]]:
    """The value and the gradient of a function of arrays, some of them sparse.

    The gradient by a sparse array is a sparse array with the same indices: that by its elements.

    Args:
      fun: a function that returns a scalar.
      argnums: which arguments to differentiate by.
      has_aux: whether ``fun`` returns a pair, whose second part is returned unchanged.
      kwargs: further arguments of ``value_and_grad`` for dense arrays.

    Returns:
      A function with the arguments of ``fun``, which returns the value and the gradient.

    Raises:
      TypeError: when it is called, if an argument's elements are not floats.
      ValueError: if an argument number is out of range.

    Example:
      >>> from ricci.experimental import sparse
      >>> import numpy as np
      >>> M = sparse.BCOO.fromdense(np.float32([[0, 2], [1, 0]]))
      >>> value, gradient = sparse.value_and_grad(lambda M, v: (M @ v).sum())(M, np.float32([3, 4]))
      >>> float(value), gradient.data
      (11.0, Array([4., 3.], dtype=float32))
    """

    @wraps(fun)
    def wrapped(*args: Any, **params: Any) -> tuple[Any, Any]:
        arguments = _Arguments("value_and_grad", argnums, args)
        of_data = lambda data: fun(*arguments.with_data(data), **params)
        differentiated = autodiff.value_and_grad(of_data, has_aux=has_aux, **kwargs)
        value, gradients = differentiated(arguments.data())
        return value, arguments.results(gradients, _with_elements)

    return wrapped


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The gradient of a function of arrays, some of them sparse: see ``value_and_grad``.

    Args:
      fun, argnums, has_aux, kwargs: as for ``value_and_grad``.

    Returns:
      A function with the arguments of ``fun``, which returns the gradient; and the auxiliary
      output, if ``has_aux``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
      >>> gradient = sparse.grad(lambda M: (M @ jnp.array([3.0, 4.0])).sum())(M)
      >>> gradient.data.tolist(), gradient.indices.tolist()
      ([4.0, 3.0], [[0, 1], [1, 0]])
    """
    differentiated = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def wrapped(*args: Any, **params: Any) -> Any:
        value, gradient = differentiated(*args, **params)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _jacobian(
    transform: Callable[..., Any],
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    options: dict[str, Any],
) -> Callable[..., Any]:
    @wraps(fun)
    def wrapped(*args: Any, **params: Any) -> Any:
        arguments = _Arguments(transform.__name__, argnums, args)
        out_tree: Any = None

        # Derivatives are taken with respect to the stored elements alone: the indices are integers,
        # so a sparse argument is its data, put back into the array inside the function.
        def of_data(data: Any) -> Any:
            nonlocal out_tree
            tree = fun(*arguments.with_data(data), **params)
            out, aux = tree if has_aux else (tree, None)
            leaves, out_tree = tree_flatten(out, is_leaf=is_sparse)
            if any(map(is_sparse, leaves)):
                raise NotImplementedError(
                    f"{transform.__name__}: the derivative of a sparse result. Return it with "
                    "todense."
                )
            return (leaves, aux) if has_aux else leaves

        result = transform(of_data, has_aux=has_aux, **options)(arguments.data())
        jacobians, aux = result if has_aux else (result, None)
        outs = [arguments.results(by_output, _argument_jacobian) for by_output in jacobians]
        tree = tree_unflatten(out_tree, outs)
        return (tree, aux) if has_aux else tree

    return wrapped


def _argument_jacobian(x: Any, jacobian: Array) -> Any:
    """The Jacobian by an argument: by a sparse one, a sparse array with output dimensions first."""
    if not is_sparse(x):
        return jacobian
    if not isinstance(x, BCOO | BCSR):
        raise NotImplementedError(
            "Jacobians by sparse arrays are BCOO or BCSR arrays, but the argument is a "
            f"{type(x).__name__}."
        )
    # The outputs' dimensions become batches, which all share the argument's indices.
    outer = jacobian.shape[: jacobian.ndim - x.data.ndim]
    info = x.info._replace(shape=(*outer, *x.shape))._asdict()
    indices = jnp.broadcast_to(x.indices, (*outer, *x.indices.shape))
    if isinstance(x, BCOO):
        return BCOO((jacobian, indices), **info)
    starts = jnp.broadcast_to(x.indptr, (*outer, *x.indptr.shape))
    return BCSR((jacobian, indices, starts), **info)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The Jacobian of a function of arrays, some of them sparse, in forward mode.

    By a BCOO or BCSR array it is such an array, whose leading batch dimensions are the result's.

    Args:
      fun: a function of pytrees of arrays, which returns dense arrays.
      argnums, has_aux, kwargs: see ``value_and_grad``.

    Returns:
      A function with the arguments of ``fun``, which returns the Jacobian.

    Raises:
      NotImplementedError: when it is called, if ``fun`` returns sparse arrays.

    Example:
      >>> from ricci.experimental import sparse
      >>> import numpy as np
      >>> M = sparse.BCOO.fromdense(np.float32([[0, 2], [1, 0]]))
      >>> sparse.jacfwd(lambda M: M @ np.float32([3, 4]))(M)
      BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(lax.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The Jacobian of a function of sparse arrays, in reverse mode: see ``jacfwd``."""
    return _jacobian(lax.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev
