"""``while_loop``: repeat a function as long as a condition is true."""

from collections.abc import Sequence
from itertools import compress, count
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Tape, Zero, at_once, join_tangents, split_by_linearizing
from ricci_batching import batched_at
from ricci_lax.effects._tokens import io_effects
from ricci_lax.elementwise._comparison import select_n
from ricci_lax.reductions._axis_reductions import reduce_or
from ricci_lax.structure._broadcasting import broadcast_in_dim
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import Lowering, Value, traced

from . import _while_programs as while_programs
from ._series import while_series

__all__ = ["while_p"]


# Derivatives


def _while_jvp(primals, tangents, **params):
    operands, pushed, nonzeros = while_programs.pushed_operands(primals, tangents, **params)
    outs = while_p.bind(*operands, **pushed)
    count = len(nonzeros)
    return outs[:count], join_tangents(nonzeros, outs[count:], outs[:count])


def _while_linearize(tape: Tape, primals, tangents, **params):
    """Run the loop for its results, and record a second loop for the tangents."""
    results = while_p.bind(*primals, **params)
    operands, pushed, nonzeros = while_programs.pushed_operands(primals, tangents, **params)
    if not any(nonzeros):
        return results, [Zero.from_primal(r) for r in results]
    recorded = tape.record(while_p, operands, pushed)
    return results, join_tangents(nonzeros, recorded[len(results) :], results)


def _while_transpose(cts, *args, **params):
    source = ir.current_source()
    if ir.is_observed():
        ir.notify(ir.NotReversible(source, "while_loop"))
    at = "." if source.code is None else f".\nThe loop is at {source}."
    raise ValueError(
        ir.explained(
            "while_loop cannot be differentiated in reverse mode (grad, vjp): the number of its "
            f"iterations is not known before it runs, so that residuals cannot be stored{at}\n"
            "Use scan, or fori_loop with bounds that are known while tracing; forward mode (jvp, "
            "jacfwd) works. For the solution of an equation use custom_root or custom_vjp.",
            "derivatives",
        )
    )


# Batching


def _while_batch(axis, args, dims, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    carry_vars = body_jaxpr.invars[body_nconsts:]
    carried = zip(carry_vars, body_jaxpr.outvars, dims[cond_nconsts + body_nconsts :], strict=True)
    fixed = tuple(var is out and dim is None for var, out, dim in carried)
    if any(fixed):
        return _batch_with_fixed(
            axis, args, dims, fixed, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts
        )
    cond_dims, const_dims, carry_dims = while_programs.sections(
        tuple(dims), cond_nconsts, body_nconsts
    )
    cond_consts, consts, carry = while_programs.sections(args, cond_nconsts, body_nconsts)
    condition, body, targets = while_programs.batched_programs(
        cond_jaxpr,
        body_jaxpr,
        axis,
        cond_dims,
        const_dims,
        tuple(d is not None for d in carry_dims),
    )
    effects = condition.effects | body.effects
    if condition.out_avals[0].shape and effects & io_effects:
        raise NotImplementedError(
            "while_loop under vmap, with a condition that differs between examples, cannot hold "
            "io_callback: it would be called for examples that have ended.\n"
            "Call it outside of the loop, or use debug.callback, where that does no harm."
        )
    carry = [
        x if target is None else batched_at(x, d, axis, target)
        for x, d, target in zip(carry, carry_dims, targets, strict=True)
    ]
    outs = while_p.bind(
        *cond_consts,
        *consts,
        *carry,
        cond_jaxpr=condition,
        cond_nconsts=cond_nconsts,
        body_jaxpr=body,
        body_nconsts=body_nconsts,
    )
    return outs, list(targets)


def _batch_with_fixed(axis, args, dims, fixed, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """Batch a loop some parts of whose carry are unchanged and not batched.

    They become constants: a carry is batched when the examples' loops end at different times.
    """
    moved = sum(fixed)
    changing = [not f for f in fixed]

    def reordered(values, consts):
        head, carry = values[:consts], values[consts:]
        return [*head, *compress(carry, fixed), *compress(carry, changing)]

    def program(jaxpr, consts, outvars):
        return jaxpr.derived(
            ("fixed carry", consts, fixed),
            lambda: jaxpr.replace(invars=reordered(jaxpr.invars, consts), outvars=outvars),
        )

    def operands(values):
        cond_part, body_part, carry = while_programs.sections(values, cond_nconsts, body_nconsts)
        still = list(compress(carry, fixed))
        return [*cond_part, *still, *body_part, *still, *compress(carry, changing)]

    outs, out_dims = _while_batch(
        axis,
        operands(args),
        operands(dims),
        cond_jaxpr=program(cond_jaxpr, cond_nconsts, cond_jaxpr.outvars),
        cond_nconsts=cond_nconsts + moved,
        body_jaxpr=program(body_jaxpr, body_nconsts, list(compress(body_jaxpr.outvars, changing))),
        body_nconsts=body_nconsts + moved,
    )
    batched, carry = iter(zip(outs, out_dims, strict=True)), args[cond_nconsts + body_nconsts :]
    pairs = [(x, None) if f else next(batched) for x, f in zip(carry, fixed, strict=True)]
    return [x for x, _ in pairs], [d for _, d in pairs]


# The primitive


def _any(predicate: ir.Array) -> ir.Array:
    return reduce_or(predicate, tuple(range(len(shape_of(predicate)))))


def _where(predicate: ir.Array, new: ir.Array, old: ir.Array) -> ir.Array:
    spread = broadcast_in_dim(predicate, shape_of(new), tuple(range(len(shape_of(predicate)))))
    return select_n(spread, old, new)


def _while_lower(
    ctx: Lowering, *operands: Value, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts
) -> list[Value]:
    outs = list(ctx.outs)
    cond_consts, consts, carry = while_programs.sections(operands, cond_nconsts, body_nconsts)
    if cond_jaxpr.effects:
        return _lower_once(ctx, cond_jaxpr, body_jaxpr, cond_consts, consts, carry)

    def condition(inner: Lowering, *values: Value) -> list[Value]:
        (predicate,) = inner.inline(cond_jaxpr, [*cond_consts, *values])
        return [traced(_any)(inner, predicate) if predicate.shape else predicate]

    def body(inner: Lowering, *values: Value) -> list[Value]:
        results = inner.inline(body_jaxpr, [*consts, *values])
        # The region of the condition returns one scalar: which examples go on is computed again.
        if not cond_jaxpr.out_avals[0].shape:
            return results
        (predicate,) = inner.inline(cond_jaxpr, [*cond_consts, *values])
        return _next_carry(inner, predicate, results, values)

    regions = [ctx.region(outs, condition), ctx.region(outs, body)]
    return ctx.generic("stablehlo.while", carry, outs, "", regions)


def _next_carry(
    ctx: Lowering, predicate: Value, new: Sequence[Value], old: Sequence[Value]
) -> list[Value]:
    """Select the next carry: the old one where an example's loop has ended. Tokens are new."""
    return [
        n if n.aval is ir.abstract_token else traced(_where)(ctx, predicate, n, o)
        for n, o in zip(new, old, strict=True)
    ]


def _lower_once(
    ctx: Lowering, cond_jaxpr, body_jaxpr, cond_consts, consts, carry: Sequence[Value]
) -> list[Value]:
    """Lower a loop whose condition has effects: its predicate is carried, to run it once."""

    def evaluate(inner: Lowering, values: Sequence[Value]) -> list[Value]:
        """The predicate, and the carry with the tokens that the condition returns."""
        *tokens, predicate = inner.inline(cond_jaxpr, [*cond_consts, *values])
        return [predicate, *tokens, *values[len(tokens) :]]

    def condition(inner: Lowering, predicate: Value, *values: Value) -> list[Value]:
        return [traced(_any)(inner, predicate) if predicate.shape else predicate]

    def body(inner: Lowering, predicate: Value, *values: Value) -> list[Value]:
        results = inner.inline(body_jaxpr, [*consts, *values])
        if not predicate.shape:
            return evaluate(inner, results)
        going, *results = evaluate(inner, _next_carry(inner, predicate, results, values))
        # An example whose loop has ended does not go on again, although the condition has effects,
        # and may now be true.
        still = inner.emit("stablehlo.and", [predicate, going], predicate.aval)
        return [still, *results]

    start = evaluate(ctx, carry)
    avals = [x.aval for x in start]
    regions = [ctx.region(avals, condition), ctx.region(avals, body)]
    return ctx.generic("stablehlo.while", start, avals, "", regions)[1:]


def _while_steps(
    steps: ir.Steps, *operands, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts
) -> list[Any]:
    cond_consts, consts, carry = while_programs.sections(operands, cond_nconsts, body_nconsts)
    for i in count():
        label = f"the condition of while_loop before iteration {i}"
        (predicate,) = steps.run(cond_jaxpr, [*cond_consts, *carry], label)
        going = np.asarray(predicate)
        if not going.any():
            return list(carry)
        results = steps.run(body_jaxpr, [*consts, *carry], f"iteration {i} of while_loop")
        if going.shape:
            # An element of the next carry comes from operand 0, the new carry, where the example
            # goes on, and otherwise from operand 1, the old one. The examples' dimensions lead.
            source = np.where(going, 0, 1)
            element = lambda index, source=source: (source[index[: source.ndim]], index)
            results = [
                steps.made(_where(predicate, new, old), element, new, old)
                for new, old in zip(results, carry, strict=True)
            ]
        carry = results
    raise AssertionError("unreachable: the loop ends by its condition")


def _while_discharge(*args, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts) -> list[Any]:
    """The loop with the references that it writes as part of its carry.

    If the condition writes some, its predicate is carried as well, so that it is run once.
    """
    start = cond_nconsts + body_nconsts
    condition, writes, freed_by_condition = ir.discharged(cond_jaxpr)
    body, also, freed_by_body = ir.discharged(body_jaxpr)
    cond_args = [*args[:cond_nconsts], *args[start:]]
    body_args = list(args[cond_nconsts:])
    # A reference that both the condition and the body write is one part of the carry: references
    # are compared by identity.
    changed = {id(cond_args[i]): cond_args[i] for i in writes}
    changed.update((id(body_args[i]), body_args[i]) for i in also)
    refs, keys = list(changed.values()), list(changed)
    places = lambda values: [keys.index(id(x)) if id(x) in changed else None for x in values]
    at_cond, at_body = places(args[:cond_nconsts]), places(args[cond_nconsts:start])
    count = len(body_jaxpr.outvars)

    def evaluate(consts: Sequence[Any], arrays: list[Any], carry: Sequence[Any]) -> tuple:
        """The predicate, and the references' arrays after the condition."""
        operands = _with_held(consts, at_cond, arrays)
        predicate, *new = ir.eval_jaxpr(condition, condition.consts, *operands, *carry)
        return predicate, _replaced(arrays, [at_cond[i] for i in writes], new)

    def step(consts: Sequence[Any], arrays: list[Any], carry: Sequence[Any]) -> tuple:
        """The next carry, and the references' arrays after the body."""
        outs = ir.eval_jaxpr(body, body.consts, *_with_held(consts, at_body, arrays), *carry)
        return outs[:count], _replaced(arrays, [at_body[i] for i in also], outs[count:])

    cond_consts = [
        x for x, place in zip(args[:cond_nconsts], at_cond, strict=True) if place is None
    ]
    consts = [x for x, p in zip(args[cond_nconsts:start], at_body, strict=True) if p is None]
    cond_consts, consts, arrays = (
        [x.read() if ir.is_reference(x) else x for x in values]
        for values in (cond_consts, consts, refs)
    )
    carry, k, n = list(args[start:]), len(cond_consts), len(refs)
    once = bool(writes)
    if once:
        first, arrays = evaluate(cond_consts, arrays, carry)
        carry = [first, *carry]

    # A carried predicate stands behind the arrays of the references.
    def run_condition(*values: Any) -> list[Any]:
        if once:
            return [values[0 if not n else n]]
        return [evaluate(values[:k], list(values[k : k + n]), values[k + n :])[0]]

    def run_body(*values: Any) -> list[Any]:
        m = len(consts) + (k if once else 0)
        inner, arrays, carry = values[:m], list(values[m : m + n]), values[m + n :]
        if not once:
            outs, arrays = step(inner, arrays, carry)
            return [*arrays, *outs]
        outs, arrays = step(inner[k:], arrays, carry[1:])
        predicate, arrays = evaluate(inner[:k], arrays, outs)
        return [*arrays, predicate, *outs]

    moving = [*arrays, *carry]
    fixed = [] if once else cond_consts
    inner = [*cond_consts, *consts] if once else consts
    avals = lambda values: [ir.get_aval(x) for x in values]
    key = ("while over references", cond_jaxpr, tuple(at_cond), tuple(at_body), cond_nconsts)
    programs = body_jaxpr.derived(
        key,
        lambda: (
            ir.trace_to_jaxpr(run_condition, avals([*fixed, *moving]), cond_jaxpr.debug_info),
            ir.trace_to_jaxpr(run_body, avals([*inner, *moving]), body_jaxpr.debug_info),
        ),
    )
    outs = while_p.bind(
        *fixed,
        *inner,
        *moving,
        cond_jaxpr=programs[0],
        cond_nconsts=len(fixed),
        body_jaxpr=programs[1],
        body_nconsts=len(inner),
    )
    results = outs[n + once :]
    ir.write_back(refs, outs[:n], results)
    ir.free_references(cond_args, freed_by_condition)
    ir.free_references(body_args, freed_by_body)
    return results


def _with_held(consts: Sequence[Any], places: Sequence[int | None], arrays: list[Any]) -> list[Any]:
    """The constants of a jaxpr, with the references' arrays at their places."""
    others = iter(consts)
    return [next(others) if place is None else arrays[place] for place in places]


def _replaced(arrays: list[Any], places: Sequence[int | None], new: Sequence[Any]) -> list[Any]:
    replaced = list(arrays)
    for place, value in zip(places, new, strict=True):
        replaced[place] = value  # pyright: ignore[reportArgumentType, reportCallIssue]
    return replaced


def _while_memory(
    on_host: Sequence[bool],
    *,
    cond_nconsts: int,
    body_jaxpr: ir.Jaxpr,
    body_nconsts: int,
    **params: object,
) -> tuple[bool, ...]:
    start = cond_nconsts + body_nconsts
    return ir.carry_on_host(body_jaxpr, on_host[cond_nconsts:start], on_host[start:])


# Operands: the constants of the condition, those of the body, and the carry. The predicate may be
# an array whose dimensions lead all of the carry: each example's loop then ends separately.
while_p: ir.Primitive = ir.define(
    "while",
    abstract_eval=lambda *avals, body_jaxpr, **_: body_jaxpr.out_avals,
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=lambda params: ir.join_effects(
        [params["cond_jaxpr"].effects, params["body_jaxpr"].effects]
    ),
    jvp=_while_jvp,
    jet=at_once(lambda *args, **params: while_series(while_p.bind, *args, **params)),
    linearize=_while_linearize,
    split=split_by_linearizing(_while_linearize),
    transpose=_while_transpose,
    batch=_while_batch,
    lower=_while_lower,
    dead_code=while_programs.live_while,
    steps=_while_steps,
    memory=_while_memory,
    discharge=_while_discharge,
    order=while_programs.ordered_while,
)


def bind_while(
    condition: ir.Jaxpr,
    cond_consts: Sequence[Any],
    body: ir.Jaxpr,
    consts: Sequence[Any],
    carry: Sequence[Any],
) -> list[Any]:
    """Bind the primitive; returns the last carry.

    Parts of the carry that never change and that the condition does not read become constants of
    the body, which have a derivative in reverse mode, too.
    """
    smaller = body.derived(
        ("without the unchanged", condition, len(cond_consts), len(consts)),
        lambda: while_programs.without_unchanged(condition, len(cond_consts), body, len(consts)),
    )
    condition, body, moving = smaller or (condition, body, (True,) * len(carry))
    unchanged = [x for x, moves in zip(carry, moving, strict=True) if not moves]
    outs = iter(
        while_p.bind(
            *cond_consts,
            *unchanged,
            *consts,
            *compress(carry, moving),
            cond_jaxpr=condition,
            cond_nconsts=len(cond_consts),
            body_jaxpr=body,
            body_nconsts=len(unchanged) + len(consts),
        )
    )
    return [next(outs) if moves else x for x, moves in zip(carry, moving, strict=True)]
