"""Linear operations that carry their transpose: ``linear_call``, and derivatives of jaxprs."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis, batch_jaxpr, batched_at
from ricci_lax.structure._broadcasting import zeros_of
from ricci_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

from ._shared_rules import bind_once, lower_inline

__all__ = ["linear_call", "linear_call_p", "tangent_map_p"]


@ir.api_boundary
def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: ir.PyTree,
    linear_args: ir.PyTree,
) -> ir.PyTree:
    """Call ``fun(residual_args, linear_args)``, with a user-defined transpose of ``fun``.

    Args:
      fun: ``fun(residuals, x)``, linear in ``x``: a function of pytrees of arrays.
      fun_transpose: ``fun_transpose(residuals, ct)`` takes a cotangent like the result of ``fun``
        and returns one like ``linear_args``. It is called on transposition.
      residual_args: arguments in which ``fun`` need not be linear; not to be differentiated.
      linear_args: the arguments in which ``fun`` is linear.

    Returns:
      The result of ``fun``.

    Raises:
      TypeError: if ``fun_transpose`` returns another structure than ``linear_args``.
      ValueError: if it returns other shapes.
      NotImplementedError: on differentiation with respect to ``residual_args``.

    Example:
      Reading rows, with the addition of rows as its transpose:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.custom_derivatives import linear_call
      >>> def read(rows, table):
      ...     return table[rows]
      >>> def add(rows, ct):
      ...     return jnp.zeros((4, 2)).at[rows].add(ct)
      >>> rows = jnp.array([3, 0, 3])
      >>> f = lambda table: jnp.sum(linear_call(read, add, rows, table))
      >>> ricci.grad(f)(jnp.ones((4, 2))).tolist()
      [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    """
    for function in (fun, fun_transpose):
        if not callable(function):
            raise TypeError(
                f"linear_call needs functions, got {function!r} of type {type(function).__name__}."
            )
    residuals, residual_tree = tree_flatten(residual_args)
    linear, linear_tree = tree_flatten(linear_args)
    residual_avals = leaf_types("linear_call: residual_args", residuals, residual_args)
    linear_avals = leaf_types("linear_call: linear_args", linear, linear_args)
    count = len(residuals)
    out_tree: Any = None

    def flat(*args: ir.Array) -> list[Any]:
        nonlocal out_tree
        results, out_tree = tree_flatten(
            fun(
                tree_unflatten(residual_tree, args[:count]),
                tree_unflatten(linear_tree, args[count:]),
            )
        )
        return results

    def flat_transpose(*args: ir.Array) -> list[Any]:
        result = fun_transpose(
            tree_unflatten(residual_tree, args[:count]), tree_unflatten(out_tree, args[count:])
        )
        results, tree = tree_flatten(result)
        _check_transpose(tree, results, linear_tree, linear_avals)
        return results

    info = ir.DebugInfo("linear_call", getattr(fun, "__name__", "fun"))
    closed = ir.trace_to_jaxpr(flat, [*residual_avals, *linear_avals], info)
    callee = Callee(closed, count)
    outs = _bind(
        [*closed.consts, *residuals, *linear],
        callee=callee.jaxpr,
        num_callee_consts=len(closed.consts),
        num_res=count,
        transpose_thunk=TransposeThunk(flat_transpose, callee, fun_transpose),
    )
    return tree_unflatten(out_tree, outs)


def leaf_types(what: str, leaves: Sequence[Any], tree: ir.PyTree) -> list[Any]:
    """Return the types of a pytree's leaves; an error names ``what`` and the leaf's path."""
    avals = []
    for i, leaf in enumerate(leaves):
        try:
            avals.append(ir.get_aval(leaf))
        except TypeError as error:
            path = keystr(tree_flatten_with_path(tree)[0][i][0])
            raise TypeError(f"{what}{path}: {error}") from None
    return avals


def _check_transpose(
    tree: PyTreeDef, results: Sequence[Any], linear_tree: PyTreeDef, avals: Sequence[Any]
) -> None:
    if tree != linear_tree:
        raise TypeError(
            "linear_call: fun_transpose must return a pytree with the structure of linear_args:\n"
            f"  expected {linear_tree}\n  got      {tree}"
        )
    numbered = tree_flatten_with_path(tree_unflatten(tree, range(len(avals))))[0]
    for (path, _), aval, result in zip(numbered, avals, results, strict=True):
        actual: Any = ir.get_aval(result)
        if actual.shape != aval.shape:
            raise ValueError(
                "linear_call: fun_transpose must return arrays of the shapes of linear_args, but "
                f"output{keystr(path)} is {actual.str_short()} where linear_args{keystr(path)} is "
                f"{aval.str_short()}."
            )


class Callee:
    """A jaxpr that is linear in its last arguments, and the values of its constants.

    Attributes:
      jaxpr: takes its constants, the residuals, the linear arguments.
      consts: the constants.
      num_res: how many residuals there are.
    """

    __slots__ = ("consts", "jaxpr", "num_res")

    def __init__(self, closed: ir.Jaxpr, num_res: int):
        self.jaxpr = ir.convert_constvars(closed)
        self.consts = closed.consts
        self.num_res = num_res

    def avals(self) -> tuple[list[Any], list[Any]]:
        """The types of the residuals and of the linear arguments."""
        avals = self.jaxpr.in_avals[len(self.consts) :]
        return avals[: self.num_res], avals[self.num_res :]


# A transpose is a thunk: most linear calls are never transposed, and tracing the transpose's
# function at each call would double the time of tracing. The transpose of a transpose is the
# callee.


class TransposeThunk:
    """The transpose of a callee, traced at the first call."""

    __slots__ = ("callee", "found", "flat", "function")

    def __init__(self, flat: Callable, callee: Callee, function: Callable):
        self.flat = flat
        self.callee = callee
        self.function = function
        self.found: Callee | None = None

    def __call__(self) -> Callee:
        if self.found is None:
            residual_avals, _ = self.callee.avals()
            cts = map(ad.tangent_aval, self.callee.jaxpr.out_avals)
            info = ir.DebugInfo("linear_call", getattr(self.function, "__name__", "fun_transpose"))
            closed = ir.trace_to_jaxpr(self.flat, [*residual_avals, *cts], info)
            self.found = Callee(closed, self.callee.num_res)
        return self.found

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


class KnownTranspose:
    """The transpose of a transpose: the callee itself."""

    __slots__ = ("callee",)

    def __init__(self, callee: Callee):
        self.callee = callee

    def __call__(self) -> Callee:
        return self.callee

    def __repr__(self) -> str:
        return "callee"


class BatchedThunk:
    """The transpose of a callee, for batches along axis 0 of all but the residuals and constants.

    A residual is batched along axis 0 where ``dims`` is 0; constants are not batched.
    """

    __slots__ = ("axis", "dims", "thunk")

    def __init__(self, thunk: Callable[[], Callee], axis: Axis, dims: Sequence[int | None]):
        self.thunk = thunk
        self.axis = axis
        self.dims = tuple(dims)

    def __call__(self) -> Callee:
        callee = self.thunk()
        fixed = len(callee.consts)
        _, cts = callee.avals()
        dims = [*(None,) * fixed, *self.dims, *(0 for _ in cts)]
        results = [0] * len(callee.jaxpr.outvars)
        batched, _ = batch_jaxpr(callee.jaxpr, self.axis, dims, results)
        transposed = Callee(batched, callee.num_res)
        transposed.consts = callee.consts
        return transposed

    def __repr__(self) -> str:
        return repr(self.thunk)


def _bind(operands: Sequence[Any], **params: Any) -> list[Any]:
    run = lambda: ir.eval_jaxpr(params["callee"], (), *operands)
    return bind_once(linear_call_p, operands, params, run)


def _jvp(primals, tangents, **params):
    fixed = params["num_callee_consts"] + params["num_res"]
    if any(type(t) is not ad.Zero for t in tangents[:fixed]):
        raise NotImplementedError(
            "linear_call: only linear_args can be differentiated, not residual_args or arrays that "
            "the function closes over."
        )
    outs = _bind(primals, **params)
    if all(type(t) is ad.Zero for t in tangents):
        return outs, list(map(ad.Zero.from_primal, outs))
    dense = [
        instantiated_like(t, x) for t, x in zip(tangents[fixed:], primals[fixed:], strict=True)
    ]
    out_tangents = _bind([*primals[:fixed], *dense], **params)
    return outs, [
        t if ad.has_tangent(ir.get_aval(out)) else ad.Zero.from_primal(out)
        for out, t in zip(outs, out_tangents, strict=True)
    ]


def instantiated_like(tangent: ir.ArrayLike | ad.Zero, x: ir.ArrayLike) -> ir.Array:
    """A tangent as an array that the callee accepts in place of ``x``."""
    if type(tangent) is ad.Zero and not ad.has_tangent(ir.get_aval(x)):
        return zeros_of(ir.get_aval(x))
    return ad.instantiate(tangent)


def _linearize(tape: ad.Tape, primals, tangents, **params):
    with ir.set_trace(tape):
        return _jvp(primals, tangents, **params)


def _transpose(cts, *args, callee, num_callee_consts, num_res, transpose_thunk):
    fixed = num_callee_consts + num_res
    if any(map(ad.is_undefined_primal, args[:fixed])):
        raise NotImplementedError(
            "linear_call: the function is linear in linear_args only; it cannot be transposed with "
            "respect to residual_args."
        )
    transposed = transpose_thunk()
    original = Callee(callee, num_res)
    original.consts = list(args[:num_callee_consts])
    results = _bind(
        [*transposed.consts, *args[num_callee_consts:fixed], *map(ad.instantiate, cts)],
        callee=transposed.jaxpr,
        num_callee_consts=len(transposed.consts),
        num_res=num_res,
        transpose_thunk=KnownTranspose(original),
    )
    pairs = zip(results, args[fixed:], strict=True)
    return [*(None,) * fixed, *(r if ad.is_undefined_primal(x) else None for r, x in pairs)]


def _batch(axis, args, dims, *, callee, num_callee_consts, num_res, transpose_thunk):
    fixed = num_callee_consts + num_res
    linear = [batched_at(x, d, axis, 0) for x, d in zip(args[fixed:], dims[fixed:], strict=True)]
    results = [0] * len(callee.outvars)
    batched, _ = batch_jaxpr(callee, axis, [*dims[:fixed], *(0 for _ in linear)], results)
    outs = _bind(
        [*args[:fixed], *linear],
        callee=batched,
        num_callee_consts=num_callee_consts,
        num_res=num_res,
        transpose_thunk=BatchedThunk(transpose_thunk, axis, dims[num_callee_consts:fixed]),
    )
    return outs, results


# Operands: the callee's constants, the residuals, the linear arguments.
linear_call_p: ir.Primitive = ir.define(
    "linear_call",
    abstract_eval=lambda *avals, callee, **_: callee.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: params["callee"].effects,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    lower=lambda ctx, *operands, callee, **params: lower_inline(ctx, *operands, call_jaxpr=callee),
    program=lambda *, callee, **_: (callee, "linear_call"),
)


def _map_program(jaxpr: ir.Jaxpr, count: int, transposed: bool) -> ir.Jaxpr:
    """The derivative (or its transpose) as a jaxpr of all operands of ``tangent_map_p``."""
    key = ("tangent_map", count, transposed)
    return jaxpr.derived(key, lambda: _make_program(jaxpr, count, transposed))


def _make_program(jaxpr: ir.Jaxpr, count: int, transposed: bool) -> ir.Jaxpr:
    avals = jaxpr.in_avals
    fixed = len(avals) - count

    def forward(*args: ir.Array) -> list[Any]:
        primals, direction = args[: len(avals)], args[len(avals) :]
        zeros = [ad.Zero.from_primal(x) for x in primals[:fixed]]
        run = lambda *xs: ir.eval_jaxpr(jaxpr, (), *xs)
        return [ad.instantiate(t) for t in ad.jvp_flat(run, primals, [*zeros, *direction])[1]]

    def backward(*args: ir.Array) -> list[Any]:
        primals, cts = args[: len(avals)], args[len(avals) :]
        # The derivative is linear in its direction, so that its own jaxpr can be transposed.
        program = _map_program(jaxpr, count, False)
        linear = [False] * len(avals) + [True] * count
        results = ad.transpose_flat(program, linear, [*primals, *(None,) * count], cts)
        return [ad.instantiate(ct) for ct in results]

    last = jaxpr.out_avals if transposed else avals[fixed:]
    fun = backward if transposed else forward
    return ir.trace_to_jaxpr(fun, [*avals, *map(ad.tangent_aval, last)], jaxpr.debug_info)


def tangent_map(operands: Sequence[Any], **params: Any) -> list[Any]:
    """Apply the derivative of a jaxpr; see ``tangent_map_p``."""
    run = lambda: ir.jaxpr_as_fun(_map_program(**params), *operands)
    return bind_once(tangent_map_p, operands, params, run)


def run_with_maps(jaxpr: ir.Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Apply a jaxpr without constants, running the maps in it as ``tangent_map`` does."""
    apply = lambda eqn, operands: (
        tangent_map(operands, **eqn.params) if eqn.primitive is tangent_map_p else None
    )
    return ir.interpret(jaxpr, args, apply)


def _abstract_eval(*avals, jaxpr, count, transposed):
    results = jaxpr.in_avals[len(jaxpr.in_avals) - count :] if transposed else jaxpr.out_avals
    return [ad.tangent_aval(aval) for aval in results]


def _map_jvp(primals, tangents, **params):
    fixed = len(params["jaxpr"].in_avals)
    outs = tangent_map(primals, **params)
    results: list[Any] = [ad.Zero.from_primal(out) for out in outs]
    if any(type(t) is not ad.Zero for t in tangents[fixed:]):
        along = [ad.instantiate(t) for t in tangents[fixed:]]
        results = tangent_map([*primals[:fixed], *along], **params)
    nonzeros = [type(t) is not ad.Zero for t in tangents[:fixed]]
    if any(nonzeros):
        # The map is linear in the direction, but not in the point: the second term is the
        # derivative of the map itself at the point.
        program, out_nonzeros = ad.jvp_jaxpr(
            _map_program(**params), [*nonzeros, *(False for _ in tangents[fixed:])]
        )
        fixed_tangents = [t for t in tangents[:fixed] if type(t) is not ad.Zero]
        pushed_outs = ir.eval_jaxpr(program, program.consts, *primals, *fixed_tangents)
        out_tangents = iter(pushed_outs[len(outs) :])
        moved = [
            next(out_tangents) if nonzero else zero
            for nonzero, zero in zip(out_nonzeros, map(ad.Zero.from_primal, outs), strict=True)
        ]
        results = list(map(ad.add_tangents, results, moved))
    return outs, results


def _map_linearize(tape: ad.Tape, primals, tangents, **params):
    with ir.set_trace(tape):
        return _map_jvp(primals, tangents, **params)


def _map_transpose(cts, *args, jaxpr, count, transposed):
    fixed = len(jaxpr.in_avals)
    if any(map(ad.is_undefined_primal, args[:fixed])):
        raise NotImplementedError(
            "tangent_map: the derivative of a function is linear in the tangent only; it cannot be "
            "transposed with respect to the primal."
        )
    results = tangent_map(
        [*args[:fixed], *map(ad.instantiate, cts)],
        jaxpr=jaxpr,
        count=count,
        transposed=not transposed,
    )
    pairs = zip(results, args[fixed:], strict=True)
    return [*(None,) * fixed, *(r if ad.is_undefined_primal(x) else None for r, x in pairs)]


def _map_batch(axis, args, dims, *, jaxpr, count, transposed):
    fixed = len(jaxpr.in_avals) - count

    def moved(xs: Sequence[Any], ds: Sequence[int | None]) -> list[Any]:
        return [batched_at(x, d, axis, 0) for x, d in zip(xs, ds, strict=True)]

    # The primal and the tangent are both batched: the linear map differs between examples.
    in_dims = [*dims[:fixed], *[0] * count]
    batched, _ = batch_jaxpr(jaxpr, axis, in_dims, [0] * len(jaxpr.outvars))
    outs = tangent_map(
        [*args[:fixed], *moved(args[fixed:], dims[fixed:])],
        jaxpr=batched,
        count=count,
        transposed=transposed,
    )
    return outs, [0] * len(outs)


# Operands: the arguments of ``jaxpr``, of which the last ``count`` are the primals of the
# derivative; then their tangents, or with ``transposed`` the cotangents of the results.
tangent_map_p: ir.Primitive = ir.define(
    "tangent_map",
    abstract_eval=_abstract_eval,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    jvp=_map_jvp,
    linearize=_map_linearize,
    transpose=_map_transpose,
    batch=_map_batch,
    lower=lambda ctx, *operands, **params: ctx.inline(_map_program(**params), operands),
    program=lambda **params: (_map_program(**params), "tangent_map"),
)
