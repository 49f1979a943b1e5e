"""Checking rules: of calls, branches and loops, of custom rules, and of indices."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, tangent_aval
from ricci_ir import Array, DTypeLike, Jaxpr, Primitive
from ricci_lax import shapes
from ricci_lax.control_flow import cond_p, scan_p, while_p
from ricci_lax.custom._jvp import custom_jvp, custom_jvp_call_p
from ricci_lax.custom._vjp import custom_vjp
from ricci_lax.custom._vjp_primitives import custom_vjp_call_p
from ricci_lax.custom._vmap import custom_vmap_p
from ricci_lax.derivatives._checkpoint import remat_p
from ricci_lax.elementwise import bitwise_or, convert_element_type, gt, lt
from ricci_lax.reductions import argmax, reduce_or
from ricci_lax.rules._checkify import bound, check_rules
from ricci_lax.staged_calls._staged_call import jit_p
from ricci_lax.structure import broadcast_in_dim, full, reshape
from ricci_lax.structure._operand_types import shape_of
from ricci_pytree import PyTreeDef, tree_unflatten

from ._error import ErrorEffect, check_p, earlier, leaf_count, no_error, slots_of
from ._exceptions import OOBError
from ._log import Checked, CheckLog


def _check(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    log.absorb_error(tree_unflatten(params["err_tree"], operands))
    return []


# Calls


def _jit(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    jaxpr = params["jaxpr"]
    checked = log.checked(jaxpr)
    if jaxpr in ir.staged_call.inlined:
        ir.staged_call.inlined.add(checked.jaxpr)
    return log.absorb(checked, jit_p.bind(*operands, **{**params, "jaxpr": checked.jaxpr}))


def _checkpoint(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["jaxpr"])
    return log.absorb(checked, remat_p.bind(*operands, **{**params, "jaxpr": checked.jaxpr}))


# Branches


def _cond(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    branches = params["branches"]
    each = [log.checked(branch, collapse=True) for branch in branches]
    # The branches must return the same types: each returns a slot for every kind of error of any.
    effects = tuple(dict.fromkeys(effect for one in each for effect in one.effects))
    programs, sites = [], []
    for branch in branches:
        one = log.checked(branch, effects, len(sites), collapse=True)
        programs.append(one.jaxpr)
        sites += one.sites
    outs = cond_p.bind(*operands, **{**params, "branches": tuple(programs)})
    return log.absorb(Checked(programs[0], effects, tuple(sites)), outs)


# Loops


def _start(effects: Sequence[ErrorEffect]) -> list[Any]:
    return [leaf for effect in effects for leaf in no_error(effect).leaves]


def joined(effects: Sequence[ErrorEffect], first: Sequence, second: Sequence) -> list[Any]:
    one, other = slots_of(effects, first), slots_of(effects, second)
    return [leaf for e in effects for leaf in earlier(one[e], other[e]).leaves]


def _scan(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    jaxpr, consts, carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    body = log.checked(jaxpr, collapse=True)
    count = body.leaf_count
    program = jaxpr.derived(
        ("checked scan", log.enabled, log.equations, consts), lambda: _carrying(body, jaxpr, consts)
    )
    outs = scan_p.bind(
        *operands[:consts],
        *_start(body.effects),
        *operands[consts:],
        **{**params, "jaxpr": program, "num_carry": carry + count},
    )
    return log.absorb(body, outs)


def _carrying(body: Checked, jaxpr: Jaxpr, consts: int) -> Jaxpr:
    """The body of a checked scan; the first error is part of its carry."""
    count, effects = body.leaf_count, body.effects
    if not count:
        return body.jaxpr

    def fun(*args: Array) -> list[Any]:
        before, operands = args[consts : consts + count], args[consts + count :]
        outs = ir.eval_jaxpr(body.jaxpr, body.jaxpr.consts, *args[:consts], *operands)
        return [*joined(effects, before, outs[:count]), *outs[count:]]

    avals = jaxpr.in_avals
    errors = body.jaxpr.out_avals[:count]
    return ir.trace_to_jaxpr(fun, [*avals[:consts], *errors, *avals[consts:]], jaxpr.debug_info)


def _while(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    if condition.out_avals[0].shape:
        raise ValueError(
            "checkify: a while_loop under vmap whose condition differs between examples cannot be "
            "checked: errors would be reported for examples that have ended.\n"
            "Put the vmap outside: vmap(checkify(f)) in place of checkify(vmap(f))."
        )
    effects = tuple(
        dict.fromkeys(
            effect
            for jaxpr in (condition, body)
            for effect in log.checked(jaxpr, collapse=True).effects
        )
    )
    test = log.checked(condition, effects, collapse=True)
    step = log.checked(body, effects, len(test.sites), collapse=True)
    count = leaf_count(effects)
    cond_consts, consts = operands[:cond_count], operands[cond_count : cond_count + body_count]
    carry = operands[cond_count + body_count :]
    # The region of the condition returns the predicate alone. The errors of the condition are
    # computed once ahead of the loop, then in the body, on the carry that it returns.
    start = ir.eval_jaxpr(test.jaxpr, test.jaxpr.consts, *cond_consts, *carry)[:count]
    again, program = body.derived(
        ("checked while", condition, log.enabled, log.equations, cond_count, body_count),
        lambda: _looping(test, step, condition, body, cond_count, body_count),
    )
    outs = while_p.bind(
        *cond_consts,
        *cond_consts,
        *consts,
        *start,
        *carry,
        cond_jaxpr=again,
        cond_nconsts=cond_count,
        body_jaxpr=program,
        body_nconsts=cond_count + body_count,
    )
    return log.absorb(Checked(program, effects, (*test.sites, *step.sites)), outs)


def _looping(
    test: Checked, step: Checked, condition: Jaxpr, body: Jaxpr, cond_count: int, body_count: int
) -> tuple[Jaxpr, Jaxpr]:
    """The condition and the body of a checked while loop; the first error is part of the carry."""
    effects, count = step.effects, step.leaf_count
    errors = step.jaxpr.out_avals[:count]

    def again(*args: Array) -> list[Any]:
        consts, carry = args[:cond_count], args[cond_count + count :]
        return ir.eval_jaxpr(test.jaxpr, test.jaxpr.consts, *consts, *carry)[count:]

    def program(*args: Array) -> list[Any]:
        cond_consts, operands = args[:cond_count], args[cond_count:]
        consts, before, carry = (
            operands[:body_count],
            operands[body_count : body_count + count],
            operands[body_count + count :],
        )
        outs = ir.eval_jaxpr(step.jaxpr, step.jaxpr.consts, *consts, *carry)
        after, results = outs[:count], outs[count:]
        met = joined(effects, before, after)
        tested = ir.eval_jaxpr(test.jaxpr, test.jaxpr.consts, *cond_consts, *results)[:count]
        return [*joined(effects, met, tested), *results]

    avals, cond_avals = body.in_avals, condition.in_avals
    return (
        ir.trace_to_jaxpr(
            again,
            [*cond_avals[:cond_count], *errors, *cond_avals[cond_count:]],
            condition.debug_info,
        ),
        ir.trace_to_jaxpr(
            program,
            [*cond_avals[:cond_count], *avals[:body_count], *errors, *avals[body_count:]],
            body.debug_info,
        ),
    )


_rules: dict[Primitive, Callable[..., list[Any]]] = {
    check_p: _check,
    jit_p: _jit,
    remat_p: _checkpoint,
    cond_p: _cond,
    scan_p: _scan,
    while_p: _while,
}
for _p, _rule in _rules.items():
    check_rules.define(_p, _rule)


# Custom rules: a checked function keeps its rule. Where it is differentiated or mapped, the user's
# rule gives the results, unchecked, and the function itself is computed as well, for its errors.


def _errors(checked: Checked, args: Sequence[Any]) -> list[Any]:
    """Run a checked jaxpr for its errors; returns their leaves."""
    return ir.eval_jaxpr(checked.jaxpr, checked.jaxpr.consts, *args)[: checked.leaf_count]


class CheckedRule:
    """A flat jvp rule whose results begin with errors, which have no tangents."""

    __slots__ = ("checked", "rule")

    def __init__(self, checked: Checked, rule: Any):
        self.checked = checked
        self.rule = rule

    @property
    def custom(self) -> custom_jvp[..., Any]:
        """The function that the rule belongs to."""
        return self.rule.custom

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        outs, out_tangents = self.rule(primals, tangents)
        errors = _errors(self.checked, primals)
        zeros = [Zero(tangent_aval(ir.get_aval(x))) for x in errors]
        return [*errors, *outs], [*zeros, *out_tangents]

    def __repr__(self) -> str:
        return repr(self.rule)


def _custom_jvp(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call_jaxpr"])
    rule = CheckedRule(checked, params["jvp"]) if checked.effects else params["jvp"]
    outs = custom_jvp_call_p.bind(*operands, **{**params, "call_jaxpr": checked.jaxpr, "jvp": rule})
    return log.absorb(checked, outs)


class CheckedRules:
    """Flat forward and backward rules of a function whose results begin with errors."""

    __slots__ = ("bwd", "checked", "custom", "fwd")

    def __init__(
        self, checked: Checked, fwd: Callable, bwd: Callable, custom: custom_vjp[..., Any]
    ):
        self.checked = checked
        self.fwd = fwd
        self.bwd = bwd
        self.custom = custom

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list, list, PyTreeDef]:
        """The errors and the results, the residuals, and the structure of the residuals."""
        outs, residuals, tree = self.fwd(primals, perturbed)
        return [*_errors(self.checked, primals), *outs], residuals, tree

    def backward(
        self, tree: PyTreeDef, residuals: Sequence[Any], cts: Sequence[Any], avals: Sequence[Any]
    ) -> list:
        """The cotangents of the arguments."""
        return self.bwd(tree, residuals, cts[self.checked.leaf_count :], avals)


def _custom_vjp(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call_jaxpr"])
    changed = {**params, "call_jaxpr": checked.jaxpr}
    if checked.effects:
        # The rules are methods of an object with the user's function and its names.
        rules = CheckedRules(checked, params["fwd"], params["bwd"], _custom_of(params["fwd"]))
        changed = {**changed, "fwd": rules.forward, "bwd": rules.backward}
    return log.absorb(checked, custom_vjp_call_p.bind(*operands, **changed))


def _custom_of(rule: Any) -> custom_vjp[..., Any]:
    """The user's function that a rule belongs to, also where the rule is wrapped."""
    rules = rule.__self__
    return rules.custom if hasattr(rules, "custom") else _custom_of(rules.fwd)


def _custom_vmap(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    checked = log.checked(params["call"])
    log.absorb(checked, _errors(checked, operands))
    # Bind the function without checks: the user's batching rule returns its plain results.
    plain = CheckLog(frozenset()).checked(params["call"])
    return custom_vmap_p.bind(*operands, **{**params, "call": plain.jaxpr})


check_rules.define(custom_jvp_call_p, _custom_jvp)
check_rules.define(custom_vjp_call_p, _custom_vjp)
check_rules.define(custom_vmap_p, _custom_vmap)


def report_indices(
    log: CheckLog,
    primitive: Primitive,
    shape: tuple[int, ...],
    indices: Array,
    axes: Sequence[int],
    sizes: Sequence[int],
) -> None:
    """Report the first index that is out of bounds.

    Args:
      shape: the shape of the indexed array.
      indices: integers, whose last dimension has an index along each of ``axes``.
      sizes: for each dimension of the array, the size of the slice that starts at an index.
    """
    index_shape = shape_of(indices)
    count = prod(index_shape)
    if not count:
        return
    # A signed type, since indices and the last valid start (of a slice too large) may be negative.
    wide = np.int64 if ir.get_aval(indices).dtype.itemsize == 8 else np.int32
    flat = reshape(convert_element_type(indices, wide), (count,))
    last = _tiled([shape[a] - sizes[a] for a in axes], count, wide)
    outside = bitwise_or(lt(flat, full((count,), 0, wide)), gt(flat, last))
    first = argmax(outside, 0, np.int32)
    table = [
        convert_element_type(flat, np.int32),
        _tiled(axes, count, np.int32),
        _tiled([shape[a] for a in axes], count, np.int32),
    ]
    entry = [reshape(shapes.dynamic_index_in_dim(column, first, 0), (1,)) for column in table]
    failed = reduce_or(outside, (0,))
    log.report(
        OOBError, failed, (primitive.name, tuple(shape), tuple(sizes)), shapes.concatenate(entry, 0)
    )


def _tiled(values: Sequence[int], count: int, dtype: DTypeLike) -> Array:
    """Numbers repeated ``count`` times in all; computed, since inner jaxprs have no constants."""
    rows = count // len(values)
    return reshape(shapes.concatenate([full((rows, 1), v, dtype) for v in values], 1), (count,))


def _stacked(starts: Sequence[Any]) -> Array:
    """Scalar start indices as one vector."""
    wide = np.int64 if any(ir.get_aval(s).dtype.itemsize == 8 for s in starts) else np.int32  # pyright: ignore
    rows = [broadcast_in_dim(convert_element_type(s, wide), (1,), ()) for s in starts]
    return shapes.concatenate(rows, 0)


def _check_starts(
    log: CheckLog, primitive: Primitive, x: Array, starts: list, sizes: Sequence[int]
) -> None:
    if OOBError in log.enabled and starts:
        shape = shape_of(x)
        report_indices(log, primitive, shape, _stacked(starts), range(len(shape)), sizes)


def _dynamic_slice(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    x, *starts = operands
    _check_starts(log, primitive, x, starts, params["slice_sizes"])
    return bound(primitive, operands, params)


def _dynamic_update_slice(
    log: CheckLog, primitive: Primitive, operands: list, params: dict
) -> list[Any]:
    x, update, *starts = operands
    _check_starts(log, primitive, x, starts, shape_of(update))
    return bound(primitive, operands, params)


def _gather(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    # In every mode, as in JAX: one index in a mapped function is a gather that clips.
    if OOBError in log.enabled:
        x, indices = operands
        axes = params["dimension_numbers"].start_index_map
        report_indices(log, primitive, shape_of(x), indices, axes, params["slice_sizes"])
    return bound(primitive, operands, params)


def _scatter(log: CheckLog, primitive: Primitive, operands: list, params: dict) -> list[Any]:
    results = bound(primitive, operands, params)
    if OOBError in log.enabled:
        x, indices, updates = operands
        numbers = params["dimension_numbers"]
        without = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = iter(numbers.update_window_dims)
        shape, update_shape = shape_of(x), shape_of(updates)
        sizes = [1 if a in without else update_shape[next(window)] for a in range(len(shape))]
        axes = numbers.scatter_dims_to_operand_dims
        report_indices(log, primitive, shape, indices, axes, sizes)
        # As in JAX, a scatter with checked indices is checked for NaN as well.
        log.report_nans(primitive, results)
    return results


check_rules.define(shapes.dynamic_slice_p, _dynamic_slice)
check_rules.define(shapes.dynamic_update_slice_p, _dynamic_update_slice)
check_rules.define(shapes.gather_p, _gather)
for _scatter_p in (
    *(shapes.scatter_p, shapes.scatter_add_p, shapes.scatter_sub_p, shapes.scatter_mul_p),
    *(shapes.scatter_min_p, shapes.scatter_max_p),
):
    check_rules.define(_scatter_p, _scatter)
