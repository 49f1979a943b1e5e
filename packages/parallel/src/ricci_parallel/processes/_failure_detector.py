"""The failure detector of rank 0, which works on the heartbeats of all processes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ._heartbeat import Heartbeat
from ._rendezvous import Member

_SHOWN = 6  # processes that a message names
# Seconds after which processes that are about to begin an executable, while the others wait in
# another one, count as waiting for each other. They may also be the faster ones, so it is long.
_JOINING = 60.0


class LastHeartbeat(NamedTuple):
    """The newest heartbeat of a process.

    Attributes:
      member: the process.
      heartbeat: its state then.
      age: the seconds since then.
      gone: whether its connection has ended.
    """

    member: Member
    heartbeat: Heartbeat
    age: float = 0.0
    gone: bool = False


class Limits(NamedTuple):
    """Time limits, in seconds, after which a process counts as failed.

    Attributes:
      heartbeat: without a heartbeat.
      stall: while others wait for it; ``None`` for never.
    """

    heartbeat: float
    stall: float | None


def detect_failures(heartbeats: Mapping[int, LastHeartbeat], limits: Limits) -> str | None:
    """Describe the processes that have failed; ``None`` if none has.

    The first of these is reported: an exception, a death, silence, an end while others wait for the
    process, and a stall. A process stalls the others if it has taken part in nothing for as long as
    they have waited; or all wait for each other, at different lines.

    Args:
      heartbeats: the last heartbeat of each process, by rank.
      limits: the time limits.
    """
    processes = list(heartbeats.values())
    if failed := [h for h in processes if h.heartbeat.failed]:
        return _join(
            f"{h.member} failed at {h.heartbeat.line}: {h.heartbeat.failed}" for h in failed
        )
    if gone := [h for h in processes if h.gone]:
        return _join(f"{h.member} died. It was last seen at {h.heartbeat.line}" for h in gone)
    if silent := [h for h in processes if h.age > limits.heartbeat]:
        return _join(
            f"{h.member} has given no sign of life for {h.age:.0f} s: it is stopped, or its "
            f"machine or network is down. It was last seen at {h.heartbeat.line}"
            for h in silent
        )
    return None if limits.stall is None else _stalled(processes, limits.stall)


def _stalled(processes: Sequence[LastHeartbeat], limit: float) -> str | None:
    waiting = [h for h in processes if h.heartbeat.waiting and h.heartbeat.waiting + h.age > limit]
    late = [
        h
        for h in processes
        if h.heartbeat.waiting == 0 and h.heartbeat.idle_seconds + h.age > limit
    ]
    if waiting and late:
        return "\n".join(
            [
                *(f"{h.member} {_absence(h)} Others wait for it." for h in late[:_SHOWN]),
                *_places(waiting),
            ]
        )
    # A process about to begin an executable has no part in those that the others wait for.
    soon = min(limit, _JOINING) if any(h.heartbeat.joining for h in processes) else limit
    if all(
        h.heartbeat.waiting and h.heartbeat.waiting + h.age > soon for h in processes
    ) and _differ(processes):
        return "\n".join(["The processes wait for each other:", *_places(processes)])
    return None


def _differ(processes: Sequence[LastHeartbeat]) -> bool:
    return len({(h.heartbeat.line, h.heartbeat.joining) for h in processes}) > 1


def _absence(late: LastHeartbeat) -> str:
    if late.heartbeat.ended:
        return "has come to the end of its script."
    idle = late.heartbeat.idle_seconds + late.age
    return (
        f"has taken part in nothing with the others for {idle:.0f} s. It is "
        f"at {late.heartbeat.line}."
    )


def _places(waiting: Sequence[LastHeartbeat]) -> list[str]:
    """List the lines at which processes wait, with the ranks at each."""
    by_line: dict[str, list[int]] = {}
    for one in waiting:
        place = (
            f"{one.heartbeat.line}, for {one.heartbeat.joining}"
            if one.heartbeat.joining
            else one.heartbeat.line
        )
        by_line.setdefault(place, []).append(one.member.rank)
    return [
        f"Waiting at {line}: rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:_SHOWN]))}"
        + (f" and {len(ranks) - _SHOWN} more." if len(ranks) > _SHOWN else ".")
        for line, ranks in list(by_line.items())[:_SHOWN]
    ]


def _join(sentences: Iterable[str]) -> str:
    lines = list(sentences)
    more = [f"and {len(lines) - _SHOWN} more processes"] if len(lines) > _SHOWN else []
    return "\n".join(f"{sentence.rstrip('.')}." for sentence in [*lines[:_SHOWN], *more])
