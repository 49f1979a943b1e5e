"""``jvp``, ``vjp``, ``linearize`` and ``linear_transpose`` on functions of pytrees."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from ricci_ir import (
    api_boundary,
    as_array,
    float0,
    get_aval,
    trace_to_jaxpr,
)
from ricci_pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

from ._jvp import jvp_flat
from ._linearize import linearize_flat, live_equations
from ._tangent import Zero, has_tangent, instantiate, tangent_aval
from ._transpose import pull_back_tape, transpose_flat


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
        _checked_tangent("jvp", i, x, t, tuple(primals))
        for i, (x, t) in enumerate(zip(leaves, tangent_leaves, strict=True))
    ]
    results, out_tangents = jvp_flat(flat, leaves, given)
    results, aux = flat.split_aux(results)
    out_tangents = [as_array(_with_float0(t)) for t in out_tangents[: len(results)]]
    value = tree_unflatten(flat.out_tree, map(as_array, results))
    tangent = tree_unflatten(flat.out_tree, out_tangents)
    if has_aux:
        return value, tangent, tree_unflatten(flat.aux_tree, aux)
    return value, tangent


@api_boundary
def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """A function's value and its derivative as a linear function.

    Args:
      fun: a function of pytrees of arrays.
      primals: its arguments.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.

    Returns:
      ``(fun(*primals), f_jvp)``, where ``f_jvp(*tangents)`` gives the directional derivative
      without evaluating ``fun`` again; followed by aux if ``has_aux``.
    """
    leaves, tree = tree_flatten(primals)
    flat = FlatFunction(fun, tree, has_aux)
    smooth = [has_tangent(get_aval(x)) for x in leaves]
    tape, given, results, out_tangents = linearize_flat(flat, leaves, smooth)
    results, aux = flat.split_aux(results)
    out_tangents = out_tangents[: len(results)]
    out_vars = [t.atom for t in out_tangents if type(t) is not Zero]
    eqns = live_equations(tape.eqns, out_vars)

    @api_boundary
    def f_jvp(*tangents: Any) -> Any:
        tangent_leaves, tangent_tree = tree_flatten(tangents)
        if tangent_tree != tree:
            raise TypeError(
                f"the linearized function takes tangents in the structure of the primals, {tree}, "
                f"and was given {tangent_tree}."
            )
        checked = [
            _checked_tangent("linearize", i, x, t, primals)
            for i, (x, t) in enumerate(zip(leaves, tangent_leaves, strict=True))
        ]
        env = {
            id(g.atom): instantiate(t)
            for g, t in zip(given, compress(checked, smooth), strict=True)
        }
        for eqn in eqns:
            operands = [env[id(a)] if id(a) in env else a.val for a in eqn.invars]  # pyright: ignore
            result = eqn.primitive.bind(*operands, **eqn.params)
            result = result if eqn.primitive.multiple_results else [result]
            env.update((id(v), r) for v, r in zip(eqn.outvars, result, strict=True))
        outs = [_with_float0(t) if type(t) is Zero else env[id(t.atom)] for t in out_tangents]
        return tree_unflatten(flat.out_tree, map(as_array, outs))

    value = tree_unflatten(flat.out_tree, map(as_array, results))
    if has_aux:
        return value, f_jvp, tree_unflatten(flat.aux_tree, aux)
    return value, f_jvp


@api_boundary
def vjp(
    fun: Callable, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """A function's value and the function that pulls cotangents back through it.

    Args:
      fun: a function of pytrees of arrays.
      primals: its arguments.
      has_aux: whether ``fun`` returns a pair whose second element is passed through.

    Returns:
      ``(fun(*primals), f_vjp)``, where ``f_vjp(ct)`` takes a cotangent of the structure, shapes
      and dtypes of the value and returns a tuple of cotangents, one for each primal; followed by
      aux if ``has_aux``.
    """
    leaves, tree = tree_flatten(primals)
    flat = FlatFunction(fun, tree, has_aux)
    smooth = [has_tangent(get_aval(x)) for x in leaves]
    tape, given, results, out_tangents = linearize_flat(flat, leaves, smooth)
    results, aux = flat.split_aux(results)
    out_tangents = out_tangents[: len(results)]
    out_vars = [None if type(t) is Zero else t.atom for t in out_tangents]
    out_avals = [get_aval(r) for r in results]
    in_vars = [t.atom for t in given]
    eqns = live_equations(tape.eqns, [v for v in out_vars if v is not None])

    @api_boundary
    def f_vjp(ct: Any) -> tuple[Any, ...]:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != flat.out_tree:
            raise ValueError(
                "the cotangent passed to a vjp function must have the tree structure of the "
                f"function's output: expected {flat.out_tree}, got {ct_tree}."
            )
        for i, (aval, leaf) in enumerate(zip(out_avals, ct_leaves, strict=True)):
            _check_type("vjp", "cotangent", "output", i, aval, leaf, ct)
        found = iter(pull_back_tape(eqns, in_vars, out_vars, ct_leaves))
        cts = [
            as_array(instantiate(next(found))) if s else np.zeros(np.shape(x), float0)
            for x, s in zip(leaves, smooth, strict=True)
        ]
        return tree_unflatten(tree, cts)

    value = tree_unflatten(flat.out_tree, map(as_array, results))
    if has_aux:
        return value, f_vjp, tree_unflatten(flat.aux_tree, aux)
    return value, f_vjp


@api_boundary
def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable:
    """The transpose of a function that is promised to be linear.

    Args:
      fun: a linear function of pytrees of arrays.
      primals: arguments that give the shapes and dtypes; anything with ``shape`` and ``dtype``.

    Returns:
      A function from a cotangent like ``fun``'s output to a tuple of cotangents like ``primals``.
    """
    leaves, tree = tree_flatten(primals)
    flat = FlatFunction(fun, tree)
    avals = [get_aval(x) for x in leaves]
    jaxpr = trace_to_jaxpr(flat, avals)

    @api_boundary
    def transposed(ct: Any) -> tuple[Any, ...]:
        ct_leaves, ct_tree = tree_flatten(ct)
        if ct_tree != flat.out_tree:
            raise TypeError(
                "the cotangent passed to a transposed function must have the tree structure of "
                f"the function's output: expected {flat.out_tree}, got {ct_tree}."
            )
        for i, (var, leaf) in enumerate(zip(jaxpr.outvars, ct_leaves, strict=True)):
            _check_type("linear_transpose", "cotangent", "output", i, var.aval, leaf, ct)
        linear = [True] * len(avals)
        cts = transpose_flat(jaxpr, linear, [None] * len(avals), ct_leaves)
        return tree_unflatten(tree, [as_array(instantiate(c)) for c in cts])

    return transposed


def _with_float0(tangent: Any) -> Any:
    if type(tangent) is Zero and tangent.aval.dtype == float0:
        return np.zeros(tangent.aval.shape, float0)
    return instantiate(tangent)


def _checked_tangent(transform: str, i: int, primal: Any, tangent: Any, tree: Any) -> Any:
    if getattr(tangent, "dtype", None) == float0:
        if has_tangent(get_aval(primal)):
            _check_type(transform, "tangent", "primal", i, get_aval(primal), tangent, tree)
        return Zero.from_primal(primal)
    if type(tangent) is Zero:
        return tangent
    _check_type(transform, "tangent", "primal", i, get_aval(primal), tangent, tree)
    return tangent


def _check_type(transform, what, of, i, aval, value, tree) -> None:
    """Raise unless ``value`` has the tangent type of ``aval``; float0 passes for integers."""
    expected: Any = tangent_aval(aval)
    found: Any = get_aval(value)
    if found.shape == expected.shape and found.dtype == expected.dtype:
        return
    path = keystr(tree_flatten_with_path(tree)[0][i][0])
    # Only a jvp's dtype is a TypeError, as in JAX.
    wrong_dtype = transform == "jvp" and found.shape == expected.shape
    raise (TypeError if wrong_dtype else ValueError)(
        f"{transform}: the {what}{f' at {path}' if path else ''} must have the shape and tangent "
        f"dtype of its {of}: expected {expected.str_short()}, got {found.str_short()}."
    )
