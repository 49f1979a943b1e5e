"""The peak memory of a jaxpr, estimated without compiling it, for ``fit_memory``.

A liveness analysis in the order of the equations. The compiler fuses: most elementwise results are
computed where they are read, and never are in memory. What reads such a result reads its operands
instead, which live until then.
"""

from collections.abc import Iterable, Iterator

import ricci_ir as ir
from ricci_batching import elementwise_primitives
from ricci_lax.rolling._runs import size_in_bytes
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure import optimization_barrier_p

from ._operations import ELEMENTARY

__all__ = ["estimated_peak"]

# Operations that only read other places of their operands, or none.
_MOVES = frozenset(
    "broadcast_in_dim concatenate expand_dims iota pad reshape rev select_n slice squeeze "
    "transpose".split()
)
# Results in the memory of their operand.
_ALIASES = frozenset("expand_dims name optimization_barrier reshape squeeze stop_gradient".split())
_UPDATES = frozenset(
    "dynamic_update_slice scatter scatter-add scatter-max scatter-min scatter-mul".split()
)
# Functions whose results the compiler computes once, even if several fusions read them.
_COSTLY = ELEMENTARY | {"div", "rem"}


def estimated_peak(jaxpr: ir.Jaxpr) -> int:
    """Estimate the most bytes in memory at a time, with the arguments and the results.

    Values in the host's memory do not count; those of a ``shard_map`` count on all its devices.
    """
    arguments = {*jaxpr.invars, *jaxpr.constvars}
    return sum(map(size_in_bytes, arguments)) + _peak(jaxpr)


def _peak(jaxpr: ir.Jaxpr) -> int:
    """The most bytes in memory at a time, without the inputs."""
    jaxpr = inlined(jaxpr)
    eqns, end = jaxpr.eqns, len(jaxpr.eqns)
    stored = _stored(jaxpr)
    hosted = ir.values_on_host(jaxpr)
    size = lambda var: 0 if var in hosted else size_in_bytes(var)
    # By each variable the ones in memory that it is computed from where it is read.
    sources: dict[ir.Var, frozenset[ir.Var]] = {}
    last_use: dict[ir.Var, int] = {}
    for i, eqn in enumerate(eqns):
        read = _joined(eqn.invars, sources)
        if stored[i]:
            last_use.update(dict.fromkeys(read, i))
        elif eqn.primitive is optimization_barrier_p:
            for var, atom in zip(eqn.outvars, eqn.invars, strict=True):
                sources[var] = _joined([atom], sources)
        else:
            sources.update(dict.fromkeys(eqn.outvars, read))
    last_use.update(dict.fromkeys(_joined(jaxpr.outvars, sources), end))
    inputs = {*jaxpr.invars, *jaxpr.constvars}
    dying: dict[int, list[int]] = {}
    for var, i in last_use.items():
        if var not in inputs:
            dying.setdefault(i, []).append(size(var))
    live = most = 0
    for i, eqn in enumerate(eqns):
        if not stored[i]:
            continue
        results = sum(size(var) for var in eqn.outvars if var in last_use)
        inner = max(ir.call_in_scope(eqn, lambda eqn=eqn: [*map(_peak, _jaxprs(eqn))]), default=0)
        inner *= ir.copies(eqn)
        freed = dying.get(i, [])
        # An elementwise result may take the memory of an operand that is read for the last time.
        in_place = eqn.primitive in elementwise_primitives or eqn.primitive.name in _UPDATES
        reused = min(results, max(freed, default=0)) if in_place else 0
        most = max(most, live + max(inner, results) - reused)
        live += results - sum(freed)
    return most


def _jaxprs(eqn: ir.JaxprEqn) -> Iterator[ir.Jaxpr]:
    return ir.jaxprs_in_params(eqn.params)


def _joined(
    atoms: Iterable[ir.Atom], sources: dict[ir.Var, frozenset[ir.Var]]
) -> frozenset[ir.Var]:
    """The variables in memory that atoms are computed from."""
    variables = [atom for atom in atoms if isinstance(atom, ir.Var)]
    return frozenset().union(*(sources.get(var, {var}) for var in variables))


def _stored(jaxpr: ir.Jaxpr) -> list[bool]:
    """Whether the results of each equation are in memory, not only in fusions that read them."""
    readers: dict[ir.Var, list[int]] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        for var in {atom for atom in eqn.invars if isinstance(atom, ir.Var)}:
            readers.setdefault(var, []).append(i)
    results = {atom for atom in jaxpr.outvars if isinstance(atom, ir.Var)}
    fusible = [_is_fusible(eqn) or _is_fused_reduction(eqn) for eqn in jaxpr.eqns]

    def is_stored(eqn: ir.JaxprEqn) -> bool:
        name = eqn.primitive.name
        if results.intersection(eqn.outvars):
            return True
        if name in _ALIASES:
            return False
        if not _is_fusible(eqn):
            return True
        by = readers.get(eqn.outvars[0], [])
        return (name in _COSTLY and len(by) > 1) or not all(fusible[i] for i in by)

    return [is_stored(eqn) for eqn in jaxpr.eqns]


def _is_fusible(eqn: ir.JaxprEqn) -> bool:
    return eqn.primitive in elementwise_primitives or eqn.primitive.name in _MOVES


def _is_fused_reduction(eqn: ir.JaxprEqn) -> bool:
    """Whether a reduction reads its operand in a fusion: the CPU's over the last axis do."""
    if not eqn.primitive.name.startswith(("reduce_", "arg")) or "axes" not in eqn.params:
        return False
    return len(getattr(eqn.invars[0].aval, "shape", ())) - 1 in eqn.params["axes"]
