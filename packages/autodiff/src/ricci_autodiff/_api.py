"""``jvp``, ``vjp``, ``linearize`` and ``linear_transpose`` on functions of pytrees."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ricci_ir import (
    api_boundary,
    argument_aval,
    as_array,
    float0,
    get_aval,
    issubdtype,
    trace_to_jaxpr,
)
from ricci_pytree import (
    flatten_axes,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

from ._grad import reduced
from ._jvp import jvp_flat
from ._linear_functions import (
    Pullback,
    Pushforward,
    Signature,
    Tangents,
    checked_tangent,
    strong,
    with_float0,
)
from ._linearize import linearize_flat, live_equations
from ._tangent import Zero, has_tangent
from ._transpose import transpose_flat


class FlatFunction:
    """A function of pytrees as one of flat arrays; remembers the structure of what it returned."""

    __slots__ = ("aux_count", "aux_tree", "fun", "has_aux", "in_tree", "out_tree")

    def __init__(self, fun: Callable, in_tree: Any, has_aux: bool = False):
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.out_tree: Any = None
        self.aux_tree: Any = None
        self.aux_count = 0

    def __call__(self, *flat: Any) -> list[Any]:
        out = self.fun(*tree_unflatten(self.in_tree, flat))
        aux_leaves: list[Any] = []
        if self.has_aux:
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise TypeError(
                    "with has_aux=True the function must return a pair (output, aux), "
                    f"but it returned {type(out).__name__}."
                )
            out, aux = out
            aux_leaves, self.aux_tree = tree_flatten(aux)
        leaves, self.out_tree = tree_flatten(out)
        self.aux_count = len(aux_leaves)
        for leaf in leaves:
            get_aval(leaf)
        return [*leaves, *aux_leaves]

    def split_aux(self, flat: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The output leaves and the aux leaves."""
        count = len(flat) - self.aux_count
        return list(flat[:count]), list(flat[count:])


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
        *primals: Any,
        has_aux: Literal[False] = False,
        in_nzs: Any = None,
    ) -> tuple[R, Callable[..., R]]: ...
    @overload
    def linearize[R, Aux](
        fun: Callable[..., tuple[R, Aux]],
        *primals: Any,
        has_aux: Literal[True],
        in_nzs: Any = None,
    ) -> tuple[R, Callable[..., R], Aux]: ...
    @overload
    def vjp[R](
        fun: Callable[..., R],
        *primals: Any,
        has_aux: Literal[False] = False,
        reduce_axes: Sequence[Any] = (),
        in_nzs: Any = None,
    ) -> tuple[R, Pullback]: ...
    @overload
    def vjp[R, Aux](
        fun: Callable[..., tuple[R, Aux]],
        *primals: Any,
        has_aux: Literal[True],
        reduce_axes: Sequence[Any] = (),
        in_nzs: Any = None,
    ) -> tuple[R, Pullback, Aux]: ...


@api_boundary
def jvp(
    fun: Callable, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """A function's value and its directional derivative.

    Args:
      fun: a function of pytrees of arrays.
      primals: a tuple or list of its arguments.
      tangents: a tuple or list of the same structure: the direction. A tangent has the shape and
        dtype of its primal, or dtype ``float0`` where the primal is of an integer dtype.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.

    Returns:
      ``(fun(*primals), tangent)``, followed by aux if ``has_aux``.

    Raises:
      TypeError: if the tangents do not match the primals.
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple | list):
            raise TypeError(
                f"jvp: {name} must be a tuple or a list, one entry for each argument of the "
                f"function, got {type(value).__name__}. Write jvp(f, (x,), (t,))."
            )
    leaves, tree = tree_flatten(tuple(primals))
    tangent_leaves, tangent_tree = tree_flatten(tuple(tangents))
    if tree != tangent_tree:
        raise TypeError(
            f"jvp: primals have structure {tree} and tangents {tangent_tree}. Give one tangent for "
            "each primal."
        )
    flat = FlatFunction(fun, tree, has_aux)
    given = [
        checked_tangent("jvp", i, get_aval(x), t, tuple(primals))
        for i, (x, t) in enumerate(zip(leaves, tangent_leaves, strict=True))
    ]
    results, out_tangents = jvp_flat(flat, leaves, given)
    results, aux = flat.split_aux(results)
    out_tangents = [as_array(with_float0(t)) for t in out_tangents[: len(results)]]
    value = tree_unflatten(flat.out_tree, map(as_array, results))
    tangent = tree_unflatten(flat.out_tree, out_tangents)
    if has_aux:
        return value, tangent, tree_unflatten(flat.aux_tree, aux)
    return value, tangent


@api_boundary
def linearize(
    fun: Callable, *primals: Any, has_aux: bool = False, in_nzs: Any = None
) -> tuple[Any, ...]:
    """A function's value and its derivative as a linear function.

    Args:
      fun: a function of pytrees of arrays.
      primals: its arguments.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.
      in_nzs: a pytree of Booleans that is a prefix of ``primals``: which of them may vary. The
        tangents of others count as zero; by default all vary.

    Returns:
      ``(fun(*primals), f_jvp)``, where ``f_jvp(*tangents)`` gives the directional derivative
      without evaluating ``fun`` again; followed by aux if ``has_aux``. ``f_jvp`` is a pytree,
      whose leaves are the arrays that it needs.
    """
    value, eqns, tangents, signature, aux = _linearized("linearize", fun, primals, has_aux, in_nzs)
    return value, Pushforward(eqns, tangents, signature), *aux


@api_boundary
def vjp(
    fun: Callable,
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    in_nzs: Any = None,
) -> tuple[Any, ...]:
    """A function's value and the function that pulls cotangents back through it.

    Args:
      fun: a function of pytrees of arrays.
      primals: its arguments.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.
      reduce_axes: named axes over which cotangents are summed instead of kept per example.
      in_nzs: a pytree of Booleans that is a prefix of ``primals``: which of them to differentiate
        with respect to. The cotangents of others are zero; by default, none are.

    Returns:
      ``(fun(*primals), f_vjp)``, where ``f_vjp(ct)`` takes a cotangent of the structure, shapes
      and dtypes of the value and returns a tuple of cotangents, one for each primal; followed by
      aux if ``has_aux``. What stands for the cotangents of integers and Booleans, arrays of
      ``float0`` or of any other dtype, is not looked at. ``f_vjp`` is a pytree, whose leaves are
      the arrays that it needs.
    """
    value, eqns, tangents, signature, aux = _linearized("vjp", fun, primals, has_aux, in_nzs)
    signature = signature._replace(reduce_axes=tuple(reduce_axes))
    return value, Pullback(eqns, tangents, signature), *aux


def _linearized(transform: str, fun: Callable, primals: tuple, has_aux: bool, in_nzs: Any) -> tuple:
    """The value, the live equations of the derivative, its variables and types; the aux if any."""
    leaves, tree = tree_flatten(primals)
    flat = FlatFunction(fun, tree, has_aux)
    in_avals: tuple[Any, ...] = tuple(map(get_aval, leaves))
    smooth = tuple(map(has_tangent, in_avals))
    if in_nzs is not None:
        wanted = flatten_axes(f"{transform} in_nzs", tree, in_nzs)
        smooth = tuple(s and bool(w) for s, w in zip(smooth, wanted, strict=True))
    tape, given, results, out_tangents = linearize_flat(flat, leaves, smooth)
    results, aux = flat.split_aux(results)
    out_vars = tuple(None if type(t) is Zero else t.atom for t in out_tangents[: len(results)])
    eqns = live_equations(tape.eqns, [v for v in out_vars if v is not None])
    tangents = Tangents(tuple(t.atom for t in given), out_vars)
    out_avals = tuple(map(get_aval, results))
    signature = Signature(tree, flat.out_tree, in_avals, out_avals, smooth)
    value = tree_unflatten(flat.out_tree, map(as_array, results))
    extra = (tree_unflatten(flat.aux_tree, aux),) if has_aux else ()
    return value, eqns, tangents, signature, extra


@api_boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a function that is promised to be linear.

    Args:
      fun: a linear function of pytrees of arrays.
      primals: arguments that give the shapes and dtypes; anything with ``shape`` and ``dtype``.
      reduce_axes: named axes over which cotangents are summed instead of kept per example.

    Returns:
      A function from a cotangent like ``fun``'s output to a tuple of cotangents like ``primals``.

    Raises:
      TypeError: if the function does not map floating-point or complex numbers to such, or
        integers to integers; or, when called, if the cotangent is not like the output.
    """
    axes = tuple(reduce_axes)
    leaves, tree = tree_flatten(primals)
    flat = FlatFunction(fun, tree)
    avals = [argument_aval(x) for x in leaves]
    jaxpr = trace_to_jaxpr(flat, avals)
    results: list[Any] = [v.aval for v in jaxpr.outvars]
    _check_linear_dtypes([a.dtype for a in avals], [r.dtype for r in results])  # pyright: ignore

    @api_boundary
    def transposed(ct: Any) -> tuple[Any, ...]:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != flat.out_tree:
            raise TypeError(
                "the cotangent passed to a transposed function must have the tree structure of "
                f"the function's output: expected {flat.out_tree}, got {ct_tree}."
            )
        for i, (aval, leaf) in enumerate(zip(results, ct_leaves, strict=True)):
            _check_cotangent(i, aval, leaf, ct)
        linear = [True] * len(avals)
        given = [strong(leaf, aval) for leaf, aval in zip(ct_leaves, results, strict=True)]
        cts = transpose_flat(jaxpr, linear, [None] * len(avals), given)
        return tree_unflatten(tree, [as_array(reduced(with_float0(c), axes)) for c in cts])

    return transposed


def _check_linear_dtypes(given: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise ``TypeError`` unless linear functions can have these dtypes."""
    dtypes = [*given, *results]
    if all(d == float0 or issubdtype(d, np.inexact) for d in dtypes):
        return
    if all(issubdtype(d, np.integer) for d in dtypes):
        return
    shown = [", ".join(str(d) for d in side) for side in (given, results)]
    raise TypeError(
        f"linear_transpose: the function maps [{shown[0]}] to [{shown[1]}]. Functions of "
        "floating-point and complex numbers whose results are such can be transposed, and "
        "functions of integers whose results are integers."
    )


def _check_cotangent(i: int, aval: Any, value: Any, tree: Any) -> None:
    """Raise ``TypeError`` unless a value has the type of an output, integers being their own."""
    found: Any = get_aval(value)
    if (found.shape, found.dtype) == (aval.shape, aval.dtype):
        return
    path = keystr(tree_flatten_with_path(tree)[0][i][0])
    raise TypeError(
        f"linear_transpose: the cotangent{f' at {path}' if path else ''} must have the type of its "
        f"output, {aval.str_short()}, got {found.str_short()}."
    )
