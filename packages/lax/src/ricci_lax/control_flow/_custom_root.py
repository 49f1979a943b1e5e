"""``custom_root``: the root of a function, differentiated by the implicit function theorem."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import SymbolicZero, Zero, instantiate, jvp_flat, tangent_aval
from ricci_lax.custom._jvp import custom_jvp
from ricci_lax.custom._linear_call import leaf_types, run_with_maps, tangent_map_p
from ricci_lax.custom._shared_rules import runs_at_once
from ricci_lax.elementwise._conversion import converted
from ricci_lax.elementwise._linear import neg
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

__all__ = ["custom_root"]


@ir.api_boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: ir.PyTree,
    solve: Callable[[Callable, Any], Any],
    tangent_solve: Callable[[Callable, Any], Any],
    has_aux: bool = False,
) -> ir.PyTree:
    """A root of ``f``, differentiated by the implicit function theorem.

    Whatever ``solve`` does, the root's derivative with respect to the values that ``f`` closes over
    is the solution of a linear system with the derivative of ``f`` at the root. As far as
    derivatives are concerned, the root does not depend on ``initial_guess``.

    Args:
      f: takes a pytree of arrays and returns one of the same structure.
      initial_guess: where to start, a pytree of arrays.
      solve: ``solve(f, initial_guess)`` returns the root, of the structure of ``initial_guess``.
      tangent_solve: ``tangent_solve(g, y)`` solves ``g(x) == y``, where ``g`` is linear: for
        scalars ``lambda g, y: y / g(1.0)``. Reverse mode transposes it, so that it must be a
        function that can be transposed, such as ``custom_linear_solve``.
      has_aux: whether ``solve`` returns a pair of the root and something else, which is not
        differentiated.

    Returns:
      The root, or with ``has_aux`` a pair of it and the auxiliary output of ``solve``.

    Raises:
      TypeError: if ``f``, ``solve`` or ``tangent_solve`` returns another structure than
        ``initial_guess``, or ``tangent_solve`` other shapes.
      ValueError: if with ``has_aux`` ``solve`` returns no pair.
      NotImplementedError: if ``f`` or ``solve`` has side effects that are not allowed there, such
        as ``io_callback``.

    Example:
      A cube root by bisection, which has no useful derivative of its own:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def bisect(f, guess):
      ...     def halve(_, ends):
      ...         low, high = ends
      ...         middle = (low + high) / 2
      ...         above = f(middle) > 0
      ...         return jnp.where(above, low, middle), jnp.where(above, middle, high)
      ...     return lax.fori_loop(0, 40, halve, (0.0, 10.0))[0]
      >>> def cube_root(a):
      ...     return lax.custom_root(lambda x: x**3 - a, 1.0, bisect, lambda g, y: y / g(1.0))
      >>> round(float(cube_root(8.0)), 4), round(float(ricci.grad(cube_root)(8.0)), 4)
      (2.0, 0.0833)

    See also:
      ``custom_linear_solve``, for linear systems.
    """
    guess, tree = tree_flatten(initial_guess)
    avals = leaf_types("custom_root: initial_guess", guess, initial_guess)
    count = len(guess)
    aux_tree: Any = None

    def flat_f(*x: ir.Array) -> list[Any]:
        return _leaves("f", f(tree_unflatten(tree, x)), tree)

    def flat_solve(*x: ir.Array) -> list[Any]:
        nonlocal aux_tree
        out = solve(f, tree_unflatten(tree, x))
        aux: list[Any] = []
        if has_aux:
            subject = "custom_root: with has_aux=True, solve"
            out, aux_value = ir.check_pair(out, subject, "(root, aux)", ValueError)
            aux, aux_tree = tree_flatten(aux_value)
        return [*_leaves("solve", out, tree), *aux]

    solved = _Traced.of("solve", flat_solve, avals)
    point = solved.jaxpr.out_avals[:count]
    applied = _Traced.of("f", flat_f, point)
    for what, traced in (("solve", solved), ("f", applied)):
        ir.custom_derivatives_allowed_effects.require(f"custom_root: {what}", traced.jaxpr.effects)
    tangent = _tangent_program(tangent_solve, tree, applied, point)
    root = _root(count, applied.jaxpr, solved.jaxpr, tangent.jaxpr)
    outs = root(applied.consts, solved.consts, tangent.consts, guess)
    result = tree_unflatten(tree, outs[:count])
    return (result, tree_unflatten(aux_tree, outs[count:])) if has_aux else result


class _Traced(ir.TupleRecord):
    """A jaxpr whose leading arguments are its constants, and their values."""

    jaxpr: ir.Jaxpr
    consts: list[Any]

    @staticmethod
    def of(what: str, fun: Callable, avals: Sequence[Any]) -> "_Traced":
        """Trace a function of flat arrays; ``what`` names it in messages."""
        jaxpr = ir.trace_to_jaxpr(fun, avals, ir.DebugInfo("custom_root", what))
        return _Traced(ir.convert_constvars(jaxpr), jaxpr.consts)


def _leaves(
    what: str, out: ir.PyTree, tree: PyTreeDef, verb: str = "return a pytree with"
) -> list[Any]:
    leaves, out_tree = tree_flatten(out)
    if out_tree != tree:
        raise TypeError(
            f"custom_root: {what} must {verb} the structure of initial_guess:\n"
            f"  expected {tree}\n  got      {out_tree}"
        )
    return leaves


def _tangent_program(
    tangent_solve: Callable, tree: PyTreeDef, applied: _Traced, point: Sequence[Any]
) -> _Traced:
    """Trace ``tangent_solve`` as a function of the constants of ``f``, the root, and ``y``."""
    jaxpr = applied.jaxpr
    fixed = len(jaxpr.in_avals)
    directions: list[Any] = list(map(tangent_aval, point))

    def fun(*args: ir.Array) -> list[Any]:
        at, y = args[:fixed], args[fixed:]

        def g(x: ir.PyTree) -> ir.PyTree:
            leaves = _leaves("the argument of g", x, tree, "have")
            y_avals = [_like("g", v, a) for v, a in zip(leaves, directions, strict=True)]
            outs = tangent_map_p.bind(
                *at, *y_avals, jaxpr=jaxpr, count=len(point), transposed=False
            )
            return tree_unflatten(tree, outs)

        out = _leaves("tangent_solve", tangent_solve(g, tree_unflatten(tree, y)), tree)
        return [_like("tangent_solve", x, a) for x, a in zip(out, directions, strict=True)]

    y_avals = map(tangent_aval, jaxpr.out_avals)
    return _Traced.of("tangent_solve", fun, [*jaxpr.in_avals, *y_avals])


def _like(what: str, x: ir.ArrayLike, aval: ir.ShapedArray) -> ir.ArrayLike:
    """Check the shape of a value, and convert it to the dtype of ``aval``, a part of the root."""
    actual = ir.get_aval(x)
    if actual.shape != aval.shape:
        verb = "takes" if what == "g" else "must return"
        raise TypeError(
            f"custom_root: {what} {verb} arrays of the shapes of the root, but found "
            f"{actual.str_short()} in place of {aval.str_short()}."
        )
    return converted(x, aval.dtype, aval.weak_type)


def _root(count: int, applied: ir.Jaxpr, solved: ir.Jaxpr, tangent: ir.Jaxpr) -> custom_jvp:
    """The root as a ``custom_jvp`` function of all values that it depends on."""

    def custom_root(f_consts, solve_consts, tangent_consts, guess):
        return ir.eval_jaxpr(solved, (), *solve_consts, *guess)

    root = custom_jvp(custom_root)
    root.made_once = True
    # The function owns the rule and outlives it; a reference back would form a cycle that leaves
    # both, and the arrays in their jaxprs, to the garbage collector.
    itself = weakref.ref(root)

    def root_jvp(primals, tangents):
        f_consts, solve_consts, tangent_consts, guess = primals
        if runs_at_once([*f_consts, *solve_consts, *guess]):
            outs = ir.eval_jaxpr(solved, (), *solve_consts, *guess)
        else:
            function: Any = itself()
            outs = function(*primals)
        x = outs[:count]
        zeros = [SymbolicZero(tangent_aval(ir.get_aval(out))) for out in outs]
        const_tangents = [Zero(t.aval) if isinstance(t, SymbolicZero) else t for t in tangents[0]]
        if all(type(t) is Zero for t in const_tangents):
            return outs, zeros
        # From f(a, x) = 0 follows f_x dx = -f_a da.
        at = [*f_consts, *x]
        change = jvp_flat(
            lambda *xs: ir.eval_jaxpr(applied, (), *xs),
            at,
            [*const_tangents, *map(Zero.from_primal, x)],
        )[1]
        # ``tangent_solve`` applies f_x⁻¹ to a vector; the sign follows.
        dx = run_with_maps(tangent, [*tangent_consts, *at, *map(instantiate, change)])
        return outs, [*map(neg, dx), *zeros[count:]]

    root.defjvp(root_jvp, symbolic_zeros=True)
    return root
