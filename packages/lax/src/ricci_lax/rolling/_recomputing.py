"""Recompute cheap results of one run in another, instead of storing them for all pieces.

A backward pass reads many results of the forward pass. Where no layer is a loop, the compiler fuses
cheap operations into those that read their results, and stores few of them; between two loops it
does not. So the choice is made here: the results that are stored are a minimum cut of the graph of
the forward piece, between what is costly to compute and what the backward piece reads.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence

import ricci_autodiff as ad
import ricci_ir as ir

from ._runs import CARRIED, Place, Rows, Run, size_in_bytes

__all__ = ["minimum_cut", "recompute_cheap"]

# Operations that cost less than reading their results from memory.
_CHEAP = frozenset(
    "abs add add_any and broadcast_in_dim clamp convert_element_type copy div eq ge gt integer_pow "
    "is_finite le lt max min mul ne neg not one_minus_square or reshape select_n sign square "
    "squeeze stop_gradient sub xor".split()
)


def recompute_cheap(jaxpr: ir.Jaxpr, runs: Sequence[Run]) -> None:
    """Change runs to recompute cheap results, where that stores fewer bytes.

    Args:
      jaxpr: a jaxpr.
      runs: its runs, in order.
    """
    single: set[ir.Atom] = set(jaxpr.outvars)
    position = 0
    for start, stop in [*((run.start, run.stop) for run in runs), (len(jaxpr.eqns),) * 2]:
        single.update(atom for eqn in jaxpr.eqns[position:start] for atom in eqn.invars)
        position = stop
    for i, reader in enumerate(runs):
        for source in runs[:i]:
            others = [run for run in runs if run is not source and run is not reader]
            pair = _Pair(source, reader, single.union(*map(_reads, others)))
            if pair.read:
                pair.recompute()


def _reads(run: Run, stacks: Iterable[Rows] = ()) -> set[ir.Var]:
    """The variables that a run reads from outside, other than rows of these stacks."""
    firsts, fixed = (carry.first for carry in run.carries), (value for _, value in run.fixed)
    stacked = (rows for _, rows in run.stacked if not {rows, rows[::-1]}.intersection(stacks))
    return {*firsts, *fixed, *(value for rows in stacked for value in rows)}


class _Pair:
    """Two runs of which one reads results of the other, piece by piece.

    Args:
      source, reader: the two runs.
      elsewhere: what is read outside of both.
    """

    def __init__(self, source: Run, reader: Run, elsewhere: set[ir.Atom]):
        self.source, self.reader, self.elsewhere = source, reader, elsewhere
        self.values: dict[Place, Rows] = source.values
        # The variables of the source's template.
        self.variables: dict[Place, ir.Var] = {
            (q, o): var
            for q, eqn in enumerate(source.template)
            for o, var in enumerate(eqn.outvars)
        } | {(CARRIED, k): carry.operand for k, carry in enumerate(source.carries)}
        self.places: dict[ir.Var, Place] = {var: place for place, var in self.variables.items()}
        # The reader's operands that are the source's results, in the order of its pieces or in
        # reverse, as a backward pass reads them.
        places = {rows: place for place, rows in self.values.items()}
        self.step = 1
        self.read: dict[Place, ir.Var] = {}
        for step in (1, -1):
            rows = [(operand, values[::step]) for operand, values in reader.stacked]
            read = {places[values]: operand for operand, values in rows if values in places}
            if len(read) > len(self.read):
                self.read, self.step = read, step

    def recompute(self) -> None:
        """Replace operands of the reader by equations that compute them from others."""
        stored = self._stored()
        replaced = self.read.keys() - stored
        template = self.source.template
        order, pending = set[int](), [*replaced]
        while pending:
            q, _ = pending.pop()
            if q not in order:
                order.add(q)
                operands = (self.places[v] for v in template[q].invars if v in self.places)
                pending += [place for place in operands if place not in stored]
        operands = {self.read[place] for place in replaced}
        self.reader.stacked[:] = [row for row in self.reader.stacked if row[0] not in operands]
        env: dict[ir.Var, ir.Var] = {}
        for place in stored:
            env[self.variables[place]] = self._operand(self.values[place])
            self.source.results[place] = [*range(self.source.count)]
        for q in sorted(order):
            eqn = template[q]
            invars = [self._operand_of(v, env) if isinstance(v, ir.Var) else v for v in eqn.invars]
            result = self.read.get((q, 0)) or ir.Var(eqn.outvars[0].aval)
            env[eqn.outvars[0]] = result
            self.reader.recomputed.append(eqn.replace(invars=invars, outvars=[result]))
        self._drop_unread(stored)

    def _drop_unread(self, stored: set[Place]) -> None:
        """Leave out results of the source that are not read any more."""
        # The inputs of each piece are stacked on their own, aligned with the other results.
        aligned = {self.values[place] for place in stored if place[0] == CARRIED}
        read = _reads(self.reader, aligned) | self.elsewhere
        for place in [place for place in self.source.results if place[0] != CARRIED]:
            pieces = [piece for piece, var in enumerate(self.values[place]) if var in read]
            if pieces:
                self.source.results[place] = pieces
            else:
                del self.source.results[place]

    def _stored(self) -> set[Place]:
        """The results to be stored: those of least size from which the others are cheap."""
        sizes: dict[Place, int] = {}
        edges: list[tuple[Place, Place]] = []
        costly: set[Place] = set()
        # The source computes these itself from results of an earlier run.
        recomputed = {var for eqn in self.source.recomputed for var in eqn.outvars}
        pending = [*self.read]
        while pending:
            place = pending.pop()
            if place in sizes:
                continue
            q, _ = place
            # Values that others read are stored anyway.
            is_stored = self.elsewhere.issuperset(self.values[place])
            sizes[place] = 0 if is_stored else size_in_bytes(self.variables[place])
            if q == CARRIED or self.source.template[q].primitive.name not in _CHEAP:
                costly.add(place)
                continue
            invars = self.source.template[q].invars
            if not recomputed.isdisjoint(invars):
                costly.add(place)
                continue
            # The others of its operands are the same in all pieces, or stacked already.
            before = [self.places[v] for v in invars if v in self.places]
            edges += [(operand, place) for operand in before]
            pending += before
        return minimum_cut(sizes, edges, costly, self.read)

    def _operand(self, values: Rows) -> ir.Var:
        """The reader's operand that has these values in the source's pieces."""
        rows = values[:: self.step]
        for operand, stacked in self.reader.stacked:
            if stacked == rows:
                return operand
        operand = ir.Var(values[0].aval)
        self.reader.stacked.append((operand, rows))
        return operand

    def _operand_of(self, var: ir.Var, env: dict[ir.Var, ir.Var]) -> ir.Var:
        """The reader's variable for one of the source's template."""
        if var not in env:
            stacked = dict(self.source.stacked)
            if var in stacked:
                env[var] = self._operand(stacked[var])
            else:
                value = dict(self.source.fixed)[var]
                env[var] = ir.Var(value.aval)
                self.reader.fixed.append((env[var], value))
        return env[var]


def recompute_cheap_residuals(
    linearized: ad.Linearized, num_consts: int, num_carry: int
) -> ad.Linearized:
    """Recompute residuals of a scan's body in its tangent jaxpr, where that stores fewer bytes.

    Args:
      linearized: the linearized body.
      num_consts, num_carry: the numbers of its constants and of the parts of its carry.

    Returns:
      The body, whose forward jaxpr returns other residuals.
    """
    forward, tangent = linearized.forward, linearized.tangent
    arguments, results = len(forward.invars), len(linearized.nonzeros)
    values = [*forward.invars, *forward.outvars]
    count = len(linearized.residuals)
    residuals = {}
    for place, invar in zip(linearized.residuals, tangent.invars, strict=False):
        residuals.setdefault(values[place], []).append(invar)
    if not all(isinstance(var, ir.Var) for var in residuals):
        return linearized
    # Constants, scanned arrays and collected results are stored anyway; the carry is not.
    carried = forward.invars[num_consts : num_consts + num_carry]
    stored = {*forward.invars, *forward.outvars[num_carry:results]}.difference(carried)
    equations = {eqn.outvars[0]: eqn for eqn in forward.eqns if eqn.primitive.name in _CHEAP}
    sizes: dict[ir.Var, int] = {}
    edges: list[tuple[ir.Var, ir.Var]] = []
    costly: set[ir.Var] = set()
    pending = [*residuals]
    while pending:
        var = pending.pop()
        if var in sizes:
            continue
        sizes[var] = 0 if var in stored else size_in_bytes(var)
        if var not in equations:
            costly.add(var)
            continue
        before = [v for v in equations[var].invars if isinstance(v, ir.Var)]
        edges += [(operand, var) for operand in before]
        pending += before
    cut = minimum_cut(sizes, edges, costly, residuals)
    replaced = residuals.keys() - cut
    if not replaced:
        return linearized
    needed, pending = set[ir.Var](), [*replaced]
    while pending:
        var = pending.pop()
        if var not in cut and var not in needed:
            needed.add(var)
            pending += [v for v in equations[var].invars if isinstance(v, ir.Var)]
    saved = [var for var in sizes if var in cut]
    again = {var: ir.Var(var.aval) for var in (*saved, *needed)}
    read = lambda atom: again[atom] if isinstance(atom, ir.Var) else atom
    eqns = [
        eqn.replace(invars=list(map(read, eqn.invars)), outvars=[again[eqn.outvars[0]]])
        for eqn in forward.eqns
        if eqn.outvars and eqn.outvars[0] in needed
    ]
    named = {invar: again[var] for var, invars in residuals.items() for invar in invars}
    rename = lambda atom: named.get(atom, atom) if isinstance(atom, ir.Var) else atom
    tangent = tangent.replace(
        invars=[*(again[var] for var in saved), *tangent.invars[count:]],
        eqns=[*eqns, *(eqn.reading(list(map(rename, eqn.invars))) for eqn in tangent.eqns)],
        outvars=list(map(rename, tangent.outvars)),
    )
    outvars = list(forward.outvars[:results])
    places = {var: i for i, var in enumerate([*forward.invars, *outvars])}
    for var in saved:
        if var not in places:
            places[var] = arguments + len(outvars)
            outvars.append(var)
    return linearized._replace(
        forward=forward.replace(outvars=outvars),
        tangent=tangent,
        residuals=tuple(places[var] for var in saved),
    )


def minimum_cut[Node: Hashable](
    sizes: Mapping[Node, int],
    edges: Iterable[tuple[Node, Node]],
    sources: Iterable[Node],
    sinks: Iterable[Node],
) -> set[Node]:
    """Find the nodes of least total size that all paths from sources to sinks pass.

    Of several such sets, the one that is nearest to the sinks.

    Args:
      sizes: the nodes' sizes.
      edges: pairs of a node and one that follows it.
      sources, sinks: the first and the last nodes of paths; they may be in the set.

    Returns:
      The nodes.

    Example:
      >>> from ricci_lax.rolling import minimum_cut
      >>> sizes = {"product": 8, "square": 8, "sum": 8, "mean": 1}
      >>> edges = [("product", "square"), ("square", "sum"), ("square", "mean")]
      >>> sorted(minimum_cut(sizes, edges, ["product"], ["sum", "mean"]))
      ['square']
    """
    # The maximum flow equals the minimum cut. A node is an arc from its entry to its exit, which
    # can carry its size; edges carry any amount. Flow is added along shortest paths (Edmonds and
    # Karp) until there is none.
    source, sink = "source", "sink"
    unlimited = sum(sizes.values()) + 1
    free: dict[Hashable, dict[Hashable, int]] = {}

    def arc(start: Hashable, stop: Hashable, capacity: int) -> None:
        free.setdefault(start, {})[stop] = capacity
        free.setdefault(stop, {}).setdefault(start, 0)

    for node, size in sizes.items():
        arc((node, 0), (node, 1), size)
    for start, stop in edges:
        arc((start, 1), (stop, 0), unlimited)
    for node in sources:
        arc(source, (node, 0), unlimited)
    for node in sinks:
        arc((node, 1), sink, unlimited)
    while path := _path(free, source, sink):
        flow = min(free[start][stop] for start, stop in path)
        for start, stop in path:
            free[start][stop] -= flow
            free[stop][start] += flow
    # The nodes from whose exit, but not from whose entry, the sink can still be reached.
    reaching: set[Hashable] = {sink}
    pending: deque[Hashable] = deque(reaching)
    while pending:
        stop = pending.popleft()
        for start in free[stop]:
            if free[start][stop] and start not in reaching:
                reaching.add(start)
                pending.append(start)
    return {node for node in sizes if (node, 1) in reaching and (node, 0) not in reaching}


def _path(
    free: Mapping[Hashable, Mapping[Hashable, int]], source: Hashable, sink: Hashable
) -> list[tuple[Hashable, Hashable]]:
    """A shortest path of arcs that can carry more, or an empty one."""
    before: dict[Hashable, Hashable] = {source: source}
    pending: deque[Hashable] = deque(before)
    while pending and sink not in before:
        start = pending.popleft()
        for stop, capacity in free.get(start, {}).items():
            if capacity and stop not in before:
                before[stop] = start
                pending.append(stop)
    path: list[tuple[Hashable, Hashable]] = []
    node = sink
    while node in before and node != source:
        path.append((before[node], node))
        node = before[node]
    return path
