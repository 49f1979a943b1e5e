"""``jacfwd``, ``jacrev`` and ``hessian``: all partial derivatives at once."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Concatenate, Literal, overload

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree
from ricci_autodiff import FlatFunction, Zero, check_distinct, instantiate, jvp_flat, vjp
from ricci_batching import Axis, batch_flat, batched_at
from ricci_lax.structure._broadcasting import zeros_of

from ._jacobian_blocks import columns_of, rows_of, standard_basis, total
from ._jacobian_types import ArrayJacobian

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


@overload
def jacfwd[**P](
    fun: Callable[Concatenate[ir.Array, P], ir.Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> ArrayJacobian[P]: ...
@overload
def jacfwd[**P](
    fun: Callable[P, ir.PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, ir.PyTree]: ...
def jacfwd(
    fun: Callable[..., ir.PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., ir.PyTree]:
    """The function that computes the Jacobian of ``fun``, column by column, in forward mode.

    It suits functions of few numbers that return many.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of arrays.
      argnums: which positional argument(s) to differentiate with respect to; each is a pytree of
        floating-point arrays.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.
      holomorphic: whether ``fun`` is promised to be holomorphic; arguments and results must be
        complex.

    Returns:
      A function of the same arguments. It returns a pytree like the result of ``fun``, in which
      every array ``y`` is a pytree like the argument at ``argnums`` (a tuple of them for
      several), of arrays of shape ``(*y.shape, *x.shape)``; followed by aux if ``has_aux``.

    Raises:
      TypeError: if an argument or a result has the wrong dtype.
      ValueError: if there is no argument at ``argnums``, or it holds no arrays.

    Example:
      Row ``i`` is the gradient of result ``i``:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> monomials = lambda x: jnp.stack([x[0], x[0] * x[1], x[1] ** 2])
      >>> ricci.jacfwd(monomials)(jnp.array([2.0, 3.0])).tolist()
      [[1.0, 0.0], [3.0, 2.0], [0.0, 6.0]]

    See also:
      ``jacrev``, for more inputs than outputs; ``jvp``, for one direction; ``hessian``.
    """
    positions = _positions("jacfwd", fun, argnums)

    @ir.looks_like(fun)
    @ir.api_boundary
    def jacobian(*args: object, **kwargs: object) -> ir.PyTree:
        differentiated = _Differentiated("jacfwd", fun, positions, args, kwargs)
        differentiated.check_forward(holomorphic)
        flat = FlatFunction(differentiated.call, differentiated.tree, has_aux)
        results: list[Any] = []

        def push(*tangents: ir.Array) -> list[Any]:
            nonlocal results
            results, out_tangents = jvp_flat(flat, differentiated.leaves, tangents)
            out_tangents = flat.split_aux(out_tangents)[0]
            return [_tangent(t, y) for t, y in zip(out_tangents, results, strict=False)]

        # One pass for all columns. The primal values are not batched, so that they are computed
        # once.
        basis = standard_basis(differentiated.avals)
        axis = Axis(differentiated.size)
        values, dims = batch_flat(push, axis, basis, [0] * len(basis))
        results, aux = flat.split_aux(results)
        _check_results("jacfwd", fun, flat.out_tree, results, holomorphic, real=False)
        out_avals: list[Any] = [ir.get_aval(y) for y in results]
        moved = [
            batched_at(v, d, axis, aval.ndim)
            for v, d, aval in zip(values, dims, out_avals, strict=True)
        ]
        rows = [
            differentiated.unflatten(columns_of(v, aval, differentiated.avals), argnums)
            for v, aval in zip(moved, out_avals, strict=True)
        ]
        jac = pytree.tree_unflatten(flat.out_tree, rows)
        return (jac, *aux) if has_aux else jac

    return jacobian


@overload
def jacrev[**P](
    fun: Callable[Concatenate[ir.Array, P], ir.Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> ArrayJacobian[P]: ...
@overload
def jacrev[**P](
    fun: Callable[P, ir.PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, ir.PyTree]: ...
def jacrev(
    fun: Callable[..., ir.PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., ir.PyTree]:
    """The function that computes the Jacobian of ``fun``, row by row, in reverse mode.

    It suits functions of many numbers that return few.

    Args:
      fun: a function of pytrees of arrays that returns a pytree of floating-point arrays.
      argnums: which positional argument(s) to differentiate with respect to; each is a pytree of
        floating-point or complex arrays.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.
      holomorphic: whether ``fun`` is promised to be holomorphic; arguments and results must be
        complex.
      allow_int: whether integer arguments are allowed; their derivatives are zeros.

    Returns:
      A function of the same arguments. It returns a pytree like the result of ``fun``, in which
      every array ``y`` is a pytree like the argument at ``argnums`` (a tuple of them for
      several), of arrays of shape ``(*y.shape, *x.shape)``; followed by aux if ``has_aux``.

    Raises:
      TypeError: if an argument or a result has the wrong dtype.
      ValueError: if there is no argument at ``argnums``, it holds no arrays, or ``fun`` returns
        none.

    Example:
      Results and arguments are pytrees: the Jacobian is one inside the other.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def predict(params, x):
      ...     return params["w"] @ x + params["b"]
      >>> params = {"w": jnp.ones((2, 3)), "b": jnp.zeros(2)}
      >>> jacobian = ricci.jacrev(predict)(params, jnp.arange(3.0))
      >>> {name: j.shape for name, j in jacobian.items()}
      {'b': (2, 2), 'w': (2, 2, 3)}
      >>> jacobian["w"][0].tolist()
      [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]

    Notes:
      Rows are computed together, by ``vmap`` of the pullback, which takes memory for all of them.
      ``lax.map`` over ``vjp`` computes them one at a time.

    See also:
      ``jacfwd``, ``vjp``, ``hessian``.
    """
    positions = _positions("jacrev", fun, argnums)

    @ir.looks_like(fun)
    @ir.api_boundary
    def jacobian(*args: object, **kwargs: object) -> ir.PyTree:
        differentiated = _Differentiated("jacrev", fun, positions, args, kwargs)
        differentiated.check_reverse(holomorphic, allow_int)
        value, pull, *aux = vjp(differentiated.call, *differentiated.arguments, has_aux=has_aux)
        results, out_tree = pytree.tree_flatten(value)
        _check_results("jacrev", fun, out_tree, results, holomorphic, real=True)
        out_avals = list(map(ir.get_aval, results))
        if not out_avals:
            raise ValueError(f"jacrev: {_name(fun)} returned no arrays to differentiate.")

        def pulled(*cts: ir.Array) -> list[Any]:
            return pytree.tree_flatten(pull(pytree.tree_unflatten(out_tree, cts)))[0]

        # The function ran once, for its residuals; the backward pass runs once, on a batch of
        # cotangents.
        basis = standard_basis(out_avals)
        axis = Axis(total(out_avals))
        values, dims = batch_flat(pulled, axis, basis, [0] * len(basis))
        moved = [
            # Integer arguments, which ``allow_int`` permits, have cotangents without values.
            None if _is_float0(v) else batched_at(v, d, axis, 0)
            for v, d in zip(values, dims, strict=True)
        ]
        columns = [
            rows_of(v, out_avals, x) for v, x in zip(moved, differentiated.avals, strict=True)
        ]
        rows = [differentiated.unflatten(row, argnums) for row in zip(*columns, strict=True)]
        jac = pytree.tree_unflatten(out_tree, rows)
        return (jac, *aux) if has_aux else jac

    return jacobian


jacobian = jacrev


@overload
def hessian[**P](
    fun: Callable[Concatenate[ir.Array, P], ir.Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> ArrayJacobian[P]: ...
@overload
def hessian[**P](
    fun: Callable[P, ir.PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, ir.PyTree]: ...
def hessian(
    fun: Callable[..., ir.PyTree],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., ir.PyTree]:
    """The function that computes the second derivatives of ``fun``: ``jacfwd`` of ``jacrev``.

    Args:
      fun, argnums, has_aux, holomorphic: see ``jacrev``.

    Returns:
      A function of the same arguments. It returns a pytree like the result of ``fun``, in which
      every array ``y`` is a pytree like the argument, of pytrees like the argument, of arrays of
      shape ``(*y.shape, *x1.shape, *x2.shape)``; followed by aux if ``has_aux``.

    Raises:
      TypeError: if an argument or a result has the wrong dtype.
      ValueError: if there is no argument at ``argnums``, or it holds no arrays.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> f = lambda x: x[0] ** 2 * x[1]
      >>> ricci.hessian(f)(jnp.array([1.0, 3.0])).tolist()
      [[6.0, 2.0], [2.0, 0.0]]

      A product of the Hessian with a vector needs no Hessian, and little more time than a gradient:

      >>> product = lambda x, v: ricci.jvp(ricci.grad(f), (x,), (v,))[1]
      >>> product(jnp.array([1.0, 3.0]), jnp.array([1.0, 1.0])).tolist()
      [8.0, 2.0]

    See also:
      ``jacfwd``, ``jacrev``, ``jvp``.
    """
    # Forward mode outside: reverse mode of a Jacobian would store the residuals of a backward pass.
    first = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(first, argnums, has_aux, holomorphic)


def _positions(transform: str, fun: object, argnums: object) -> tuple[int, ...]:
    if not callable(fun):
        raise TypeError(f"{transform} needs a function, got {fun!r} of type {type(fun).__name__}.")
    if isinstance(argnums, int):
        return (argnums,)
    if isinstance(argnums, Sequence) and not isinstance(argnums, str):
        return tuple(map(index, argnums))
    raise TypeError(f"{transform}: argnums must be an int or a sequence of ints, got {argnums!r}.")


class _Differentiated:
    """The arguments that a Jacobian is taken with respect to.

    Attributes:
      arguments: the arguments, pytrees.
      leaves, tree: their leaves and their structure.
      avals: the leaves' types.
      size: the total number of elements in the leaves.
    """

    __slots__ = ("_all", "arguments", "avals", "leaves", "size", "transform", "tree", "where")

    def __init__(self, transform: str, fun: Callable, positions: tuple, args: tuple, kwargs: dict):
        self.transform = transform
        self._all = (fun, args, kwargs)
        self.where = tuple(self._normalized(p) for p in positions)
        check_distinct(transform, positions, self.where)
        self.arguments = tuple(args[p] for p in self.where)
        self.leaves, self.tree = pytree.tree_flatten(self.arguments)
        if not self.leaves:
            raise ValueError(
                f"{transform}: the arguments at argnums={positions} of {_name(fun)} hold no arrays "
                "to differentiate with respect to."
            )
        self.avals: list[Any] = []
        for i, leaf in enumerate(self.leaves):
            try:
                self.avals.append(ir.get_aval(leaf))
            except TypeError as error:
                raise TypeError(f"{transform}: argument {self.path(i)}: {error}") from None
        self.size = total(self.avals)

    def _normalized(self, position: int) -> int:
        fun, args, _ = self._all
        if not -len(args) <= position < len(args):
            raise ValueError(
                f"{self.transform}: argnums={position} is out of bounds: {_name(fun)} was called "
                f"with {len(args)} positional arguments. Pass the argument by position; arguments "
                "passed by keyword are not differentiated."
            )
        return position % len(args)

    def call(self, *arguments: ir.PyTree) -> ir.PyTree:
        """Call the function with other values of the differentiated arguments."""
        fun, args, kwargs = self._all
        full = list(args)
        for position, value in zip(self.where, arguments, strict=True):
            full[position] = value
        return fun(*full, **kwargs)

    def path(self, leaf: int) -> str:
        """The name of a leaf in messages, such as ``x['weights']``."""
        fun, args, _ = self._all
        counts = [pytree.tree_structure(arg).num_leaves for arg in args]
        paths = pytree.argument_paths(args, {}, fun)
        starts = [sum(counts[:p]) for p in self.where]
        chosen = [
            paths[start + i]
            for start, p in zip(starts, self.where, strict=True)
            for i in range(counts[p])
        ]
        return chosen[leaf]

    def unflatten(self, parts: Sequence[Any], argnums: int | Sequence[int]) -> ir.PyTree:
        """A part for each leaf, in the structure of the argument, or a tuple for several."""
        tree = pytree.tree_unflatten(self.tree, parts)
        return tree[0] if isinstance(argnums, int) else tree

    def check_forward(self, holomorphic: bool) -> None:
        """Raise unless ``jacfwd`` applies to the leaves' dtypes."""
        if holomorphic:
            return self._check_complex()
        advice = (
            "Pass a float (for example 3.0 instead of 3); for complex arguments use "
            "holomorphic=True if it applies, else jvp."
        )
        return self._check(np.floating, "but jacfwd requires real floating-point inputs", advice)

    def check_reverse(self, holomorphic: bool, allow_int: bool) -> None:
        """Raise unless ``jacrev`` applies to the leaves' dtypes."""
        if holomorphic:
            return self._check_complex()
        if allow_int:
            return None
        advice = (
            "Pass a float (for example 3.0 instead of 3), choose other argnums, or use "
            "allow_int=True."
        )
        return self._check(np.inexact, "but jacrev requires floating-point inputs", advice)

    def _check_complex(self) -> None:
        self._check(
            np.complexfloating,
            "but holomorphic=True requires complex inputs",
            "Convert it to a complex dtype, or drop holomorphic=True.",
        )

    def _check(self, kind: type[np.inexact], problem: str, advice: str) -> None:
        for i, aval in enumerate(self.avals):
            if not ir.issubdtype(aval.dtype, kind):
                raise TypeError(
                    f"{self.transform}: argument {self.path(i)} has dtype {aval.dtype}, {problem}. "
                    f"{advice}"
                )


def _check_results(
    transform: str,
    fun: Callable,
    tree: pytree.PyTreeDef,
    results: Sequence[Any],
    holomorphic: bool,
    real: bool,
) -> None:
    """Raise unless the results are complex if ``holomorphic``, else floats if ``real``."""
    if not (holomorphic or real):
        return
    kind = np.complexfloating if holomorphic else np.floating
    for i, result in enumerate(results):
        dtype = ir.get_aval(result).dtype  # pyright: ignore[reportAttributeAccessIssue]
        if not ir.issubdtype(dtype, kind):
            numbered = pytree.tree_flatten_with_path(
                pytree.tree_unflatten(tree, range(tree.num_leaves))
            )[0]
            what = (
                "holomorphic=True requires complex outputs. Drop holomorphic=True for real results"
                if holomorphic
                else "reverse mode requires real floating-point outputs. Take real and imaginary "
                "parts, or use holomorphic=True, jacfwd or vjp where they apply"
            )
            raise TypeError(
                f"{transform}: {_name(fun)} returned dtype {dtype} at "
                f"output{pytree.keystr(numbered[i][0])}, but {what}."
            )


def _tangent(tangent: ir.ArrayLike | Zero, result: ir.ArrayLike) -> ir.Array:
    """A result's tangent as an array; for an integer result, zeros of the same dtype."""
    if type(tangent) is Zero and tangent.aval.dtype == ir.float0:
        aval = ir.get_aval(result)
        return zeros_of(aval)
    return instantiate(tangent)


def _is_float0(x: ir.ArrayLike) -> bool:
    return ir.get_aval(x).dtype == ir.float0


def _name(fun: object) -> str:
    return getattr(fun, "__name__", None) or repr(fun)
