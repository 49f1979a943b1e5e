"""Split rules: the part of an operation that depends on no tangent is computed at once."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import ricci_ir as ir

from ._linearize import Linearized, Run, Tape, forward_and_tangent
from ._rules import params_without_rules
from ._tangent import Tangent, Zero, instantiate

__all__ = ["split_by_linearizing", "split_call"]


def split_call(
    tape: Tape,
    args: Sequence[ir.ArrayLike],
    *,
    jaxpr: ir.Jaxpr,
    name: str,
    donated_invars: tuple[bool, ...] = (),
) -> list[ir.Array]:
    """Split a staged call: call the part that depends on no tangent, record a call of the other.

    Nothing is donated to either, since both may read the same arrays.
    """
    linear = tuple(map(tape.has, args))
    parts = jaxpr.derived(("split linear", linear), lambda: _split_linear(jaxpr, linear))
    call = ir.staged_call.call
    # There is nothing to compute ahead, so the call is recorded as it is.
    if all(parts.nonzeros) and not parts.forward.eqns:
        return tape.record(call, args, {"jaxpr": jaxpr, "name": name})
    primals = [arg for arg, lin in zip(args, linear, strict=True) if not lin]
    outputs = call.bind(*primals, jaxpr=parts.forward, name=name)
    values = (*primals, *outputs)
    operands = [values[i] for i in parts.residuals]
    operands += [arg for arg, lin in zip(args, linear, strict=True) if lin]
    recorded: Any = ()
    if parts.tangent.outvars:
        recorded = tape.record(call, operands, {"jaxpr": parts.tangent, "name": name})
    computed, tangents = iter(outputs), iter(recorded)
    return [next(tangents if nonzero else computed) for nonzero in parts.nonzeros]


def split_by_linearizing(
    rule: Callable[..., tuple[Sequence[ir.Array], Sequence[Tangent]]],
) -> Callable[..., list[ir.Array]]:
    """Derive the split rule of a primitive with several results from its linearize rule.

    The operation is linear in the tangents of the tape, so it is its own derivative with respect to
    them: it is linearized at zero, and the tangents take the place of the derivative's argument.

    Args:
      rule: the linearize rule.
    """

    def split(tape: Tape, args: Sequence[ir.ArrayLike], **params: object) -> list[ir.Array]:
        # A result that depends on a tangent t is A(x) t, whose derivative by t, applied to t, is
        # A(x) t itself. The other results depend on x alone, so the value of t does not matter for
        # them.
        primals = [instantiate(Zero(x.aval)) if tape.has(x) else x for x in args]
        tangents = [x if tape.has(x) else Zero.from_primal(x) for x in args]
        params = params_without_rules(params)
        results, out_tangents = rule(tape, primals, tangents, **params)
        return [t if tape.has(t) else r for r, t in zip(results, out_tangents, strict=True)]

    return split


def _split_linear(jaxpr: ir.Jaxpr, linear: tuple[bool, ...]) -> Linearized:
    """Split a jaxpr that is linear in some of its arguments.

    ``forward`` takes the other arguments, and returns the results that depend on no linear one.
    """
    # `split_jaxpr` sorts equations without tracing, for any dependence on the unknown arguments.
    # This traces under a tape, so that calls and loops inside are split by their rules, which rely
    # on linearity: they linearize the operation at zero.

    def run(*args: ir.Array) -> Run:
        tape, primals = Tape(ir.context.trace), iter(args)
        operands: list[Any] = [
            tape.new_tangent(v.aval) if lin else next(primals)
            for v, lin in zip(jaxpr.invars, linear, strict=True)
        ]
        previous = ir.context.trace
        ir.context.trace = tape
        try:
            outs = ir.eval_jaxpr(jaxpr, jaxpr.consts, *operands)
        finally:
            ir.context.trace = previous
            tape.alive = False
        return (
            tape,
            list(compress(operands, linear)),
            [out for out in outs if not tape.has(out)],
            [out if tape.has(out) else None for out in outs],
        )

    avals = [aval for aval, lin in zip(jaxpr.in_avals, linear, strict=True) if not lin]
    return forward_and_tangent(jaxpr, run, avals)
