"""Heartbeats, each a process's line and how long it has waited, and detection of failures.

The watching thread takes a heartbeat at intervals. Nothing is counted when executables run, so
that a step costs nothing more: its arrays show whether this process waits for others. A
result over several processes that stays unready for long is waited for; a process that has
none has not begun the executable that the others are in.

Rank 0 works on the heartbeats of all processes.
"""

import os
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, final

import numpy as np

from ricci_ir import Array, is_internal_module
from ricci_xla import backends, backends_are_made

from ._rendezvous import Member

# The folders of the standard library and installed packages, whose lines tell a user little.
_LIBRARIES = (os.path.dirname(os.__file__), os.path.dirname(np.__path__[0]), "<frozen")
_SCRIPT_ENDED = "the end of the script"


class Heartbeat(NamedTuple):
    """The state of a process.

    Attributes:
      rank: its number.
      line: the line of its main thread, such as ``train.py:24 in step``.
      waiting: for how many seconds it has waited for other processes; 0 if it does not.
      idle_seconds: for how many seconds it has taken part in nothing with other processes.
      joining: the thing that it waits for the others to begin as well, or ``""``.
      ended: whether its script has come to its end.
      failed: the exception that has ended it, or ``""``.
    """

    rank: int
    line: str
    waiting: float = 0.0
    idle_seconds: float = 0.0
    joining: str = ""
    ended: bool = False
    failed: str = ""


def located(frame: FrameType, line: int) -> str:
    """Format a line of a program, such as ``train.py:24 in step``."""
    return f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"


def described(frame: FrameType | None) -> str:
    """Return the innermost line of the user's code in a stack, such as ``train.py:24 in step``.

    A stack without one, as of a thread that only waits, is described by its innermost line.
    """
    inner = frame
    while frame is not None and not _is_of_user(frame):
        frame = frame.f_back
    frame = frame or inner
    return _SCRIPT_ENDED if frame is None else located(frame, frame.f_lineno)


def _is_of_user(frame: FrameType) -> bool:
    if is_internal_module(frame.f_globals.get("__name__")):
        return False
    return not frame.f_code.co_filename.startswith(_LIBRARIES)


def main_thread_line() -> str:
    """Return the line of this process's main thread."""
    return described(sys._current_frames().get(threading.main_thread().ident or 0))


@final
class Observer:
    """Takes the heartbeats of this process.

    Args:
      rank: its number.
    """

    def __init__(self, rank: int):
        self.rank = rank
        self.ended = False
        self.failed = ""
        self.failed_at = ""
        self._in_wait: float | None = None  # when this process began to wait in `waiting`
        self._joining = ""
        # When each result that is not ready was first seen, by its identity.
        self._seen: dict[int, tuple[weakref.ref[Array], float]] = {}
        self._together = time.monotonic()  # when it last took part in something with others

    @property
    def in_wait(self) -> bool:
        """Whether the main thread is inside a `waiting` block."""
        return self._in_wait is not None

    def heartbeat(self) -> Heartbeat:
        """Return the state of this process now."""
        now = time.monotonic()
        since = self._oldest(_unready(), now)
        if self._in_wait is not None:
            since = min(self._in_wait, since or now)
        if since is not None:
            self._together = now
        return Heartbeat(
            self.rank,
            self.failed_at or main_thread_line(),
            0.0 if since is None else now - since,
            now - self._together,
            self._joining,
            self.ended,
            self.failed,
        )

    def _oldest(self, unready: Iterable[Array], now: float) -> float | None:
        """Return the time since which the oldest unready result has been unready."""
        seen: dict[int, tuple[weakref.ref[Array], float]] = {}
        for array in unready:
            entry = self._seen.get(id(array))
            # Another array may have got the id of one that was freed; the weak reference tells.
            if entry is None or entry[0]() is not array:
                entry = (weakref.ref(array), now)
            seen[id(array)] = entry
        self._seen = seen
        return min((since for _, since in seen.values()), default=None)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Mark this process as waiting for others inside the block, where no array shows it."""
        self._in_wait = time.monotonic()
        try:
            yield
        finally:
            self._in_wait = None

    @contextmanager
    def joining(self, what: str) -> Iterator[None]:
        """Mark this process as waiting for others to begin something inside the block."""
        self._joining = what
        try:
            with self.waiting():
                yield
        finally:
            self._joining = ""


def _unready() -> Iterator[Array]:
    """Yield the arrays over several processes that are not computed yet."""
    if not backends_are_made():
        return
    for client in backends().values():
        for array in client.live_arrays():
            if not _is_ready(array) and _is_shared(array):
                yield array


def _is_ready(array: Array) -> bool:
    try:
        return array.is_deleted() or array.is_ready()
    except RuntimeError:  # deleted or donated in between, or its computation failed
        return True


def _is_shared(array: Array) -> bool:
    sharding = array.sharding
    return sharding.num_devices > 1 and not sharding.is_fully_addressable


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
    # In the order of causes: a process that failed also ends its connection, then gives no
    # heartbeats, and the others wait for it.
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
