"""Recomputation in segments: a differentiated function under several checkpoints in a row.

A checkpoint around a whole function saves little memory: its backward pass recomputes all residuals
at once. Cut into segments, the function recomputes those of one segment at a time, from the values
that cross the cut before it. Cuts are made where few bytes cross, as between the layers of a model.
Where the layers are inside of a ``shard_map`` or a ``cond``, that is cut inside (``_bodies``).
"""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import compress, pairwise
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.checkpoint_policies import Policy, decision
from ricci_lax.control_flow._remat_policy import remat_plan
from ricci_lax.control_flow._scan import scan_p
from ricci_lax.derivatives._checkpoint import remat_p
from ricci_lax.derivatives._recomputation import in_scans, traced_flat
from ricci_lax.rolling._pieces import operation_numbers
from ricci_lax.rolling._runs import size_in_bytes
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure._names import with_crossings

from ._bodies import bodies_to_cut, with_bodies
from ._operations import CostlySaved, operations

__all__ = [
    "Recomputation",
    "SegmentCosts",
    "SegmentedFunction",
    "has_scans",
    "repeated_in_scans",
    "segment_counts",
]

_SHORTEST = 4  # equations in a segment


class Recomputation(ir.Record):
    """A rewrite of differentiated functions: the residuals that are recomputed, and when.

    Attributes:
      segments: the number of segments; there are fewer where that many cuts cost more bytes.
      recomputed: the number of segments, from the first, that have a checkpoint.
      least: the cost from which on a checkpoint saves results; see ``CostlySaved``.
      scans: whether the bodies of scans have checkpoints, too.
      on_host: whether values that checkpoints save or read are moved to the host's memory.
    """

    segments: int
    recomputed: int
    least: float
    scans: bool
    on_host: bool = False

    def __call__(self, fun: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Return a flat function under the checkpoints."""

        def run(*leaves: object) -> Sequence[Any]:
            jaxpr, consts = traced_flat(fun, leaves)
            return self._evaluate(jaxpr, [*consts, *leaves])

        return run

    def _evaluate(self, jaxpr: ir.Jaxpr, args: Sequence[Any]) -> Sequence[Any]:
        """Evaluate a jaxpr under the checkpoints in the current trace."""
        jaxpr = inlined(jaxpr)
        bodies = bodies_to_cut(jaxpr)
        if bodies:
            jaxpr = with_bodies(jaxpr, bodies, self._cut)
            return ir.eval_jaxpr(jaxpr, jaxpr.consts, *args)
        policy = CostlySaved(self.least, self.on_host)
        segmented = SegmentedFunction(jaxpr, self.segments, policy if self.scans else None)
        return segmented.evaluate(args, self.recomputed, policy)

    def _cut(self, jaxpr: ir.Jaxpr) -> ir.Jaxpr:
        """The jaxpr of a body, under the checkpoints."""
        run = lambda *args: self._evaluate(jaxpr, args)
        return ir.trace_to_jaxpr(run, jaxpr.in_avals, jaxpr.debug_info)


class SegmentCosts(ir.TupleRecord):
    """The costs of a segment.

    Attributes:
      crossing: the bytes that the segment before it computes and later ones read.
      residuals: the bytes of its residuals, if all are saved.
      saved: those that its checkpoint saves.
      moved: the bytes that its checkpoint moves to the host's memory.
      moved_in_scans: those that checkpoints in scans move there.
      again: the operations that its checkpoint repeats.
    """

    crossing: int
    residuals: int
    saved: int
    moved: int
    moved_in_scans: int
    again: float


class _Segment(ir.TupleRecord):
    jaxpr: ir.Jaxpr
    crossing: int


class _Linear(ir.TupleRecord):
    """The costs of a segment, and for each result whether it has a tangent."""

    costs: SegmentCosts
    nonzeros: tuple[bool, ...]


class SegmentedFunction:
    """A jaxpr in segments.

    Args:
      jaxpr: the jaxpr of a differentiated function; its staged calls are inlined.
      count: the number of segments; there are fewer if the jaxpr is short, or if that many cuts
        are crossed by more bytes.
      policy: the policy of checkpoints around the bodies of scans, or ``None`` without any.
    """

    def __init__(self, jaxpr: ir.Jaxpr, count: int, policy: CostlySaved | None = None):
        flat = inlined(jaxpr)
        self.jaxpr: ir.Jaxpr = flat if policy is None else in_scans(flat, policy, policy.on_host)
        self.segments: list[_Segment] = _segments(self.jaxpr, count)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of equations of the segments, in order."""
        return tuple([len(segment.jaxpr.eqns) for segment in self.segments])

    def evaluate(self, args: Sequence[Any], recomputed: int, policy: CostlySaved) -> list[Any]:
        """Evaluate the jaxpr in the current trace, its first segments under checkpoints."""
        env: dict[Any, Any] = dict(
            zip(self.jaxpr.all_invars, [*self.jaxpr.consts, *args], strict=True)
        )
        for i, (segment, _) in enumerate(self.segments):
            # The first segments are recomputed: their residuals would live longest.
            if i < recomputed:
                outs = remat_p.bind(
                    *(env[var] for var in segment.invars),
                    jaxpr=self._checkpointed(segment, policy),
                    policy=policy,
                    prevent_cse=True,
                    differentiated=False,
                )
                env.update(zip(segment.outvars, outs, strict=True))
            else:
                ir.run_equations(segment.eqns, env)
        return [x.operand() if type(x) is ir.Literal else env[x] for x in self.jaxpr.outvars]

    def costs(self, policy: CostlySaved, nonzeros: Sequence[bool]) -> list[SegmentCosts]:
        """Return the costs of each segment under a policy.

        Args:
          policy: the policy.
          nonzeros: for each of the last inputs of the jaxpr, whether it is differentiated. Others
            are not, so that a user's rule gets the tangents that it gets in the function.
        """
        # Segments of equal layers have equal costs, which are computed once. One of them stands for
        # all, so that it is linearized once, too.
        numbers: list[int] = self.jaxpr.derived(
            "operation numbers", lambda: operation_numbers(self.jaxpr.eqns).tolist()
        )
        examples: dict[Any, ir.Jaxpr] = self.jaxpr.derived("examples of segments", dict)
        computed: dict[Any, _Linear] = self.jaxpr.derived("costs of segments", dict)
        inputs = self.jaxpr.all_invars[len(self.jaxpr.all_invars) - len(nonzeros) :]
        active = set(compress(inputs, nonzeros))
        costs: list[SegmentCosts] = []
        start = 0
        for segment, crossing in self.segments:
            stop = start + len(segment.eqns)
            tangents = tuple(var in active for var in segment.invars)
            key = _structure(segment, numbers[start:stop]), tangents
            if policy.on_host:
                key = *key, *self._crosses(segment)
            linear = computed.get((key, policy))
            if linear is None:
                example = examples.get(key)
                if example is None:
                    example = examples[key] = self._checkpointed(segment, policy)
                linear = computed[key, policy] = _costs(example, policy, tangents)
            active.update(compress(segment.outvars, linear.nonzeros))
            costs.append(linear.costs._replace(crossing=crossing))
            start = stop
        return costs

    def _checkpointed(self, segment: ir.Jaxpr, policy: CostlySaved) -> ir.Jaxpr:
        """The jaxpr of a segment's checkpoint, with names of values that it moves to the host."""
        if not policy.on_host:
            return segment
        return with_crossings(segment, self._crosses(segment))

    def _crosses(self, segment: ir.Jaxpr) -> list[bool]:
        """Whether a segment's inputs are computed by those before it."""
        arguments = {*self.jaxpr.all_invars}
        return [var not in arguments for var in segment.invars]


def has_scans(jaxpr: ir.Jaxpr) -> bool:
    """Whether there is a scan in a jaxpr, or in those that it holds."""
    return any(
        eqn.primitive is scan_p or any(map(has_scans, ir.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def repeated_in_scans(jaxpr: ir.Jaxpr, policy: Policy) -> float:
    """Estimate the operations that checkpoints around the bodies of scans repeat."""
    total = 0.0
    for eqn in jaxpr.eqns:
        for inner in ir.jaxprs_in_params(eqn.params):
            if eqn.primitive is scan_p:
                unsaved = [e for e in inner.eqns if not decision(policy, e)]
                total += eqn.params["length"] * sum(map(operations, unsaved))
            else:
                total += repeated_in_scans(inner, policy)
    return total


def segment_counts(jaxpr: ir.Jaxpr) -> list[int]:
    """Return the numbers of segments to try for a jaxpr."""
    # The numbers grow by about a third to a half, as the costs change little between close ones.
    most = max(1, len(inlined(jaxpr).eqns) // _SHORTEST)
    return [n for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if n <= most]


def _costs(jaxpr: ir.Jaxpr, policy: CostlySaved, nonzeros: Sequence[bool]) -> _Linear:
    if not any(nonzeros):
        return _Linear(SegmentCosts(0, 0, 0, 0, 0, 0.0), (False,) * len(jaxpr.outvars))
    linear = ad.linearize_jaxpr(jaxpr, nonzeros)
    residuals = {*linear.tangent.invars[: len(linear.residuals)]}
    plan = remat_plan(linear.forward, policy, [*residuals])
    saved = {*plan.saved}
    hosted = ir.values_on_host(linear.forward.replace(eqns=plan.first))
    # Arguments are kept anyhow and cost nothing more.
    arguments = {*linear.forward.all_invars}
    size = lambda values: sum(map(size_in_bytes, values))
    # A policy for each level of cost repeats many of the same equations.
    estimated: dict[int, float] = linear.forward.derived(
        "operations", lambda: {id(eqn): operations(eqn) for eqn in linear.forward.eqns}
    )
    costs = SegmentCosts(
        crossing=0,
        residuals=size(residuals - arguments - hosted),
        saved=size(saved - arguments - hosted),
        moved=size(saved & hosted),
        moved_in_scans=size(residuals & hosted),
        again=sum([estimated.get(id(eqn)) or operations(eqn) for eqn in plan.again]),
    )
    return _Linear(costs, linear.nonzeros)


def _structure(segment: ir.Jaxpr, numbers: Sequence[int]) -> tuple[Any, ...]:
    """The operations of a segment, and the values that each reads: equal for equal layers.

    Args:
      segment: the segment.
      numbers: those of its operations.
    """
    places = {var: i for i, var in enumerate(segment.invars)}
    read = lambda atoms: tuple([places[x] if type(x) is ir.Var else -1 for x in atoms])
    operands: list[tuple[int, ...]] = []
    for eqn in segment.eqns:
        operands.append(read(eqn.invars))
        for var in eqn.outvars:
            places[var] = len(places)
    return (*numbers, *operands, read(segment.outvars))


def _segments(jaxpr: ir.Jaxpr, count: int) -> list[_Segment]:
    """Cut a jaxpr, where few bytes cross."""
    last_use, crossing, computed = jaxpr.derived("lifetimes of results", lambda: _lifetimes(jaxpr))
    end = len(jaxpr.eqns)
    cuts = [0, *_cuts(crossing, computed, count), end]
    segments: list[_Segment] = []
    new = 0
    for start, stop in pairwise(cuts):
        eqns = jaxpr.eqns[start:stop]
        inner = {var for eqn in eqns for var in eqn.outvars}
        read = dict.fromkeys(a for eqn in eqns for a in eqn.invars if type(a) is ir.Var)
        invars = [var for var in read if var not in inner]
        # Results that a later segment or the caller reads.
        outvars = [v for eqn in eqns for v in eqn.outvars if last_use.get(v, -1) >= stop]
        piece = jaxpr.replace(
            constvars=[],
            consts=[],
            invars=invars,
            outvars=outvars,
            eqns=eqns,
            effects=ir.join_effects(eqn.effects for eqn in eqns),
        )
        segments.append(_Segment(piece, new))
        # A value that crosses several cuts is stored once.
        new = sum(map(size_in_bytes, outvars))
    return segments


def _lifetimes(jaxpr: ir.Jaxpr) -> tuple[dict[ir.Var, int], list[int], list[float]]:
    """Return the last use of each variable, and by place what crosses it and was computed before.

    Returns:
      The number of the equation that reads a variable last, or that of equations; the bytes of
      results that live across the place before an equation; the bytes of all results until there.
    """
    last_use: dict[ir.Var, int] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        last_use.update((atom, i) for atom in eqn.invars if type(atom) is ir.Var)
    end = len(jaxpr.eqns)
    last_use.update((atom, end) for atom in jaxpr.outvars if type(atom) is ir.Var)
    crossing = [0] * (end + 1)
    computed = [0.0] * (end + 1)
    change = [0] * (end + 2)
    for i, eqn in enumerate(jaxpr.eqns):
        sizes = [(size_in_bytes(var), last_use.get(var, i)) for var in eqn.outvars]
        computed[i + 1] = computed[i] + sum(size for size, _ in sizes)
        # A result crosses all places from after its equation up to its last use. Only the changes
        # are noted here and summed up below, which takes linear time.
        for size, last in sizes:
            change[i + 1] += size
            change[last + 1] -= size
    for i in range(1, end + 1):
        crossing[i] = crossing[i - 1] + change[i]
    return last_use, crossing, computed


def _cuts(crossing: Sequence[int], computed: Sequence[float], count: int) -> list[int]:
    """Choose the places of cuts: the fewest bytes cross them, and no segment computes too many.

    A segment computes at most half as much again as an equal part, unless a single equation does.
    """
    most = 1.5 * computed[-1] / count
    end = len(computed) - 1
    least = [0.0] * (end + 1)  # the bytes that cross the cuts up to a place, at least
    before = [0] * (end + 1)  # the cut before, for these
    # Cuts that may be the one before a place: a later one has more bytes than all earlier ones. The
    # first is the best, until it is too far away.
    candidates: deque[int] = deque()
    for i in range(1, end + 1):
        while candidates and least[candidates[-1]] > least[i - 1]:
            candidates.pop()
        candidates.append(i - 1)
        while candidates[0] < i - 1 and computed[i] - computed[candidates[0]] > most:
            candidates.popleft()
        before[i] = candidates[0]
        least[i] = least[before[i]] + crossing[i]
    cuts: list[int] = []
    place = before[end]
    while place:
        cuts.append(place)
        place = before[place]
    return cuts[::-1]
