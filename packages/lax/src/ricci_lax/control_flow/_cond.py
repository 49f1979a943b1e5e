"""``cond`` and ``switch``: run one of several functions, chosen by a value."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batched_at, moved_to
from ricci_lax.effects._tokens import io_effects
from ricci_lax.elementwise import clamp, convert_element_type, eq, ne, select_n
from ricci_lax.structure import broadcast_in_dim, stop_gradient_p
from ricci_lax.structure._operand_types import shape_of
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value, thread_tokens, tokens_at

from . import _bodies
from . import _cond_programs as cond_programs
from ._series import cond_series

__all__ = ["cond", "cond_p", "switch"]

_int32 = np.dtype(np.int32)


# Derivatives


def _cond_jvp(primals, tangents, *, branches, **params):
    index, *operands = primals
    nonzeros = tuple(type(t) is not ad.Zero for t in tangents[1:])
    pushed, out_nonzeros = cond_programs.per_branch(
        ("jvp", nonzeros), branches, lambda: cond_programs.jvp_branches(branches, nonzeros)
    )
    in_tangents = [t for t in tangents[1:] if type(t) is not ad.Zero]
    outs = cond_p.bind(index, *operands, *in_tangents, branches=pushed, **params)
    count = len(out_nonzeros)
    return outs[:count], ad.join_tangents(out_nonzeros, outs[count:], outs[:count])


def _cond_linearize(tape: ad.Tape, primals, tangents, *, branches, **params):
    index, *operands = primals
    nonzeros = tuple(type(t) is not ad.Zero for t in tangents[1:])
    forward, tangent, places, out_nonzeros = cond_programs.per_branch(
        ("linearize", nonzeros),
        branches,
        lambda: cond_programs.linearize_branches(branches, nonzeros),
    )
    outs = cond_p.bind(*primals, branches=forward, **params)
    results = outs[: len(out_nonzeros)]
    values = (*operands, *outs)
    in_tangents = [t for t in tangents[1:] if type(t) is not ad.Zero]
    if not any(out_nonzeros):
        return results, [ad.Zero.from_primal(r) for r in results]
    recorded = tape.record(
        cond_p, (index, *(values[i] for i in places), *in_tangents), {"branches": tangent, **params}
    )
    return results, ad.join_tangents(out_nonzeros, recorded, results)


def _cond_transpose(cts, index, *operands, branches, **params):
    linear = tuple(map(ad.is_undefined_primal, operands))
    ct_flags = tuple(type(ct) is not ad.Zero for ct in cts)
    required = ad.required_operands(operands)
    transposed, nonzeros = cond_programs.per_branch(
        ("transpose", linear, ct_flags, required),
        branches,
        lambda: cond_programs.transpose_branches(branches, linear, ct_flags, required),
    )
    nonlinear = [x for x in operands if not ad.is_undefined_primal(x)]
    results = iter(
        cond_p.bind(
            index,
            *nonlinear,
            *(ct for ct in cts if type(ct) is not ad.Zero),
            branches=transposed,
            **params,
        )
    )
    flags = iter(nonzeros)
    return [None, *(next(results) if lin and next(flags) else None for lin in linear)]


# Batching


def _cond_batch(axis, args, dims, *, branches, **params):
    if dims[0] is not None:
        return _select_batch(axis, args, dims, branches)
    args, (_, *in_dims) = moved_to(args, dims, 0)
    in_dims = tuple(in_dims)
    batched, out_dims = cond_programs.per_branch(
        ("batch", axis, in_dims),
        branches,
        lambda: cond_programs.batch_branches(branches, axis, in_dims),
    )
    return cond_p.bind(*args, branches=batched, **params), list(out_dims)


def _select_batch(axis, args, dims, branches):
    """With a batched index, run every branch on the whole batch, and select the results.

    Differentiation treats the operands of examples that chose another branch as constants. Their
    derivative may not be finite there, and 0 times that would be NaN.
    """
    if any(branch.effects & io_effects for branch in branches):
        raise NotImplementedError(
            "cond under vmap, with a predicate that differs between examples, cannot hold "
            "io_callback: every branch is run for all examples.\n"
            "Call it outside of cond, or use debug.callback, where that does no harm."
        )
    if ir.is_observed():
        ir.notify(ir.CondSelected(ir.current_source(), branches))
    index, *operands = (batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True))
    batched, out_dims = cond_programs.per_branch(
        ("select", axis),
        branches,
        lambda: cond_programs.batch_branches(branches, axis, (0,) * len(branches[0].invars)),
    )
    outs = []
    for i, branch in enumerate(batched):
        # In a branch that an example has not chosen, a derivative may be infinite or NaN, and NaN
        # times its zero cotangent is NaN. ``stop_gradient`` keeps it out.
        guarded = _guarded(index, i, operands)
        outs.append(ir.eval_jaxpr(branch, branch.consts, *guarded))
    results, result_dims = [], []
    for i, (each, dim) in enumerate(zip(zip(*outs, strict=True), out_dims, strict=True)):
        # An operand that every branch returns needs no selection, and no batch dimension.
        operand = cond_programs.forwarded_operand(branches, i)
        if operand is not None and dims[1 + operand] is None:
            results.append(ir.as_array(args[1 + operand]))
            result_dims.append(None)
            continue
        each = [batched_at(x, dim, axis, 0) for x in each]
        results.append(select_n(_spread(index, each[0]), *each))
        result_dims.append(0)
    return results, result_dims


def _guarded(index: ir.Array, i: int, operands: Sequence[Any]) -> list[Any]:
    """The operands of branch ``i``, without gradients for examples that chose another one."""
    avals: list[Any] = list(map(ir.get_aval, operands))
    smooth = [ir.issubdtype(aval.dtype, np.inexact) for aval in avals]
    if not any(smooth):
        return list(operands)
    chosen = eq(index, _int32.type(i))
    return [_guard(chosen, x) if s else x for x, s in zip(operands, smooth, strict=True)]


def _guard(chosen: ir.Array, x: ir.Array) -> ir.Array:
    constant = stop_gradient_p.bind(x)
    return select_n(_spread(chosen, x), constant, x)


def _spread(index: ir.Array, like: ir.Array) -> ir.Array:
    """The index of each example, broadcast to the shape of the batch ``like``."""
    shape = shape_of(like)
    return broadcast_in_dim(index, shape, (0,)) if len(shape) > 1 else index


# The primitive


def index_of_platform(platform: str, platforms: Sequence[tuple[str, ...] | None]) -> int:
    """The index of a platform's branch; ``None`` among the platforms is the default.

    Raises:
      NotImplementedError: if no branch is for the platform.
    """
    for i, names in enumerate(platforms):
        if names is None or platform in names:
            return i
    supported = ", ".join(name for names in platforms for name in names or ())
    raise NotImplementedError(
        f"platform_dependent: the program runs on {platform}, but functions are given only for "
        f"{supported}. Give one for {platform}, or a default."
    )


def _cond_lower(
    ctx: Lowering, index: Value, *operands: Value, branches, branches_platforms=None
) -> list[Value]:
    if branches_platforms is not None:
        # Branches for other platforms may contain operations that this platform lacks.
        return ctx.inline(branches[index_of_platform(ctx.platform, branches_platforms)], operands)
    outs = list(ctx.outs)
    regions = [
        ctx.region([], lambda inner, branch=branch: inner.inline(branch, operands))
        for branch in branches
    ]
    return ctx.generic("stablehlo.case", [index], outs, "", regions)


def _cond_steps(
    steps: ir.Steps, index: ir.Array, *operands: ir.Array, branches, branches_platforms=None
) -> list[Any] | None:
    place = f"branch {int(index)} of cond"
    if branches_platforms is not None:
        # The index is that of the default platform; committed arrays may be on another one.
        if any(getattr(x, "committed", False) for x in operands):
            return None
        names = branches_platforms[int(index)] or ("default",)
        place = f"branch {'/'.join(names)} of platform_dependent"
    return steps.run(branches[int(index)], operands, place)


def _cond_discharge(index, *args, branches, **params) -> list[Any]:
    """The branches on arrays; each returns all references' arrays that any branch writes."""
    bodies = [ir.discharged(branch) for branch in branches]
    freed = {i for branch in bodies for i in branch.freed}
    changed = sorted({i for branch in bodies for i in branch.written} - freed)
    programs = tuple(ir.discharged(branch, changed).jaxpr for branch in branches)
    values = ir.as_values(args, ir.reference_arguments(branches[0]))
    outs = cond_p.bind(index, *values, branches=programs, **params)
    count = len(branches[0].outvars)
    ir.write_back([args[i] for i in changed], outs[count:], outs[:count])
    ir.free_references(args, freed)
    return outs[:count]


def _cond_memory(
    on_host: Sequence[bool], *, branches: Sequence[ir.Jaxpr], **params: object
) -> tuple[bool, ...]:
    """The memory rule: a result is on the host if all branches leave it there."""
    each = [ir.results_on_host(branch, on_host[1:]) for branch in branches]
    return tuple(map(all, zip(*each, strict=True)))


# Operands: the index of the branch, int32 and in range, and the operands of each.
cond_p: ir.Primitive = ir.define(
    "cond",
    abstract_eval=lambda index, *avals, branches, **_: branches[0].out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: ir.join_effects(branch.effects for branch in params["branches"]),
    jvp=_cond_jvp,
    jet=ad.at_once(lambda *args, **params: cond_series(cond_p.bind, *args, **params)),
    linearize=_cond_linearize,
    split=ad.split_by_linearizing(_cond_linearize),
    transpose=_cond_transpose,
    batch=_cond_batch,
    lower=_cond_lower,
    dead_code=cond_programs.live_branches,
    saving=lambda params, policy, needed: cond_programs.saved_in_branches(
        policy=policy, needed=needed, **params
    ),
    steps=_cond_steps,
    memory=_cond_memory,
    discharge=_cond_discharge,
    order=tokens_at(
        1,
        branches=lambda eqn, effects: tuple(
            thread_tokens(branch, effects) for branch in eqn.params["branches"]
        ),
    ),
)

_missing: Any = object()


# The first form tells type checkers what a lambda's parameters are.
@overload
def cond[*Ts, R](
    pred: ir.ArrayLike, true_fun: Callable[[*Ts], R], false_fun: Callable[[*Ts], R], *operands: *Ts
) -> R: ...
@overload
def cond[R](
    pred: ir.ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: ir.PyTree,
    operand: ir.PyTree = _missing,
) -> R: ...
def cond[R](
    pred: ir.ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: ir.PyTree,
    operand: ir.PyTree = _missing,
) -> R:
    """``true_fun(*operands)`` if ``pred`` else ``false_fun(*operands)``: only one of them runs.

    Args:
      pred: a scalar; numbers are true unless they are zero.
      true_fun, false_fun: functions of pytrees of arrays that return the same structure, shapes
        and dtypes.
      operands: their arguments.
      operand: an older spelling of a single operand, which may be ``None``.

    Returns:
      The result of the chosen function.

    Raises:
      TypeError: if ``pred`` is not a scalar, a branch cannot be called, or the branches return
        different structures or types.

    Example:
      A step that is left out when the gradient is not finite, as one does with half precision:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> @ricci.jit
      ... def update(params, gradient):
      ...     apply = lambda p, g: p - 0.5 * g
      ...     skip = lambda p, g: p
      ...     return lax.cond(jnp.all(jnp.isfinite(gradient)), apply, skip, params, gradient)
      >>> params = jnp.array([1.0, 2.0])
      >>> update(params, jnp.array([2.0, 2.0])).tolist()
      [0.0, 1.0]
      >>> update(params, jnp.array([2.0, jnp.inf])).tolist()
      [1.0, 2.0]

    Notes:
      Both branches are traced, so that both must be valid for the operands' shapes, and both run
      Python's ``print``. Their results are not promoted: where one returns ``1`` and the other a
      float, an error names both types.

      Under ``vmap`` with a batched predicate both run, and each example selects its result: there
      ``cond`` saves no work.

      The older form ``cond(pred, x, f, y, g)`` is ``f(x)`` if ``pred`` else ``g(y)``.

    See also:
      ``switch``, for several branches; ``jnp.where``, which selects elements.
    """
    if not (callable(true_fun) and callable(false_fun)):
        true_fun, false_fun, operands = _older_form(true_fun, false_fun, operands)
    operands = _operands("cond", operands, operand)
    _check_scalar("cond: the predicate", pred)
    aval = ir.get_aval(pred)
    if not (aval.dtype == np.bool_ or ir.issubdtype(aval.dtype, np.number)):
        raise TypeError(f"cond: the predicate must be a number or bool, got {aval.str_short()}.")
    if ir.disable_jit_state.value and not isinstance(pred, ir.Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    index = _index_of_truth(pred) if _stays_on_device(pred) else _int32.type(bool(pred))
    return _bind("cond", index, [true_fun, false_fun], ["true_fun", "false_fun"], operands)


def _older_form(
    true_operand: ir.PyTree, true_fun: ir.PyTree, others: tuple[ir.PyTree, ...]
) -> tuple[Callable[..., Any], Callable[..., Any], tuple[ir.PyTree, ...]]:
    """The arguments of ``cond(pred, true_operand, true_fun, false_operand, false_fun)``."""
    if not (callable(true_fun) and len(others) == 2 and callable(others[1])):
        raise TypeError(
            "cond: true_fun and false_fun must be functions; they are called with the operands. "
            "Write cond(pred, true_fun, false_fun, *operands)."
        )
    false_operand, false_fun = others
    return (lambda x, _: true_fun(x), lambda _, y: false_fun(y), (true_operand, false_operand))


@overload
def switch[*Ts, R](
    index: _bodies.IntegerScalar, branches: Sequence[Callable[[*Ts], R]], *operands: *Ts
) -> R: ...
@overload
def switch[R](
    index: _bodies.IntegerScalar,
    branches: Sequence[Callable[..., R]],
    *operands: ir.PyTree,
    operand: ir.PyTree = _missing,
) -> R: ...
def switch[R](
    index: _bodies.IntegerScalar,
    branches: Sequence[Callable[..., R]],
    *operands: ir.PyTree,
    operand: ir.PyTree = _missing,
) -> R:
    """``branches[index](*operands)``, where only the chosen branch runs.

    Args:
      index: an integer scalar; one out of range is clamped to it.
      branches: functions of pytrees of arrays that return the same structure, shapes and dtypes.
      operands: their arguments.
      operand: an older spelling of a single operand, which may be ``None``.

    Returns:
      The result of the chosen function.

    Raises:
      TypeError: if ``index`` is not an integer scalar, a branch cannot be called, or the branches
        return different structures or types.
      ValueError: if there are no branches.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> activations = [jnp.tanh, lambda x: jnp.maximum(x, 0.0), lambda x: x]
      >>> activate = ricci.jit(lambda kind, x: lax.switch(kind, activations, x))
      >>> activate(1, jnp.array([-2.0, 3.0])).tolist()
      [0.0, 3.0]
      >>> activate(7, jnp.array([-2.0, 3.0])).tolist()  # clamped to 2
      [-2.0, 3.0]

    Notes:
      Under ``vmap`` with a batched index all branches run, and each example selects its result.

    See also:
      ``cond``; ``lax.select_n``, which selects elements.
    """
    if not all(map(callable, branches)):
        raise TypeError("switch: the branches must be functions; they are called with operands.")
    operands = _operands("switch", operands, operand)
    _check_scalar("switch: the index", index)
    aval = ir.get_aval(index)
    if not ir.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"switch: the index must be an integer, got {aval.str_short()}.")
    branches = tuple(branches)
    if not branches:
        raise ValueError("switch: branches is empty; give at least one function.")
    last = len(branches) - 1
    concrete = None if _stays_on_device(index) else min(max(int(index), 0), last)
    if ir.disable_jit_state.value and not isinstance(index, ir.Tracer):
        return branches[min(max(int(index), 0), last)](*operands)
    if not last:
        return branches[0](*operands)
    chosen = _clamped_index(index, last=last) if concrete is None else _int32.type(concrete)
    names = [f"branches[{i}]" for i in range(len(branches))]
    return _bind("switch", chosen, branches, names, operands)


def _stays_on_device(choice: ir.ArrayLike) -> bool:
    """Whether a predicate or an index is not read: a tracer, or an array in an eager call.

    While a jaxpr is recorded, a known choice is a literal of it.
    """
    return isinstance(choice, ir.Tracer) or (
        hasattr(type(choice), "aval") and not ir.is_recording()
    )


@ir.inlined("index_of_truth")
def _index_of_truth(pred: ir.Array) -> ir.Array:
    dtype: Any = ir.get_aval(pred).dtype
    truth = pred if dtype == np.bool_ else ne(pred, ir.exact_scalar(0, dtype))
    return convert_element_type(truth, _int32)


@ir.inlined("clamped_index")
def _clamped_index(index: ir.Array, *, last: int) -> ir.Array:
    converted = convert_element_type(index, _int32)
    # For an index out of bounds, also a negative one, ``stablehlo.case`` runs the last branch.
    return clamp(_int32.type(0), converted, _int32.type(last))


def _operands(what: str, operands: tuple, operand: ir.PyTree) -> tuple:
    if operand is _missing:
        return operands
    if operands:
        raise TypeError(f"{what}: give operands by position or as operand=, not both.")
    return (operand,)


def _check_scalar(what: str, x: object) -> None:
    try:
        aval: Any = ir.get_aval(x)
    except TypeError:
        raise TypeError(f"{what} must be a scalar, got {x!r} of type {type(x).__name__}.") from None
    if aval.shape:
        raise TypeError(
            f"{what} must be a scalar, got {aval.str_short()}, of shape {aval.shape}. Reduce it "
            "(with .any() or .all(), say), choose element by element with where, or map over it "
            "with vmap."
        )


def _bind(
    what: str,
    index: ir.ArrayLike,
    branches: Sequence[Callable],
    names: Sequence[str],
    operands: tuple,
) -> ir.PyTree:
    operands = ir.parted(operands)
    leaves, tree = tree_flatten(operands)
    paths = lambda: argument_paths(operands, {}, branches[0])
    avals = _bodies.leaf_avals(what, paths, leaves)
    ir.check_distinct(f"{what}: {_bodies.function_name(branches[0])}", leaves, paths)
    bodies = _bodies.varying_alike(
        [_bodies.trace_body(what, branch, tree, avals) for branch in branches]
    )
    _bodies.check_branches(
        what,
        [f"{n} ({_bodies.function_name(b)})" for n, b in zip(names, branches, strict=True)],
        bodies,
    )
    return bind_branches(index, bodies, leaves, what == "cond")


def bind_branches(
    index: ir.ArrayLike,
    bodies: Sequence[_bodies.Body],
    leaves: Sequence[Any],
    backwards: bool = False,
    **params: object,
) -> ir.PyTree:
    """Bind the primitive to traced branches and their operands; returns their pytree.

    A result for which every branch returns the same operand is that operand.

    Args:
      backwards: whether the branches are in reverse order.
    """
    consts, branches = _bodies.joined_branches(bodies)
    # The index of ``cond`` is 0 for false, but its branches are given as true, then false.
    if backwards:
        branches = branches[::-1]
    operands = [*consts, *leaves]
    smaller = cond_programs.per_branch(
        "without forwarded operands", branches, lambda: cond_programs.without_forwarded(branches)
    )
    computing, forwarded = smaller or (branches, [None] * len(branches[0].outvars))
    outs = iter(cond_p.bind(index, *operands, branches=computing, **params))
    results = [
        next(outs) if i is None else ir.as_result(ir.as_array(operands[i])) for i in forwarded
    ]
    return tree_unflatten(bodies[0].out_tree, results)
