"""What rank 0 concludes from the signs of all processes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ._meeting import Member
from ._signs import Sign

_SHOWN = 6  # processes that a message names
# Seconds after which processes that are about to begin a program, while the others wait in another
# one, count as waiting for each other. They may also be the faster ones, so it is no short time.
_JOINING = 60.0


class Heard(NamedTuple):
    """The newest sign of a process.

    Attributes:
      member: the process.
      sign: what it was doing.
      age: how long ago it was heard, in seconds.
      gone: whether its connection has ended.
    """

    member: Member
    sign: Sign
    age: float = 0.0
    gone: bool = False


class Limits(NamedTuple):
    """After how many seconds a process counts as failed.

    Attributes:
      heartbeat: with no sign of life.
      stall: while others wait for it; ``None`` for never.
    """

    heartbeat: float
    stall: float | None


def judge(heard: Mapping[int, Heard], limits: Limits) -> str | None:
    """Say which processes have failed; ``None`` if none has.

    The first of these is told: an exception, a death, silence, an end while others wait for the
    process, and a stall. A process stalls the others if it has taken part in nothing for as long as
    they have waited; or all wait for each other, at different lines.

    Args:
      heard: what was last heard of each process, by rank.
      limits: the time limits.
    """
    everyone = list(heard.values())
    if failed := [h for h in everyone if h.sign.failed]:
        return _join(f"{h.member} failed at {h.sign.line}: {h.sign.failed}" for h in failed)
    if gone := [h for h in everyone if h.gone]:
        return _join(f"{h.member} died. It was last seen at {h.sign.line}" for h in gone)
    if silent := [h for h in everyone if h.age > limits.heartbeat]:
        return _join(
            f"{h.member} has given no sign of life for {h.age:.0f} s: it is stopped, or its "
            f"machine or network is down. It was last seen at {h.sign.line}"
            for h in silent
        )
    return None if limits.stall is None else _stalled(everyone, limits.stall)


def _stalled(everyone: Sequence[Heard], limit: float) -> str | None:
    waiting = [h for h in everyone if h.sign.waiting and h.sign.waiting + h.age > limit]
    late = [h for h in everyone if h.sign.waiting == 0 and h.sign.apart + h.age > limit]
    if waiting and late:
        return "\n".join(
            [
                *(f"{h.member} {_absence(h)} Others wait for it." for h in late[:_SHOWN]),
                *_places(waiting),
            ]
        )
    # A process that is about to begin a program has no part in those that the others wait for.
    soon = min(limit, _JOINING) if any(h.sign.joining for h in everyone) else limit
    if all(h.sign.waiting and h.sign.waiting + h.age > soon for h in everyone) and _differ(
        everyone
    ):
        return "\n".join(["The processes wait for each other:", *_places(everyone)])
    return None


def _differ(some: Sequence[Heard]) -> bool:
    return len({(h.sign.line, h.sign.joining) for h in some}) > 1


def _absence(late: Heard) -> str:
    if late.sign.ended:
        return "has come to the end of its script."
    return (
        f"has taken part in nothing with the others for {late.sign.apart + late.age:.0f} s. It is "
        f"at {late.sign.line}."
    )


def _places(waiting: Sequence[Heard]) -> list[str]:
    """The lines at which processes wait, with those that wait at each."""
    by_line: dict[str, list[int]] = {}
    for one in waiting:
        place = f"{one.sign.line}, for {one.sign.joining}" if one.sign.joining else one.sign.line
        by_line.setdefault(place, []).append(one.member.rank)
    return [
        f"Waiting at {line}: rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:_SHOWN]))}"
        + (f" and {len(ranks) - _SHOWN} more." if len(ranks) > _SHOWN else ".")
        for line, ranks in list(by_line.items())[:_SHOWN]
    ]


def _join(sentences: Iterable[str]) -> str:
    found = list(sentences)
    more = [f"and {len(found) - _SHOWN} more processes"] if len(found) > _SHOWN else []
    return "\n".join(f"{sentence.rstrip('.')}." for sentence in [*found[:_SHOWN], *more])
