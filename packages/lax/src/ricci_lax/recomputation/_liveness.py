"""The peak memory of a jaxpr, estimated without compiling it, for ``fit_memory``.

A liveness analysis in the order of the equations. The compiler fuses: most elementwise results are
computed where they are read, and never are in memory. What reads such a result reads its operands
instead, which live until then.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import ricci_ir as ir
from ricci_batching import elementwise_primitives
from ricci_lax.control_flow._scan import scan_p
from ricci_lax.rolling._runs import size_in_bytes
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure import optimization_barrier_p

from ._operations import ELEMENTARY

__all__ = ["estimated_peak"]

_nothing: Mapping[ir.Var, ir.Var] = {}

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

    The runtime allocates memory for the results before a call. Until a result is computed, a
    temporary value of exactly its size may use it. Values in the host's memory do not count; those
    of a ``shard_map`` count on all its devices.
    """
    jaxpr = inlined(jaxpr)
    arguments = {*jaxpr.invars, *jaxpr.constvars}
    results = _variables(jaxpr.outvars) - arguments
    total = sum(map(size_in_bytes, [*arguments, *results]))
    return total + _peak(jaxpr, _in_memory_of(results, jaxpr), results)


def _in_memory_of(results: Collection[ir.Var], jaxpr: ir.Jaxpr) -> dict[ir.Var, ir.Var]:
    """By each value that lies in the memory of a result, which is written over it, that result.

    They are operands of elementwise operations and what loops begin with, read for the last time.
    The compiler does these as soon as it can: gradients are added to a loop's sums one by one, and
    these are in the memory of the results.
    """
    later: set[ir.Var] = {*results}
    within = {result: result for result in results}
    for eqn in reversed(jaxpr.eqns):
        read = [atom for atom in eqn.invars if isinstance(atom, ir.Var)]
        pairs: list[tuple[ir.Var, ir.Atom]] = []
        if eqn.primitive in elementwise_primitives or eqn.primitive.name in _ALIASES:
            pairs = [(eqn.outvars[0], atom) for atom in read]
        elif eqn.primitive is scan_p:
            carried = eqn.invars[eqn.params["num_consts"] :][: eqn.params["num_carry"]]
            pairs = [*zip(eqn.outvars, carried, strict=False)]
        for out, atom in pairs:
            if isinstance(atom, ir.Var) and atom not in later and out in within:
                if size_in_bytes(atom) == size_in_bytes(out):
                    within[atom] = within[out]
        later.update(read)
    return within


class _Sharing:
    """The bytes of temporary values that lie in the memory of results to be computed later.

    Args:
      sizes: the sizes of the results.
    """

    def __init__(self, sizes: Iterable[int]):
        self._results: Counter[int] = Counter(sizes)
        self._values: Counter[int] = Counter()
        self.bytes: int = 0

    def change(self, size: int, values: int, results: int = 0) -> None:
        """Add to the numbers of temporary values and of results that have a size."""
        if size in self._results:
            self.bytes -= size * min(self._values[size], self._results[size])
            self._values[size] += values
            self._results[size] += results
            self.bytes += size * min(self._values[size], self._results[size])


def _peak(
    jaxpr: ir.Jaxpr, counted: Mapping[ir.Var, ir.Var] = _nothing, shared: Collection[ir.Var] = ()
) -> int:
    """The most bytes in memory at a time, without the inputs and the memory of results.

    Args:
      jaxpr: the jaxpr.
      counted: by each value in the memory of a result that is counted elsewhere, that result.
      shared: the results whose memory is free until they are computed.
    """
    jaxpr = inlined(jaxpr)
    eqns, end = jaxpr.eqns, len(jaxpr.eqns)
    stored = _stored(jaxpr)
    hosted = ir.values_on_host(jaxpr)
    size = lambda var: 0 if var in hosted or var in counted else size_in_bytes(var)
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
    pending = {*shared}
    sharing = _Sharing(map(size_in_bytes, pending))
    for i, eqn in enumerate(eqns):
        if not stored[i]:
            continue
        results = sum(size(var) for var in eqn.outvars if var in last_use)
        inner = max(ir.call_in_scope(eqn, lambda e=eqn, r=results: _inner_peaks(e, r)), default=0)
        inner *= ir.copies(eqn)
        freed = dying.get(i, [])
        # An elementwise result may take the memory of an operand that is read for the last time.
        in_place = eqn.primitive in elementwise_primitives or eqn.primitive.name in _UPDATES
        in_place = in_place or eqn.primitive is scan_p
        reused = min(results, max(freed, default=0)) if in_place else 0
        for var in eqn.outvars:
            if var in last_use:
                sharing.change(size(var), 1)
            result = counted.get(var)
            if result in pending:
                pending.remove(result)
                sharing.change(size_in_bytes(var), 0, -1)
        most = max(most, live + max(inner, results) - reused - sharing.bytes)
        live += results - sum(freed)
        for freed_size in freed:
            sharing.change(freed_size, -1)
    return most


def _inner_peaks(eqn: ir.JaxprEqn, results: int) -> list[int]:
    """The peaks of an equation's jaxprs, with its results of some bytes."""
    jaxprs = ir.jaxprs_in_params(eqn.params)
    if eqn.primitive is not scan_p:
        return [*map(_peak, jaxprs)]
    # The carry of a loop stays in one place, beside the results of all iterations.
    body, carried = inlined(*jaxprs), eqn.params["num_carry"]
    return [results + _peak(body, _in_memory_of(_variables(body.outvars[:carried]), body))]


def _variables(atoms: Iterable[ir.Atom]) -> set[ir.Var]:
    return {atom for atom in atoms if isinstance(atom, ir.Var)}


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
    results = _variables(jaxpr.outvars)
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
