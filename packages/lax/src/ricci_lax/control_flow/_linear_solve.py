"""``custom_linear_solve``: linear systems, differentiated by solving linear systems."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_jaxpr, batched_at
from ricci_lax.custom._linear_call import instantiated_like, leaf_types
from ricci_lax.custom._shared_rules import bind_once
from ricci_lax.elementwise._linear import neg
from ricci_lax.rules._checkify import checks_nan
from ricci_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Value

__all__ = ["custom_linear_solve", "linear_solve_p"]


class _LinearSolveTuple(ir.TupleRecord):
    """A value for each of the four functions; printed jaxprs show the class's name."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self) -> "_LinearSolveTuple":
        """The values for the transposed system."""
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


class _Traced(ir.TupleRecord):
    """A traced function: its jaxpr with leading constants, their values, the tree of aux."""

    jaxpr: ir.Jaxpr | None
    consts: list[Any]
    aux_tree: Any


_absent = _Traced(None, [], None)


@ir.api_boundary
def custom_linear_solve(
    matvec: Callable,
    b: ir.PyTree,
    solve: Callable[[Callable, Any], Any],
    transpose_solve: Callable[[Callable, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> ir.PyTree:
    """The solution ``x`` of ``matvec(x) == b``, differentiated as that of a linear system.

    However ``solve`` works, the derivatives are solutions of linear systems with the same
    ``matvec``, or with its transpose.

    Args:
      matvec: a linear function that takes a pytree like ``b`` and returns one.
      b: the right-hand side, a pytree of arrays.
      solve: ``solve(matvec, b)`` returns the solution, of the structure and shapes of ``b``.
      transpose_solve: ``transpose_solve(vecmat, x)`` solves the transposed system; reverse-mode
        differentiation needs it.
      symmetric: whether the system is its own transpose, so that ``solve`` serves for both.
      has_aux: whether ``solve`` (and ``transpose_solve``) returns a pair of the solution and
        something else, which is not differentiated.

    Returns:
      The solution, or with ``has_aux`` a pair of it and the auxiliary output of ``solve``.

    Raises:
      ValueError: if ``matvec`` or a solver returns something of another structure or of other
        shapes than ``b``.
      TypeError: on reverse-mode differentiation without ``transpose_solve``.

    Example:
      A solver that runs until it has converged: a ``while_loop``, which reverse mode could not
      differentiate.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def jacobi(matvec, b):
      ...     step = lambda x: x + (b - matvec(x)) / 4.0
      ...     unsolved = lambda x: jnp.max(jnp.abs(b - matvec(x))) > 1e-6
      ...     return lax.while_loop(unsolved, step, jnp.zeros_like(b))
      >>> def solution(scale):
      ...     matrix = jnp.array([[4.0, 1.0], [1.0, 3.0]])
      ...     b = scale * jnp.array([1.0, 2.0])
      ...     return lax.custom_linear_solve(lambda x: matrix @ x, b, jacobi, symmetric=True)
      >>> [round(x, 4) for x in solution(11.0).tolist()]
      [1.0, 7.0]
      >>> round(float(ricci.grad(lambda s: solution(s).sum())(11.0)), 4)
      0.7273

    See also:
      ``custom_root``; ``scipy.sparse.linalg.cg`` and kin, which are built on this function.
    """
    leaves, tree = tree_flatten(b)
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    avals = leaf_types("custom_linear_solve: b", leaves, b)
    trace = lambda what, fun, has_aux: _trace(what, fun, tree, avals, has_aux)

    forward, closed = trace("matvec", matvec, False)
    solved, _ = trace("solve", lambda y: solve(matvec, y), has_aux)
    backward = back_solved = _absent
    if transpose_solve is not None:
        transposed = matvec
        if symmetric:
            backward = forward
        else:
            transposed = _transposed(closed, tree)
            backward, _ = trace("the transpose of matvec", transposed, False)
        back_solved, _ = trace("transpose_solve", lambda y: transpose_solve(transposed, y), has_aux)
    parts = _LinearSolveTuple(forward, backward, solved, back_solved)
    outs = _bind(
        [*(const for part in parts for const in part.consts), *leaves],
        const_lengths=_LinearSolveTuple(*(len(part.consts) for part in parts)),
        jaxprs=_LinearSolveTuple(*(part.jaxpr for part in parts)),
    )
    x = tree_unflatten(tree, outs[: len(leaves)])
    return (x, tree_unflatten(solved.aux_tree, outs[len(leaves) :])) if has_aux else x


def _trace(
    what: str, fun: Callable, tree: PyTreeDef, avals: Sequence[Any], has_aux: bool
) -> tuple[_Traced, ir.Jaxpr]:
    """Trace a function of a pytree like ``b``; also its jaxpr with the constants inside."""
    aux_tree: Any = None

    def flat(*leaves: ir.Array) -> list[Any]:
        nonlocal aux_tree
        out = fun(tree_unflatten(tree, leaves))
        aux_leaves: list[Any] = []
        if has_aux:
            subject = f"custom_linear_solve: with has_aux=True, {what}"
            out, aux = ir.check_pair(out, subject, "(solution, aux)", ValueError)
            aux_leaves, aux_tree = tree_flatten(aux)
        results, out_tree = tree_flatten(out)
        _check_like_b(what, tree, avals, out_tree, results)
        return [*results, *aux_leaves]

    jaxpr = ir.trace_to_jaxpr(flat, avals, ir.DebugInfo("custom_linear_solve", what))
    return _Traced(_shared(what, ir.convert_constvars(jaxpr)), jaxpr.consts, aux_tree), jaxpr


_shared_jaxprs: ir.Cache[tuple[Any, ...], ir.Jaxpr] = ir.Cache("functions of linear solves", 256)


def _shared(what: str, jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Return the cached jaxpr equal to this one, which has executables, or this one.

    Solvers pass new functions in each call, so that these do not identify the jaxpr. Where calls
    are recorded, the executables are those of the whole.
    """
    if ir.is_recording():
        return jaxpr
    key = what, tuple(v.aval for v in jaxpr.invars), tuple(eqn.primitive for eqn in jaxpr.eqns)
    cached = _shared_jaxprs.recall(key)
    if cached is not None and ir.same_program(cached, jaxpr):
        return cached
    _shared_jaxprs.put(key, jaxpr)
    return jaxpr


def _check_like_b(
    what: str, tree: PyTreeDef, avals: Sequence[Any], out_tree: PyTreeDef, results: Sequence[Any]
) -> None:
    if out_tree != tree:
        raise ValueError(
            f"custom_linear_solve: {what} must return a pytree with the structure of b:\n"
            f"  expected {tree}\n  got      {out_tree}"
        )
    numbered = tree_flatten_with_path(tree_unflatten(tree, range(len(avals))))[0]
    for (path, _), aval, result in zip(numbered, avals, results, strict=True):
        out_aval: Any = ir.get_aval(result)
        if out_aval.shape != aval.shape:
            location = f" at output{keystr(path)}" if path else ""
            raise ValueError(
                f"custom_linear_solve: {what} must return arrays of the shapes of b, but{location} "
                f"it returned {out_aval.str_short()} where b has {aval.str_short()}."
            )


def _transposed(closed: ir.Jaxpr, tree: PyTreeDef) -> Callable[[ir.PyTree], ir.PyTree]:
    """The transpose of a traced linear function of a pytree."""
    count = len(closed.invars)

    def vecmat(y: ir.PyTree) -> ir.PyTree:
        cts, _ = tree_flatten(y)
        results = ad.transpose_flat(closed, [True] * count, [None] * count, cts)
        return tree_unflatten(tree, map(ad.instantiate, results))

    return vecmat


def _split(values: Sequence[Any], lengths: _LinearSolveTuple) -> tuple[_LinearSolveTuple, list]:
    """The constants of each function, and the right-hand side."""
    remaining = iter(values)
    parts = [list(islice(remaining, length)) for length in lengths]
    return _LinearSolveTuple(*parts), list(remaining)


def _joined(consts: _LinearSolveTuple, b: Sequence[Any]) -> list[Any]:
    return [*(x for part in consts for x in part), *b]


def _bind(
    operands: Sequence[Any], *, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
) -> list[Any]:
    def run() -> list[Any]:
        consts, b = _split(operands, const_lengths)
        return ir.eval_jaxpr(jaxprs.solve, (), *consts.solve, *b)

    params = {"const_lengths": const_lengths, "jaxprs": jaxprs}
    return bind_once(linear_solve_p, operands, params, run)


def _jvp(primals, tangents, **params):
    outs = _bind(primals, **params)
    return outs, _tangents(outs, primals, tangents, **params)


def _tangents(outs, primals, tangents, **params):
    jaxprs, lengths = params["jaxprs"], params["const_lengths"]
    consts, b = _split(primals, lengths)
    # The tangents of the solvers' constants are not read: the solution does not depend on how it is
    # computed.
    const_tangents, rhs = _split(tangents, lengths)
    x, aux = outs[: len(b)], outs[len(b) :]
    if any(type(t) is not ad.Zero for t in const_tangents.matvec):
        # A x = b gives A dx = db - dA x.
        run = lambda *args: ir.eval_jaxpr(jaxprs.matvec, (), *args)
        _, applied = ad.jvp_flat(
            run, [*consts.matvec, *x], [*const_tangents.matvec, *map(ad.Zero.from_primal, x)]
        )
        applied = [instantiated_like(t, y) for t, y in zip(applied, x, strict=True)]
        rhs = [ad.add_tangents(t, n) for t, n in zip(rhs, map(neg, applied), strict=True)]
    zeros = [ad.Zero.from_primal(a) for a in aux]
    if all(type(t) is ad.Zero for t in rhs):
        return [*map(ad.Zero.from_primal, x), *zeros]
    right = [instantiated_like(t, y) for t, y in zip(rhs, b, strict=True)]
    solved = _bind(_joined(consts, right), **params)[: len(b)]
    return [
        *(
            t if ad.has_tangent(ir.get_aval(y)) else ad.Zero.from_primal(y)
            for t, y in zip(solved, x, strict=True)
        ),
        *zeros,
    ]


def _series(push, primals, series, *, const_lengths, jaxprs):
    """Solve A x = b order by order, moving the terms of A x of lower orders of x to the right."""
    params = {"const_lengths": const_lengths, "jaxprs": jaxprs}
    outs = _bind(primals, **params)
    consts, b = _split(primals, const_lengths)
    const_series, b_series = _split(series, const_lengths)
    order, count = len(series[0]), len(b)
    out_series: list[list[Any]] = [[None] * order for _ in outs]
    for k in range(order):
        rhs = [
            ad.Zero.from_primal(y) if s[k] is None else s[k]
            for y, s in zip(b, b_series, strict=True)
        ]
        if any(term is not None for s in const_series.matvec for term in s[: k + 1]):
            terms = [*const_series.matvec, *out_series[:count]]
            pushed, flags = push(jaxprs.matvec, ad.term_flags(terms))
            # The terms of x of order k and above are still None, so that the term of order k of A x
            # is a sum over its lower orders.
            applied = ir.eval_jaxpr(
                pushed, (), *consts.matvec, *outs[:count], *ad.given_terms(terms)
            )
            applied_terms = [s[k] for s in ad.series_of(flags, applied[count:])]
            rhs = [
                t if n is None else ad.add_tangents(t, neg(n))
                for t, n in zip(rhs, applied_terms, strict=True)
            ]
        if all(type(t) is ad.Zero for t in rhs):
            continue
        right = [instantiated_like(t, y) for t, y in zip(rhs, b, strict=True)]
        solved = _bind(_joined(consts, right), **params)[:count]
        for terms, x in zip(out_series, solved, strict=False):
            terms[k] = x if ad.has_tangent(ir.get_aval(x)) else None
    return outs, out_series


def _linearize(tape: ad.Tape, primals, tangents, **params):
    # Only the system for the tangents goes on the tape.
    outs = _bind(primals, **params)
    with ir.set_trace(tape):
        return outs, _tangents(outs, primals, tangents, **params)


def _transpose(cts, *args, const_lengths, jaxprs):
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "custom_linear_solve: reverse-mode differentiation solves the transposed system, which "
            "needs a solver. Pass transpose_solve, or symmetric=True if the system is its own "
            "transpose."
        )
    consts, b = _split(args, const_lengths)
    if any(ad.is_undefined_primal(x) for x in _joined(consts, ())):
        raise NotImplementedError(
            "custom_linear_solve: the solution is linear in b alone, and the transpose was asked "
            "for with respect to constants of matvec or of a solver."
        )
    count = len(b)
    skipped: list[Any] = [None] * (len(args) - count)
    x_cts = cts[:count]
    if all(type(ct) is ad.Zero for ct in x_cts):
        return [*skipped, *(None for _ in b)]
    outs = _bind(
        # The cotangent of b is the solution of Aᵀ y = ct.
        _joined(consts.transpose(), list(map(ad.instantiate, x_cts))),
        const_lengths=const_lengths.transpose(),
        jaxprs=jaxprs.transpose(),
    )
    b_cts = zip(outs[:count], b, strict=True)
    return [*skipped, *(out if ad.is_undefined_primal(y) else None for out, y in b_cts)]


def _batch(axis, args, dims, *, const_lengths, jaxprs):
    consts, b = _split(args, const_lengths)
    const_dims, b_dims = _split(dims, const_lengths)
    count = len(b)
    flags = _LinearSolveTuple(*([d is not None for d in part] for part in const_dims))

    def batched(name: str, operands: Sequence[bool], out_dims: Sequence[int | None] | None = None):
        jaxpr = getattr(jaxprs, name)
        in_dims = [0 if flag else None for flag in (*getattr(flags, name), *operands)]
        return batch_jaxpr(jaxpr, axis, in_dims, out_dims)

    def joined(first: Sequence[bool], name: str, operands: Sequence[bool]) -> list[bool]:
        if getattr(jaxprs, name) is None:
            return list(first)
        out_dims = batched(name, operands)[1][:count]
        return [f or d is not None for f, d in zip(first, out_dims, strict=True)]

    def propagate(state: tuple[list[bool], list[bool]]):
        x_flags, b_flags = state
        x_flags = joined(joined(x_flags, "solve", b_flags), "vecmat", b_flags)
        b_flags = joined(joined(b_flags, "matvec", x_flags), "transpose_solve", x_flags)
        return None, (x_flags, b_flags)

    # A leaf of x is batched if solving makes it so, and a leaf of b if applying matvec does. Each
    # can make more leaves of the other batched.
    _, (x_flags, b_flags) = ir.fixpoint(
        propagate, ([False] * count, [d is not None for d in b_dims])
    )

    def final(name: str, operands: Sequence[bool], results: Sequence[bool]) -> ir.Jaxpr | None:
        jaxpr = getattr(jaxprs, name)
        if jaxpr is None:
            return None
        # The auxiliary output of a solver is always batched.
        aux = [0] * (len(jaxpr.outvars) - count)
        return batched(name, operands, [*(0 if flag else None for flag in results), *aux])[0]

    moved = [
        batched_at(x, d, axis, 0) if d is not None else x
        for x, d in zip(_joined(consts, ()), _joined(const_dims, ()), strict=True)
    ]
    right = [
        batched_at(x, d, axis, 0) if flag else x
        for x, d, flag in zip(b, b_dims, b_flags, strict=True)
    ]
    outs = _bind(
        [*moved, *right],
        const_lengths=const_lengths,
        jaxprs=_LinearSolveTuple(
            matvec=final("matvec", x_flags, b_flags),
            vecmat=final("vecmat", b_flags, x_flags),
            solve=final("solve", b_flags, x_flags),
            transpose_solve=final("transpose_solve", x_flags, b_flags),
        ),
    )
    return outs, [*(0 if flag else None for flag in x_flags), *[0] * (len(outs) - count)]


def _program(
    *, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
) -> tuple[ir.Jaxpr, str]:
    """The jaxpr of ``solve``, as a function of all operands."""
    name = "custom_linear_solve"
    avals = _LinearSolveTuple(
        *(
            tuple(jaxpr.in_avals[:length]) if jaxpr is not None else ()
            for jaxpr, length in zip(jaxprs, const_lengths, strict=True)
        )
    )
    solve: ir.Jaxpr = jaxprs.solve
    count = const_lengths.solve

    def build() -> ir.Jaxpr:
        before = map(ir.Var, (*avals.matvec, *avals.vecmat))
        after = map(ir.Var, avals.transpose_solve)
        return solve.replace(invars=[*before, *solve.invars[:count], *after, *solve.invars[count:]])

    return solve.derived((name, avals), build), name


def _lower(ctx: Lowering, *operands: Value, const_lengths, jaxprs) -> list[Value]:
    consts, b = _split(operands, const_lengths)
    # The other functions serve derivatives and batches alone.
    return ctx.inline(jaxprs.solve, [*consts.solve, *b])


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> ir.LiveCall | None:
    """The dead-code rule: drop the solvers' auxiliary outputs if all of them are unused."""
    jaxprs = params["jaxprs"]
    count = len(jaxprs.matvec.outvars)
    if len(needed) == count or any(needed[count:]):
        return None

    def alone(jaxpr: ir.Jaxpr | None) -> ir.Jaxpr | None:
        if jaxpr is None:
            return None
        return ir.live_program(jaxpr, [i < count for i in range(len(jaxpr.outvars))]).jaxpr

    smaller = jaxprs._replace(
        solve=alone(jaxprs.solve), transpose_solve=alone(jaxprs.transpose_solve)
    )
    operands = (True,) * (sum(params["const_lengths"]) + count)
    results = tuple(i < count for i in range(len(needed)))
    return ir.LiveCall({**params, "jaxprs": smaller}, operands, results)


# Operands: the constants of matvec, of its transpose and of the solvers, then the leaves of b.
linear_solve_p: ir.Primitive = ir.define(
    "custom_linear_solve",
    abstract_eval=lambda *avals, const_lengths, jaxprs: jaxprs.solve.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: ir.join_effects(j.effects for j in params["jaxprs"] if j is not None),
    jvp=_jvp,
    jet=ad.at_once(_series),
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    lower=_lower,
    program=_program,
    dead_code=_dead_code,
    checkify=checks_nan,
)
