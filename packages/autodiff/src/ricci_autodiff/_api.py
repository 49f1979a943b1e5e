"""``jvp``, ``vjp``, ``linearize`` and ``linear_transpose`` of functions of pytrees."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

import ricci_ir as ir
import ricci_pytree as pytree

from ._grad import Auxiliary, reduced
from ._jvp import jvp_flat
from ._linear_functions import Signature, Tangents, pushforward
from ._linearize import linearize_function
from ._pullback import Pullback, saveable_leaves
from ._tangent import Zero, as_value, has_tangent
from ._tangent_checks import checked_tangent, strong, with_float0
from ._transpose import transpose_flat

__all__ = ["FlatFunction", "jvp", "linear_transpose", "linearize", "vjp"]


class FlatFunction:
    """A function of pytrees as a function of flat arrays.

    Attributes:
      fun: the function of pytrees.
      in_tree: the structure of its arguments.
      has_aux: whether it returns a pair, whose second element is not differentiated.
      out_tree: the structure of its result, set by a call.
      aux: the second element of that pair, set by a call.
    """

    __slots__ = ("aux", "fun", "has_aux", "in_tree", "out_tree")

    out_tree: pytree.PyTreeDef

    def __init__(
        self, fun: Callable[..., ir.PyTree], in_tree: pytree.PyTreeDef, has_aux: bool = False
    ):
        self.fun: Callable[..., ir.PyTree] = fun
        self.in_tree: pytree.PyTreeDef = in_tree
        self.has_aux: bool = has_aux
        self.aux: Auxiliary | None = Auxiliary() if has_aux else None

    def __call__(self, *flat: ir.ArrayLike) -> list[ir.ArrayLike]:
        """Call the function on the leaves of its arguments; returns the leaves of its result."""
        out = self.fun(*pytree.tree_unflatten(self.in_tree, flat))
        aux: Any = None
        if self.has_aux:
            out, aux = ir.check_pair(out, "With has_aux=True, the function", "(output, aux)")
        leaves, self.out_tree = pytree.tree_flatten(out)
        # This raises an error for a leaf that is not an array.
        for leaf in leaves:
            ir.get_aval(leaf)
        return leaves if self.aux is None else [*leaves, *self.aux.take(aux)]

    def split_aux[T](self, flat: Sequence[T]) -> tuple[list[T], tuple[ir.PyTree, ...]]:
        """Return the leaves of the output, and a tuple of the auxiliary data, if any."""
        if self.aux is None:
            return list(flat), ()
        # The tracers of the auxiliary data come after the leaves of the output.
        count = len(flat) - self.aux.count
        return list(flat[:count]), (self.aux.filled(list(flat[count:])),)


if TYPE_CHECKING:

    @overload
    def jvp[R](
        fun: Callable[..., R],
        primals: Sequence[Any],
        tangents: Sequence[Any],
        has_aux: Literal[False] = False,
    ) -> tuple[R, R]: ...
    @overload
    def jvp[R, Aux](
        fun: Callable[..., tuple[R, Aux]],
        primals: Sequence[Any],
        tangents: Sequence[Any],
        has_aux: Literal[True],
    ) -> tuple[R, R, Aux]: ...
    @overload
    def linearize[R](
        fun: Callable[..., R],
        *primals: object,
        has_aux: Literal[False] = False,
        in_nzs: object = None,
    ) -> tuple[R, Callable[..., R]]: ...
    @overload
    def linearize[R, Aux](
        fun: Callable[..., tuple[R, Aux]],
        *primals: object,
        has_aux: Literal[True],
        in_nzs: object = None,
    ) -> tuple[R, Callable[..., R], Aux]: ...
    @overload
    def vjp[R](
        fun: Callable[..., R],
        *primals: object,
        has_aux: Literal[False] = False,
        reduce_axes: Sequence[Any] = (),
        saveable_args: object = True,
        in_nzs: object = None,
    ) -> tuple[R, Pullback]: ...
    @overload
    def vjp[R, Aux](
        fun: Callable[..., tuple[R, Aux]],
        *primals: object,
        has_aux: Literal[True],
        reduce_axes: Sequence[Any] = (),
        saveable_args: object = True,
        in_nzs: object = None,
    ) -> tuple[R, Pullback, Aux]: ...


@ir.api_boundary
def jvp(
    fun: Callable, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function and its directional derivative, by forward-mode differentiation.

    Each operation of ``fun`` is followed by its derivative along the direction, so that no
    residuals are stored.

    Args:
      fun: a function of pytrees of arrays.
      primals: a tuple or list of the function's arguments.
      tangents: a tuple or list of the same structure: the direction. A tangent has the shape and
        dtype of its primal, or dtype ``float0`` if the primal has an integer dtype.
      has_aux: whether ``fun`` returns a pair, whose second element is not differentiated.

    Returns:
      ``(fun(*primals), tangent)``, followed by aux if ``has_aux``. The tangent is a pytree like the
      value, with its shapes and dtypes (``float0`` for integers).

    Raises:
      TypeError: if the tangents are of another structure or dtype than the primals.
      ValueError: if they are of another shape.

    Example:
      How the norm of a vector changes when its first component grows:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([3.0, 4.0])
      >>> norm = lambda x: jnp.sqrt(jnp.sum(x**2))
      >>> value, slope = ricci.jvp(norm, (x,), (jnp.array([1.0, 0.0]),))
      >>> round(float(value), 4), round(float(slope), 4)
      (5.0, 0.6)

    Notes:
      Primals and tangents are tuples also for one argument. A tangent is not converted or
      broadcast; ``jnp.ones_like(x)`` and ``jnp.zeros_like(x)`` fit a floating-point primal ``x``.

    See also:
      ``linearize`` applies one derivative to many directions; ``jacfwd`` gives all columns;
      ``vjp`` goes the other way.
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple | list):
            raise TypeError(
                f"jvp: {name} must be a tuple or a list with one entry for each argument of the "
                f"function, got {type(value).__name__}. Write jvp(f, (x,), (t,))."
            )
    leaves, tree = pytree.tree_flatten(tuple(primals))
    tangent_leaves, tangent_tree = pytree.tree_flatten(tuple(tangents))
    if tree != tangent_tree:
        raise TypeError(
            "jvp: primals and tangents must have the same tree structure, but primals have "
            f"{tree} and tangents have {tangent_tree}. Give one tangent for each primal."
        )
    flat = FlatFunction(fun, tree, has_aux)
    avals: list[Any] = list(map(ir.get_aval, leaves))
    in_tangents = [
        checked_tangent("jvp", i, aval, t, tuple(primals))
        for i, (aval, t) in enumerate(zip(avals, tangent_leaves, strict=True))
    ]
    results, out_tangents = jvp_flat(flat, leaves, in_tangents)
    results, aux = flat.split_aux(results)
    # Tangents of the auxiliary data are dropped.
    out_tangents = [as_value(with_float0(t)) for t in out_tangents[: len(results)]]
    value = pytree.tree_unflatten(flat.out_tree, map(as_value, results))
    tangent = pytree.tree_unflatten(flat.out_tree, out_tangents)
    return value, tangent, *aux


@ir.api_boundary
def linearize(
    fun: Callable, *primals: object, has_aux: bool = False, in_nzs: object = None
) -> tuple[Any, ...]:
    """The value of a function and its derivative as a linear function.

    Args:
      fun: a function of pytrees of arrays.
      primals: the function's arguments.
      has_aux: whether ``fun`` returns a pair, whose second element is not differentiated.
      in_nzs: a pytree of Booleans that is a prefix of ``primals``: whether each has a tangent other
        than zero. By default, all have.

    Returns:
      ``(fun(*primals), f_jvp)``, followed by aux if ``has_aux``. ``f_jvp(*tangents)`` returns the
      directional derivative without evaluating ``fun`` again. It is a ``Partial``, a pytree whose
      leaves are its residuals; ``f_jvp.func.jaxpr`` is its jaxpr.

    Raises:
      TypeError: if a primal is not an array; or, when ``f_jvp`` is called, if the tangents are of
        another structure than the primals.
      ValueError: when ``f_jvp`` is called, if a tangent is of another shape or dtype.

    Example:
      The nonlinear part runs once; ``push`` is then applied to every direction, here all at once:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> f = lambda x: x * jnp.sum(x**2)
      >>> value, push = ricci.linearize(f, jnp.array([1.0, 2.0]))
      >>> value.tolist()
      [5.0, 10.0]
      >>> ricci.vmap(push)(jnp.eye(2)).tolist()
      [[7.0, 4.0], [4.0, 13.0]]

    Notes:
      The residuals stay in memory as long as ``f_jvp`` lives. For one direction ``jvp`` needs none.

    See also:
      ``jvp``, ``vjp``, ``linear_transpose``.
    """
    value, eqns, tangents, signature, aux = _linearized("linearize", fun, primals, has_aux, in_nzs)
    return value, pushforward(eqns, tangents, signature), *aux


@ir.api_boundary
def vjp(
    fun: Callable,
    *primals: object,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    saveable_args: object = True,
    in_nzs: object = None,
) -> tuple[Any, ...]:
    """The value of a function and its pullback, by reverse-mode differentiation.

    Args:
      fun: a function of pytrees of arrays.
      primals: the function's arguments.
      has_aux: whether ``fun`` returns a pair, whose second element is not differentiated.
      reduce_axes: named axes over which cotangents are summed instead of returned for each example.
      saveable_args: a pytree of Booleans that is a prefix of ``primals``, in which a tuple matches
        any container: whether ``f_vjp`` may store each. Primals that it reads and may not store
        must be assigned to ``f_vjp.args_res`` before it is called.
      in_nzs: a pytree of Booleans that is a prefix of ``primals``: whether to differentiate with
        respect to each. The cotangents of the others are zero. By default, all are differentiated.

    Returns:
      ``(fun(*primals), f_vjp)``, followed by aux if ``has_aux``. ``f_vjp(ct)`` takes a cotangent
      with the structure, shapes and dtypes of the value, and returns a tuple of cotangents, one for
      each primal. The values and dtypes of cotangents of integer and Boolean outputs are ignored.
      ``f_vjp`` is a pytree whose leaves are its residuals: ``f_vjp.args_res`` are those that are
      leaves of ``primals``, ``f_vjp.opaque_residuals`` the others.

    Raises:
      TypeError: if a primal is not an array.
      ValueError: when ``f_vjp`` is called, if the cotangent does not match the value in structure,
        shape or dtype.

    Example:
      One pullback serves several cotangents. Each picks a weighting of the outputs, and gives the
      gradient of that weighted sum.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def f(a, b):
      ...     return jnp.stack([a * b, a + b])
      >>> value, pull = ricci.vjp(f, 2.0, 5.0)
      >>> value.tolist()
      [10.0, 7.0]
      >>> [float(ct) for ct in pull(jnp.array([1.0, 0.0]))]
      [5.0, 2.0]
      >>> [float(ct) for ct in pull(jnp.array([0.0, 1.0]))]
      [1.0, 1.0]

    Notes:
      The pullback returns a tuple also for one primal: ``(ct,) = pull(1.0)``. Its residuals stay in
      memory as long as it lives.

    See also:
      ``grad`` for scalar-output functions; ``jacrev`` for all rows; ``fwd_and_bwd``, which traces
      the function once for many calls; ``checkpoint``, which stores fewer residuals.
    """
    value, eqns, tangents, signature, aux = _linearized("vjp", fun, primals, has_aux, in_nzs)
    signature = signature._replace(reduce_axes=tuple(reduce_axes))
    leaves = pytree.tree_flatten(primals)[0]
    pullback = Pullback(eqns, tangents, signature, tuple(map(id, leaves)))
    if saveable_args is not True:
        pullback.without_args(saveable_leaves(signature.in_tree, saveable_args))
    return value, pullback, *aux


def _linearized(
    transform: str,
    fun: Callable[..., ir.PyTree],
    primals: tuple[ir.PyTree, ...],
    has_aux: bool,
    in_nzs: ir.PyTree,
) -> tuple[ir.PyTree, list[ir.JaxprEqn], Tangents, Signature, tuple[ir.PyTree, ...]]:
    """Return the value of a function, and its derivative on a tape.

    Returns:
      The value, the live equations of the tape, its tangents, the signature, and a tuple of the
      auxiliary data, if any.
    """
    leaves, tree = pytree.tree_flatten(primals)
    flat = FlatFunction(fun, tree, has_aux)
    in_avals: tuple[Any, ...] = tuple(map(ir.get_aval, leaves))
    smooth = tuple(map(has_tangent, in_avals))
    # An argument whose tangent the caller promises to be zero is not differentiated.
    if in_nzs is not None:
        flags = pytree.flatten_axes(f"{transform} in_nzs", tree, in_nzs)
        smooth = tuple(s and bool(flag) for s, flag in zip(smooth, flags, strict=True))
    tape, in_tangents, results, out_tangents = linearize_function(flat, leaves, smooth)
    results, aux = flat.split_aux(results)
    out_vars = tuple(None if type(t) is Zero else t.atom for t in out_tangents[: len(results)])
    # Equations that no output depends on, such as those of auxiliary data alone, are dropped.
    eqns = ir.live_equations(tape.eqns, [v for v in out_vars if v is not None])
    tangents = Tangents(tuple(t.atom for t in in_tangents), out_vars)
    out_avals: tuple[Any, ...] = tuple(map(ir.get_aval, results))
    signature = Signature(tree, flat.out_tree, in_avals, out_avals, smooth)
    value = pytree.tree_unflatten(flat.out_tree, map(as_value, results))
    return value, eqns, tangents, signature, aux


@ir.api_boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: object, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a function that is promised to be linear.

    Args:
      fun: a linear function of pytrees of arrays.
      primals: arguments of the function, or pytrees of objects with ``shape`` and ``dtype``; only
        their types are used.
      reduce_axes: named axes over which cotangents are summed instead of returned for each example.

    Returns:
      A function that maps a cotangent like ``fun``'s output to a tuple of cotangents like
      ``primals``. It is a pytree of the arrays that ``fun`` closes over.

    Raises:
      TypeError: if the function's inputs and outputs are neither all floating-point or complex nor
        all integers; or, when the result is called, if the cotangent is not like the output.

    Example:
      The transpose of differences. Only the type of the input is needed, not an array:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = ricci.ShapeDtypeStruct((4,), jnp.float32)
      >>> transposed = ricci.linear_transpose(lambda x: x[1:] - x[:-1], x)
      >>> transposed(jnp.array([1.0, 10.0, 100.0]))[0].tolist()
      [-1.0, -9.0, -90.0, 100.0]

    See also:
      ``vjp``, for functions that are not linear.
    """
    axes = tuple(reduce_axes)
    leaves, tree = pytree.tree_flatten(primals)
    flat = FlatFunction(fun, tree)
    avals = [ir.argument_aval(x) for x in leaves]
    jaxpr = ir.trace_to_jaxpr(flat, avals)
    results: list[ir.ShapedArray] = [v.aval for v in jaxpr.outvars]
    _check_linear_dtypes([a.dtype for a in avals], [r.dtype for r in results])  # pyright: ignore
    closed = ir.convert_constvars(jaxpr)
    # Arrays that the function closes over are coefficients, and have no cotangents.
    linear = [False] * len(jaxpr.consts) + [True] * len(avals)

    @ir.api_boundary
    def transposed(consts: Sequence[Any], ct: ir.PyTree) -> tuple[ir.PyTree, ...]:
        ct_leaves, ct_tree = pytree.tree_flatten(ct)
        if ct_tree != flat.out_tree:
            raise TypeError(
                "linear_transpose: the cotangent must have the tree structure of the function's "
                f"output: expected {flat.out_tree}, got {ct_tree}."
            )
        for i, (aval, leaf) in enumerate(zip(results, ct_leaves, strict=True)):
            _check_cotangent(i, aval, leaf, ct)
        out_cts = [strong(leaf, aval) for leaf, aval in zip(ct_leaves, results, strict=True)]
        cts = transpose_flat(closed, linear, [*consts, *[None] * len(avals)], out_cts)
        return pytree.tree_unflatten(tree, [as_value(reduced(with_float0(c), axes)) for c in cts])

    # With the constants as its leaves, the transpose is a pytree that transformations accept.
    return pytree.Partial(transposed, jaxpr.consts)


def _check_linear_dtypes(arguments: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise ``TypeError`` unless a linear function can map these dtypes to those of its results."""
    dtypes = [*arguments, *results]
    # Between integers and floating-point numbers there are only conversions, which round.
    if all(d == ir.float0 or ir.issubdtype(d, np.inexact) for d in dtypes):
        return
    if all(ir.issubdtype(d, np.integer) for d in dtypes):
        return
    shown = [", ".join(str(d) for d in side) for side in (arguments, results)]
    raise TypeError(
        f"linear_transpose: the function maps [{shown[0]}] to [{shown[1]}]. The inputs and outputs "
        "of a linear function must be all floating-point or complex, or all integers."
    )


def _check_cotangent(i: int, aval: ir.ShapedArray, value: ir.ArrayLike, tree: ir.PyTree) -> None:
    """Raise ``TypeError`` unless a cotangent has the type of its output.

    The cotangents of a linear function of integers are integers, too.
    """
    ct_aval = ir.get_aval(value)
    if (ct_aval.shape, ct_aval.dtype) == (aval.shape, aval.dtype):
        return
    path = pytree.keystr(pytree.tree_flatten_with_path(tree)[0][i][0])
    raise TypeError(
        f"linear_transpose: the cotangent{f' at {path}' if path else ''} must have the type of its "
        f"output, {aval.str_short()}, got {ct_aval.str_short()}."
    )
