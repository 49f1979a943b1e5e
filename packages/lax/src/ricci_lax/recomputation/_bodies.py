"""Operations that hold most of a function, such as ``shard_map``: their jaxprs are cut instead.

A cut around a ``shard_map`` or a ``cond`` of all layers saves no memory. The segments are then
those of the layers inside, which are rewritten in the operation's own scope.
"""

from collections.abc import Callable, Sequence

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.control_flow._cond import cond_p
from ricci_lax.rolling._runs import size_in_bytes
from ricci_lax.staged_calls._staged_call import inlined

__all__ = ["bodies_to_cut", "read_bodies", "with_bodies"]

# The part of the bytes that a function computes, from which on an operation is cut inside, and
# which all of these hold together. Layers that are a ``shard_map`` each are cut between them.
_LEAST_OF_EACH, _LEAST_OF_ALL = 0.25, 0.5
_SHORTEST = 8  # equations of a jaxpr that is cut


def bodies_to_cut(jaxpr: ir.Jaxpr) -> list[int]:
    """Return the equations whose jaxprs are to be cut instead of a jaxpr; none of most jaxprs.

    Args:
      jaxpr: a jaxpr without staged calls.
    """
    heavy = [i for i, eqn in enumerate(jaxpr.eqns) if _holds_layers(eqn)]
    if not heavy:
        return []
    sizes = [_computed(eqn) for eqn in jaxpr.eqns]
    heavy = [i for i in heavy if sizes[i] >= _LEAST_OF_EACH * sum(sizes)]
    return heavy if sum(sizes[i] for i in heavy) > _LEAST_OF_ALL * sum(sizes) else []


def _holds_layers(eqn: ir.JaxprEqn) -> bool:
    if eqn.primitive is not cond_p and eqn.primitive not in ir.scope_rules:
        return False
    jaxprs = ir.jaxprs_in_params(eqn.params)
    return ir.call_in_scope(eqn, lambda: any(len(inlined(j).eqns) >= _SHORTEST for j in jaxprs))


def _computed(eqn: ir.JaxprEqn) -> int:
    """The bytes of all results in an equation, with those of its loops' iterations."""
    inner = [sum(map(_computed, jaxpr.eqns)) for jaxpr in ir.jaxprs_in_params(eqn.params)]
    if not any(inner):
        return sum(map(size_in_bytes, eqn.outvars))
    return max(inner) * (eqn.params.get("length") or 1) * ir.copies(eqn)


def read_bodies[T](
    jaxpr: ir.Jaxpr, nonzeros: Sequence[bool], read: Callable[[ir.Jaxpr, Sequence[bool]], T]
) -> list[T]:
    """Return what a function makes of each jaxpr that is cut instead of a jaxpr, in its scope.

    Args:
      jaxpr: the jaxpr.
      nonzeros: for each of its last inputs, whether it is differentiated with respect to that.
      read: takes a jaxpr, and likewise for each of its inputs.
    """
    jaxpr = inlined(jaxpr)
    nonzeros = [*[False] * (len(jaxpr.all_invars) - len(nonzeros)), *nonzeros]
    results: list[T] = []
    for place in bodies_to_cut(jaxpr):
        eqn = jaxpr.eqns[place]
        before = jaxpr.replace(
            constvars=[],
            consts=[],
            invars=jaxpr.all_invars,
            outvars=eqn.invars,
            eqns=jaxpr.eqns[:place],
            effects=ir.join_effects(e.effects for e in jaxpr.eqns[:place]),
        )
        operands = ad.linearize_jaxpr(before, nonzeros).nonzeros
        for body in ir.jaxprs_in_params(eqn.params):
            # The first operand of a ``cond`` is the branch's number.
            active = operands[len(operands) - len(body.invars) :]
            results += ir.call_in_scope(eqn, lambda x=body, active=active: [read(x, active)])
    return results


def with_bodies(
    jaxpr: ir.Jaxpr, places: Sequence[int], change: Callable[[ir.Jaxpr], ir.Jaxpr]
) -> ir.Jaxpr:
    """Return a jaxpr with the jaxprs of some equations changed, in the scopes of these."""
    eqns = list(jaxpr.eqns)
    for place in places:
        eqn = eqns[place]
        params = {
            name: ir.call_in_scope(eqn, lambda value=value: _changed(value, change))
            for name, value in eqn.params.items()
        }
        eqns[place] = eqn.replace(params=params)
    return jaxpr.replace(eqns=eqns)


def _changed(value: object, change: Callable[[ir.Jaxpr], ir.Jaxpr]) -> object:
    """A parameter of an equation, with its jaxprs changed."""
    if isinstance(value, tuple) and value and all(isinstance(item, ir.Jaxpr) for item in value):
        return tuple(map(change, value))
    return change(value) if isinstance(value, ir.Jaxpr) else value
