"""Rewrites of a differentiated function that ``fit_memory`` chooses from, with estimated costs.

The cost of a rewrite is the time that it adds, in operations: those that are repeated, the traffic
of residuals, and of transfers to the host what takes longer than the computation beside them.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import ricci_ir as ir
import ricci_lax.recomputation as rc
from ricci_xla import Device

from ._chips import chip_of

_IN_PIECES = 6  # choices of recomputation for each number of pieces, at most
_LEVELS = 5  # costs from which on results are saved, at most
# The operations that take as long as writing a byte of a residual and reading it. On a CPU 0 to 12
# explain the step times of integration/memory_programs; a GPU has more for each byte.
_TRAFFIC = 4.0
# The operations of a forward and a backward pass over those of the forward pass.
_BOTH_PASSES = 3.0

type Rewrite = rc.Recomputation | rc.BatchPieces


class Choice[R: Rewrite](NamedTuple):
    """A rewrite with its costs, as estimated.

    Attributes:
      rewrite: the rewrite.
      again: the operations that are repeated.
      bytes: the most bytes of residuals in the device's memory at a time.
      cost: the time that it adds, in operations.
    """

    rewrite: R
    again: float
    bytes: float
    cost: float


def host_operations(devices: Sequence[Device]) -> float:
    """Return the operations that take as long as moving a byte to the host's memory and back.

    Infinite for devices that share the host's memory, as CPUs do, or whose link is unknown.
    """
    chip = None if devices[0].platform == "cpu" else chip_of(devices[0])
    return math.inf if chip is None else 2 * chip.flops / chip.host_bandwidth


def step_cost(forward: float, residuals: float) -> float:
    """Estimate the cost of a function's forward and backward pass as it stands, in operations.

    Args:
      forward: the operations of its forward pass.
      residuals: the bytes of its residuals.
    """
    return _BOTH_PASSES * forward + _TRAFFIC * residuals


def choices_in_pieces(
    jaxpr: ir.Jaxpr,
    arguments: int,
    residuals: float,
    recomputing: Sequence[Choice[rc.Recomputation]],
) -> tuple[list[Choice[rc.BatchPieces]], str]:
    """List the rewrites that run the batch of a differentiated function in pieces.

    Args:
      jaxpr: the jaxpr of the function.
      arguments: the number of its arguments, its last inputs.
      residuals: the bytes of its residuals.
      recomputing: choices that recompute residuals of the whole batch, the cheapest first. Each
        piece may do so, too.

    Returns:
      The rewrites, of the fewest pieces first, and why there are none.
    """
    refusal, fewer = "", _with_fewer_bytes([c for c in recomputing if not c.rewrite.on_host])
    for size in rc.batch_sizes(jaxpr, arguments):
        counts = [count for count in range(2, size + 1) if size % count == 0]
        try:
            rc.PiecedLoss(jaxpr, arguments, size, counts[0])
        except rc.NotInPiecesError as error:
            refusal = refusal or f" A batch of {size} cannot be run in pieces: {error}."
            continue
        spaced: list[int] = []
        for count in counts:
            if not spaced or count >= 2 * spaced[-1]:
                spaced.append(count)
        # They are taken after all that recompute alone: a loop over few rows may be slow.
        choices: list[Choice[rc.BatchPieces]] = []
        for count in spaced:
            pieces = rc.BatchPieces(size, count)
            choices.append(Choice(pieces, 0.0, residuals / count, math.inf))
            for whole in fewer[:: -(-len(fewer) // _IN_PIECES) or 1]:
                pieces = rc.BatchPieces(size, count, whole.rewrite)
                choices.append(Choice(pieces, whole.again, whole.bytes / count, math.inf))
        return choices, ""
    return [], refusal


def promising(choices: Sequence[Choice[rc.Recomputation]]) -> list[Choice[rc.Recomputation]]:
    """Return the choices to be traced, the cheapest first.

    They are the ones that have fewer bytes than all that are cheaper; and, as the estimate of bytes
    is rough, those of the fewest bytes for each number of segments, the cheapest and the one that
    recomputes most.
    """
    by_cost = sorted(choices, key=lambda choice: (choice.cost, choice.bytes))
    promising = {*_with_fewer_bytes(by_cost)}
    for order in (
        lambda choice: (choice.bytes, choice.cost),
        lambda choice: (choice.bytes, -choice.rewrite.recomputed),
    ):
        smallest: dict[tuple[int, bool, bool], Choice[rc.Recomputation]] = {}
        for choice in sorted(choices, key=order):
            change = choice.rewrite
            smallest.setdefault((change.segments, change.scans, change.on_host), choice)
        promising |= {*smallest.values()}
    return sorted(promising, key=lambda choice: choice.cost)


def _with_fewer_bytes(
    choices: Sequence[Choice[rc.Recomputation]],
) -> list[Choice[rc.Recomputation]]:
    """Return the choices that have fewer bytes than all before them."""
    fewer: list[Choice[rc.Recomputation]] = []
    for choice in choices:
        if not fewer or choice.bytes < fewer[-1].bytes:
            fewer.append(choice)
    return fewer


def recomputations(
    jaxpr: ir.Jaxpr, nonzeros: Sequence[bool], host: float = math.inf
) -> tuple[float, float, list[Choice[rc.Recomputation]]]:
    """List rewrites of a differentiated function that recompute residuals.

    Args:
      jaxpr: its jaxpr.
      nonzeros: for each of its last inputs, whether it is differentiated with respect to that.
      host: the operations that take as long as moving a byte to the host and back; infinite where
        nothing is to be moved.

    Returns:
      The bytes of its residuals and the operations of its forward pass, and the rewrites with their
      costs. Where a ``shard_map`` or a ``cond`` holds the layers, those of its jaxpr with the most.
    """
    of_bodies = rc.read_bodies(
        jaxpr, nonzeros, lambda body, needed: recomputations(body, needed, host)
    )
    if of_bodies:
        return max(of_bodies, key=lambda result: result[0])
    whole = rc.SegmentedFunction(jaxpr, 1)
    nothing = rc.CostlySaved(math.inf)
    residuals = sum(cost.residuals for cost in whole.costs(nothing, nonzeros))
    forward = sum(map(rc.operations, whole.jaxpr.eqns))
    levels = sorted(rc.costs_per_byte(jaxpr))
    levels = levels[:: -(-len(levels) // _LEVELS)] if levels else []
    policies = [
        rc.CostlySaved(least, on_host)
        for on_host in ((False, True) if host < math.inf else (False,))
        for least in [*levels, math.inf]
    ]
    choices = []
    for scans in {False, rc.has_scans(jaxpr)}:
        seen: set[tuple[int, ...]] = set()
        for count in rc.segment_counts(jaxpr):
            segmented = rc.SegmentedFunction(jaxpr, count)
            # Numbers of segments with the same cuts up to the last checkpoint are one choice.
            # Checkpoints in scans change no cut.
            prefixes = [
                segmented.lengths[:recomputed]
                for recomputed in range(0 if scans else 1, len(segmented.lengths) + 1)
            ]
            new = [len(prefix) for prefix in prefixes if prefix not in seen]
            seen.update(prefixes)
            for policy in policies if new else ():
                pieces = rc.SegmentedFunction(jaxpr, count, policy) if scans else segmented
                costs = pieces.costs(policy, nonzeros)
                in_scans = rc.repeated_in_scans(jaxpr, policy) if scans else 0.0
                for recomputed in new:
                    change = rc.Recomputation(
                        count, recomputed, policy.least, scans, policy.on_host
                    )
                    again, size, moved = _estimate(costs, recomputed)
                    again += in_scans
                    cost = again + _TRAFFIC * size
                    if moved:
                        # Transfers run beside the computation.
                        cost += max(0.0, host * moved - _BOTH_PASSES * forward - cost)
                    elif policy.on_host:
                        continue
                    choices.append(Choice(change, again, size, cost))
    return residuals, forward, choices


def _estimate(costs: Sequence[rc.SegmentCosts], recomputed: int) -> tuple[float, float, float]:
    """Estimate the costs of recomputing the first segments.

    The backward pass begins with what is saved of all segments, and goes from the last one to the
    first; in each, its residuals stand beside what is saved of those before it.

    Returns:
      The operations that are repeated, the most bytes of residuals on the device at a time, and the
      bytes that are moved to the host.
    """
    stored = [
        c.saved + (0 if c.moved else c.crossing) if i < recomputed else c.crossing + c.residuals
        for i, c in enumerate(costs)
    ]
    before = [0, *accumulate(stored)]
    during = [
        before[i] + c.crossing + (c.residuals if i < recomputed else 0) for i, c in enumerate(costs)
    ]
    moved = sum(c.moved for c in costs[:recomputed]) + sum(c.moved_in_scans for c in costs)
    again = sum(c.again for c in costs[:recomputed])
    return again, max(before[-1], *during), moved
