"""Derived bodies of a scan: for forward and reverse mode, and for batches.

A body takes its constants (what it closes over), the carry, and a slice of each scanned array. It
returns the next carry, and the results to collect. Derived bodies are cached on the original.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis, batch_jaxpr
from ricci_lax.structure._operand_types import array_aval

Flags = tuple[bool, ...]


def sections(values: Sequence[Any], num_consts: int, num_carry: int) -> tuple[Any, Any, Any]:
    """Split a scan's operands: the constants, the carry, and the scanned arrays."""
    start = num_consts + num_carry
    return values[:num_consts], values[num_consts:start], values[start:]


def _either(first: Sequence[bool], second: Sequence[bool]) -> Flags:
    return tuple(a or b for a, b in zip(first, second, strict=True))


def _nonzero(cts: Sequence[ir.Array | ad.Zero]) -> Flags:
    return tuple(type(ct) is not ad.Zero for ct in cts)


# Forward mode


def pushed_body(
    jaxpr: ir.Jaxpr, num_consts: int, num_carry: int, nonzeros: Flags
) -> tuple[ir.Jaxpr, Flags, Flags]:
    """The body that computes tangents, too.

    Args:
      nonzeros: for each operand, whether it has a tangent.

    Returns:
      The body, in each of whose sections the tangents follow the primals; which parts of the carry
      have a tangent; and which of the collected results do.
    """
    key = ("jvp of scan", num_consts, num_carry, nonzeros)
    return jaxpr.derived(key, lambda: _push(jaxpr, num_consts, num_carry, nonzeros))


def _push(jaxpr, num_consts, num_carry, nonzeros):
    consts, carry, xs = sections(nonzeros, num_consts, num_carry)
    collected = len(jaxpr.outvars) - num_carry

    def push(carry: Flags) -> tuple[tuple[ir.Jaxpr, Flags], Flags]:
        flags = (*carry, *(False,) * collected)
        pushed, nonzeros = ad.jvp_jaxpr(jaxpr, (*consts, *carry, *xs), flags)
        return (pushed, tuple(nonzeros[num_carry:])), tuple(nonzeros[:num_carry])

    # A part of the carry that gets a tangent in one iteration has it in the next one.
    (pushed, collected_flags), carry = ir.fixpoint(push, carry)
    primals, tangents = pushed.invars[: len(nonzeros)], pushed.invars[len(nonzeros) :]
    tangent_sections = sections(tangents, sum(consts), sum(carry))
    invars = [
        v
        for section in zip(sections(primals, num_consts, num_carry), tangent_sections, strict=True)
        for part in section
        for v in part
    ]
    outs, out_tangents = pushed.outvars[: len(jaxpr.outvars)], pushed.outvars[len(jaxpr.outvars) :]
    outvars = [
        *outs[:num_carry],
        *out_tangents[: sum(carry)],
        *outs[num_carry:],
        *out_tangents[sum(carry) :],
    ]
    body = pushed.replace(invars=invars, outvars=outvars)
    return body, carry, collected_flags


# Reverse mode, first half


class LinearizedBody(ir.TupleRecord):
    """A linearized body: a forward body that saves residuals, and a linear body on tangents.

    A residual's place is its position among the operands of the scan, followed by the results of
    the forward scan, followed by the invariants.

    Attributes:
      forward: the body, which also collects residuals. It closes over some of the invariants, ahead
        of its other operands.
      invariants: from the constants to those residuals that depend on nothing else, computed once
        ahead of the loop; ``None`` if there are none.
      closed_over: the positions of the invariants that ``forward`` closes over.
      tangent: the body on tangents.
      const_residuals, xs_residuals: the places of the residuals that it closes over and of those
        that it scans; in both sections they stand ahead of the tangents.
      carry, collected: which results have a tangent.
    """

    forward: ir.Jaxpr
    invariants: ir.Jaxpr | None
    closed_over: tuple[int, ...]
    tangent: ir.Jaxpr
    const_residuals: tuple[int, ...]
    xs_residuals: tuple[int, ...]
    carry: Flags
    collected: Flags


# Changes the residuals of a linearized body, given the numbers of its constants and of the parts of
# its carry; hashable.
type ResidualChoice = Callable[[ad.Linearized, int, int], ad.Linearized]
residual_choice: ir.State = ir.define_context("residual_choice", None)


def linearized_body(
    jaxpr: ir.Jaxpr, num_consts: int, num_carry: int, nonzeros: Flags
) -> LinearizedBody:
    """Split a body, given which operands of the scan have a tangent."""
    choose: ResidualChoice | None = residual_choice.value
    key = ("linearize scan", num_consts, num_carry, nonzeros, choose)
    return jaxpr.derived(key, lambda: _linearize(jaxpr, num_consts, num_carry, nonzeros, choose))


def _linearize(jaxpr, num_consts, num_carry, nonzeros, choose) -> LinearizedBody:
    consts, carry, xs = sections(nonzeros, num_consts, num_carry)

    def linearize(carry: Flags) -> tuple[ad.Linearized, Flags]:
        linearized = ad.linearize_jaxpr(jaxpr, (*consts, *carry, *xs))
        return linearized, _either(carry, linearized.nonzeros[:num_carry])

    linearized, carry = ir.fixpoint(linearize, carry)
    varying = tuple(i >= num_consts for i in range(len(linearized.forward.invars)))
    linearized = linearized._replace(forward=_separated(linearized.forward, varying))
    if choose is not None:
        linearized = choose(linearized, num_consts, num_carry)
    collected = linearized.nonzeros[num_carry:]
    home = _Residuals(linearized, num_consts, num_carry)
    forward, tangent = linearized.forward, linearized.tangent
    results = forward.outvars[: len(jaxpr.outvars)]
    outvars = [*results, *home.collected]
    ahead, closed_over, invariants = home.invariant, (), None
    if ahead:
        eqns = ir.live_equations(forward.eqns, ahead, effects=False)
        # The loop reads the intermediate values of the equations ahead, too.
        once = (*ahead, *(v for eqn in eqns for v in eqn.outvars))
        read = _read_of(forward, once, outvars)
        ahead = list(dict.fromkeys((*ahead, *read)))
        closed_over = tuple(i for i, v in enumerate(ahead) if any(v is r for r in read))
        invariants = ad.program(forward, forward.invars[:num_consts], eqns, ahead)
    constants = [ahead[i] for i in closed_over]
    body = ad.program(
        forward,
        [*constants, *forward.invars],
        ir.live_equations(forward.eqns, outvars, set(constants)),
        outvars,
    )
    tangent = ad.with_zeros(tangent, linearized.nonzeros, (*carry, *collected), jaxpr.out_avals)
    count = len(linearized.residuals)
    residuals, tangents = tangent.invars[:count], tangent.invars[count:]
    const_tangents, carry_tangents, xs_tangents = sections(tangents, sum(consts), sum(carry))
    shift = len(body.outvars) + len(jaxpr.invars)
    return LinearizedBody(
        body,
        invariants,
        closed_over,
        tangent.replace(
            invars=[
                *(residuals[i] for i, _ in home.fixed),
                *const_tangents,
                *carry_tangents,
                *(residuals[i] for i, _ in home.sliced),
                *xs_tangents,
            ]
        ),
        tuple(place if place >= 0 else shift - 1 - place for _, place in home.fixed),
        tuple(place for _, place in home.sliced),
        carry,
        collected,
    )


class _Residuals:
    """The residuals of a linearized body, sorted by where the scan on tangents finds them.

    To collect a residual takes memory for every iteration, so only those are collected that
    differ between iterations and are not stored already. A residual is

    - a constant of the scan: closed over as it is;
    - a slice of a scanned array, or a collected result: scanned from that array;
    - computed from constants alone: computed once ahead of the loop, and closed over;
    - anything else, such as the carry: collected by the forward scan (each variable once).

    Attributes:
      fixed: ``(residual, place)`` of those that are the same in every iteration; the place of the
        k-th one computed ahead of the loop is ``-1 - k``.
      sliced: ``(residual, place)`` of those that are scanned.
      collected: the variables that the forward body collects as residuals.
      invariant: the variables that are computed ahead of the loop.
    """

    def __init__(self, linearized: ad.Linearized, num_consts: int, num_carry: int):
        forward = linearized.forward
        arguments, results = len(forward.invars), len(linearized.nonzeros)
        varying = tuple(i >= num_consts for i in range(arguments))
        _, depends = ad.dependent(forward, varying, effects=True)
        self.fixed: list[tuple[int, int]] = []
        self.sliced: list[tuple[int, int]] = []
        self.collected: list[Any] = []
        self.invariant: list[Any] = []
        places = {
            v: arguments + i for i, v in enumerate(forward.outvars[:results]) if i >= num_carry
        }
        for i, place in enumerate(linearized.residuals):
            out = place - arguments
            if place < num_consts:
                self.fixed.append((i, place))
            elif num_consts + num_carry <= place < arguments or num_carry <= out < results:
                self.sliced.append((i, place))
            elif out >= results and not depends[out]:
                self.fixed.append((i, -1 - len(self.invariant)))
                self.invariant.append(forward.outvars[out])
            else:
                var = forward.invars[place] if out < 0 else forward.outvars[out]
                if var not in places:
                    places[var] = arguments + results + len(self.collected)
                    self.collected.append(var)
                self.sliced.append((i, places[var]))


def _separated(jaxpr: ir.Jaxpr, varying: Flags) -> ir.Jaxpr:
    """Divide calls into those that depend on varying arguments and those that do not.

    A call that returns both kinds of results, such as a mask and what it selects, is called twice,
    each time without the equations that only the other results need.
    """
    call = ir.staged_call.call
    varies: set[ir.Atom] = set(compress(jaxpr.invars, varying))
    eqns: list[ir.JaxprEqn] = []
    for eqn in jaxpr.eqns:
        flags = tuple([atom in varies for atom in eqn.invars])
        depends = (any(flags) or bool(eqn.effects),) * len(eqn.outvars)
        parts = [eqn]
        if eqn.primitive is call and any(flags) and not eqn.effects:
            inner = _separated(eqn.params["jaxpr"], flags)
            depends = ad.dependent(inner, flags, effects=True)[1]
            if not all(depends):
                # Both calls may read the same operands, so neither donates any.
                eqn = eqn.replace(params={"jaxpr": inner, "name": eqn.params["name"]})
                needs = (tuple([not d for d in depends]), depends)
                parts = [p for need in needs if (p := ir.live_equation(eqn, need, final=False))]
        varies.update(compress(eqn.outvars, depends))
        eqns += parts
    return jaxpr if len(eqns) == len(jaxpr.eqns) else jaxpr.replace(eqns=eqns)


def _read_of(
    jaxpr: ir.Jaxpr, available: Iterable[ir.Var], outvars: Sequence[ir.Atom]
) -> list[ir.Var]:
    """Return those of the available values from which the equations compute ``outvars``."""

    def read(available: dict[ir.Var, None]) -> tuple[list[ir.JaxprEqn], dict[ir.Var, None]]:
        eqns = ir.live_equations(jaxpr.eqns, outvars, available)
        # An equation with several results may be live because of another one.
        computed = {v for eqn in eqns for v in eqn.outvars}
        return eqns, {v: None for v in available if v not in computed}

    eqns, available = ir.fixpoint(read, dict.fromkeys(available))
    atoms = {*outvars, *(atom for eqn in eqns for atom in eqn.invars)}
    return [var for var in available if var in atoms]


# Reverse mode, second half


class TransposedBody(ir.TupleRecord):
    """A body on cotangents, for the scan that runs backwards.

    It closes over the nonlinear constants. It carries the nonzero cotangents of the linear
    constants (sums over the iterations) and of the carry. It scans the cotangents of the collected
    results, then the nonlinear scanned arrays.

    Attributes:
      jaxpr: the body.
      consts, carry, xs: which cotangents it returns: of the linear constants, of all parts of the
        carry, and of the linear scanned arrays.
    """

    jaxpr: ir.Jaxpr
    consts: Flags
    carry: Flags
    xs: Flags


def transposed_body(
    jaxpr: ir.Jaxpr, num_consts: int, num_carry: int, linear: Flags, nonzeros: Flags
) -> TransposedBody:
    """Transpose a body that is linear in all of its carry.

    Args:
      linear: for each argument, whether the body is linear in it.
      nonzeros: for each result, whether its cotangent is not a symbolic zero.
    """
    key = ("transpose of scan", num_consts, num_carry, linear, nonzeros)
    return jaxpr.derived(key, lambda: _transpose(jaxpr, num_consts, num_carry, linear, nonzeros))


def _weak_as(ct: ir.Array | ad.Zero, aval: ir.AbstractValue) -> ir.Array:
    """The cotangent of a constant, as weakly typed as ``aval``: a user's rule may ignore that."""
    ct = ad.instantiate(ct)
    if not isinstance(aval, ir.ShapedArray) or not aval.weak_type or array_aval(ct).weak_type:
        return ct
    convert = ir.primitives["convert_element_type"]
    return convert.bind(ct, new_dtype=aval.dtype, weak_type=True, sharding=None)


def _transpose(jaxpr, num_consts, num_carry, linear, nonzeros) -> TransposedBody:
    lin_consts, _, lin_xs = sections(linear, num_consts, num_carry)
    const_avals, carry_avals, xs_avals = sections(jaxpr.in_avals, num_consts, num_carry)
    const_cts = [ad.tangent_aval(a) for a in compress(const_avals, lin_consts)]
    out_avals = [ad.tangent_aval(v.aval) for v in jaxpr.outvars]
    nonlinear = lambda avals, lins: [a for a, lin in zip(avals, lins, strict=True) if not lin]

    def trace(flags: tuple[Flags, Flags]) -> tuple[tuple[ir.Jaxpr, Flags], tuple[Flags, Flags]]:
        consts, carry = flags
        out_flags = (*carry, *nonzeros[num_carry:])
        following, xs = flags, ()

        def fun(*flat):
            nonlocal following, xs
            values = iter(flat)
            fixed = [None if lin else next(values) for lin in lin_consts]
            sums = [
                next(values) if nz else ad.Zero(a) for nz, a in zip(consts, const_cts, strict=True)
            ]
            cts = [
                next(values) if nz else ad.Zero(a)
                for nz, a in zip(out_flags, out_avals, strict=True)
            ]
            slices = [None if lin else next(values) for lin in lin_xs]
            args = [*fixed, *(None for _ in carry_avals), *slices]
            const_outs, carry_outs, xs_outs = sections(
                ad.transpose_flat(jaxpr, linear, args, cts, sums), len(const_cts), num_carry
            )
            following = _nonzero(const_outs), _either(carry, _nonzero(carry_outs))
            xs = _nonzero(xs_outs)
            return [
                *map(_weak_as, compress(const_outs, consts), compress(const_cts, consts)),
                *map(ad.instantiate, compress(carry_outs, carry)),
                *compress(xs_outs, xs),
            ]

        in_avals = [
            *nonlinear(const_avals, lin_consts),
            *compress(const_cts, consts),
            *compress(out_avals, out_flags),
            *nonlinear(xs_avals, lin_xs),
        ]
        transposed = ir.trace_to_jaxpr(fun, in_avals, jaxpr.debug_info)
        return (transposed, xs), following

    # Tracing finds out which cotangents are nonzero. Those of the constants and of the carry are
    # carried to the next iteration.
    start = (False,) * len(const_cts), nonzeros[:num_carry]
    (transposed, xs), (consts, carry) = ir.fixpoint(trace, start)
    return TransposedBody(ir.live_program(transposed).jaxpr, consts, carry, xs)


def halves(body: TransposedBody, num_consts: int) -> tuple[ir.Jaxpr, ir.Jaxpr, int]:
    """Split a transposed body into the equations that the next iteration reads, and the others.

    Args:
      num_consts: how many constants it closes over.

    Returns:
      A body that carries only the cotangents of the carry, and collects the values that the other
      body reads; a body that carries the constants' cotangents, and scans those values ahead of
      the arrays that both scan; and the number of those values.
    """
    return body.jaxpr.derived(("halves", num_consts), lambda: _halves(body, num_consts))


def _halves(body: TransposedBody, num_consts: int) -> tuple[ir.Jaxpr, ir.Jaxpr, int]:
    jaxpr, sums = body.jaxpr, sum(body.consts)
    consts, carried, scanned = sections(jaxpr.invars, num_consts, sums + sum(body.carry))
    carry_out = jaxpr.outvars[sums : len(carried)]
    others = [*jaxpr.outvars[:sums], *jaxpr.outvars[len(carried) :]]
    # The sequential half: the equations of the next carry alone, without the sums for the
    # constants.
    first = ir.live_equations(jaxpr.eqns, carry_out)
    computed = dict.fromkeys(v for eqn in first for v in eqn.outvars)
    second = ir.live_equations(jaxpr.eqns, others, computed)
    computed.update(dict.fromkeys(carried[sums:]))
    read = {*others, *(a for eqn in second for a in eqn.invars)}
    needed = [var for var in computed if var in read]
    return (
        ad.program(jaxpr, [*consts, *carried[sums:], *scanned], first, [*carry_out, *needed]),
        ad.program(jaxpr, [*consts, *carried[:sums], *needed, *scanned], second, others),
        len(needed),
    )


class SplitBody(ir.TupleRecord):
    """A body with a carry that is partly linear: the nonlinear part, and the linear part.

    Attributes:
      nonlinear: from the nonlinear arguments to the nonlinear results, followed by the residuals:
        the values that ``linear`` reads.
      linear: from the linear arguments, followed by the residuals (which it scans), to the linear
        results.
      carry: for each part of the carry, whether it is linear.
      results: for each result, whether it is linear.
    """

    nonlinear: ir.Jaxpr
    linear: ir.Jaxpr
    carry: Flags
    results: Flags


def split_body(jaxpr: ir.Jaxpr, num_consts: int, num_carry: int, linear: Flags) -> SplitBody | None:
    """Split a body by the operands of the scan that are linear; ``None`` if all its carry is."""
    consts, carry, xs = sections(linear, num_consts, num_carry)

    def mark(carry: Flags) -> tuple[Flags, Flags]:
        _, marked = ad.dependent(jaxpr, (*consts, *carry, *xs))
        return tuple(marked), _either(carry, marked[:num_carry])

    # A part of the carry that depends on a linear operand in one iteration is linear in the next.
    marked, carry = ir.fixpoint(mark, carry)
    if all(carry):
        return None
    key = ("split scan", num_consts, linear)
    return jaxpr.derived(key, lambda: _split(jaxpr, (*consts, *carry, *xs), carry, marked))


def _split(jaxpr: ir.Jaxpr, linear: Flags, carry: Flags, marked: Flags) -> SplitBody:
    results = (*carry, *marked[len(carry) :])
    split = ad.split_jaxpr(jaxpr, linear, results)
    count = len(split.unknown.invars) - sum(linear)
    invars = split.unknown.invars
    unknown = split.unknown.replace(invars=[*invars[count:], *invars[:count]])
    return SplitBody(split.known, unknown, carry, results)


# Batching


def batched_body(
    jaxpr: ir.Jaxpr, num_carry: int, axis: Axis, dims: tuple[int | None, ...], num_consts: int
) -> tuple[ir.Jaxpr, tuple[int | None, ...], tuple[int | None, ...]]:
    """The body for a batch.

    Args:
      dims: the batch dimension of each argument; that of the carry, 0 or ``None``, may change.

    Returns:
      The body, and the batch dimensions of the carry and of the collected results.
    """
    key = ("batch of scan", num_carry, num_consts, axis, dims)
    return jaxpr.derived(key, lambda: _batch(jaxpr, num_carry, axis, dims, num_consts))


def _batch(jaxpr, num_carry, axis, dims, num_consts):
    consts, carry, xs = sections(dims, num_consts, num_carry)
    collected = (None,) * (len(jaxpr.outvars) - num_carry)

    def batch(carry: tuple[int | None, ...]):
        body, out_dims = batch_jaxpr(jaxpr, axis, (*consts, *carry, *xs), (*carry, *collected))
        # A part of the carry that one iteration batches is a batch from the start.
        joined = tuple(
            None if before is None and after is None else 0
            for before, after in zip(carry, out_dims[:num_carry], strict=True)
        )
        return (body, tuple(out_dims[num_carry:])), joined

    (body, out_dims), carry = ir.fixpoint(batch, carry)
    return body, carry, out_dims
