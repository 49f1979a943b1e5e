"""Reader of jaxlib's profile: the main thread's calls in C++, and the devices' operations."""

import bisect
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ricci_xla.profiler import ProfileData

from ._spans import Span, disjoint

# The event by which the clock of the profile is compared with ``perf_counter_ns``.
CLOCK = "ricci.profile clock"

_CALL = re.compile(r"PjitFunction\((.*)\)")
_TRANSFER = re.compile(
    r"DevicePut|BufferFromHost|LinearizeInto|ToLiteral|CopyRawToHost|CopyToDevice|TransferTo|"
    r"TransferFrom|CopyToHost"
)
_LAUNCH = "ExecuteHelper"


class Operation(NamedTuple):
    """An operation of an executable on a device.

    Attributes:
      module, name: the module and the operation in it.
      run: the run of the module that it belongs to.
      start, end: its times.
      self_time: its time without that of operations inside, in nanoseconds.
    """

    module: str
    name: str
    run: str
    start: int
    end: int
    self_time: int


class Run(NamedTuple):
    """A run of an executable, and the time of its launch (0 if that is unknown)."""

    module: str
    start: int
    end: int
    launched: int


class Runtime(NamedTuple):
    """The contents of a profile.

    Attributes:
      host: the activities of the main thread: spans of kinds ``launch`` and ``transfer``.
      operations: the operations of all devices.
      runs: the runs of executables, in order.
    """

    host: list[Span]
    operations: list[Operation]
    runs: list[Run]


class _Event(NamedTuple):
    name: str
    start: int
    end: int
    facts: dict[str, Any]


def read_profile(data: ProfileData) -> Runtime:
    """Read a profile.

    Raises:
      ValueError: if it has no event ``CLOCK``.
    """
    threads = [list(_events(line)) for plane in data.planes for line in plane.lines]
    for events in threads:
        # Each event got the time a moment before it began; the shortest moment counts.
        clocks = [int(event.facts["t"]) - event.start for event in events if event.name == CLOCK]
        if clocks:
            return _read(threads, events, max(clocks))
    raise ValueError(f"the profile has no event {CLOCK!r}")


def _events(line: Any) -> Iterator[_Event]:
    for event in line.events:
        name = event.name
        if name.startswith("end: "):
            continue
        start = int(event.start_ns)
        yield _Event(name, start, start + int(event.duration_ns), dict(event.stats))


def _read(threads: list[list[_Event]], main: list[_Event], offset: int) -> Runtime:
    operations = [op for events in threads for op in _operations(events, offset)]
    calls = [
        (event.start + offset, event.end + offset, match[1])
        for event in main
        if (match := _CALL.fullmatch(event.name))
    ]
    launches = sorted(event.start + offset for event in main if _LAUNCH in event.name)
    host = [Span(start, end, "launch") for start, end, _ in calls]
    host += [
        Span(event.start + offset, event.end + offset, "transfer")
        for event in main
        if _TRANSFER.search(event.name)
    ]
    return Runtime(host, operations, _runs(operations, calls, launches))


def _operations(events: Iterable[_Event], offset: int) -> list[Operation]:
    """Return the operations of one thread or stream, each with its exclusive time."""
    ordered = sorted(
        (event for event in events if "hlo_op" in event.facts), key=lambda e: (e.start, -e.end)
    )
    # Events of a thread nest. The stack ``open_`` holds those that have not ended when the next one
    # starts; its last one is the parent, from whose time the event's is taken.
    inside = [0] * len(ordered)
    open_: list[int] = []
    for i, event in enumerate(ordered):
        while open_ and ordered[open_[-1]].end <= event.start:
            open_.pop()
        if open_:
            inside[open_[-1]] += event.end - event.start
        open_.append(i)
    return [
        Operation(
            str(event.facts.get("hlo_module", "")),
            str(event.facts["hlo_op"]),
            f"{event.facts.get('program_id')} {event.facts.get('run_id')}",
            event.start + offset,
            event.end + offset,
            max(0, event.end - event.start - inner),
        )
        for event, inner in zip(ordered, inside, strict=True)
    ]


def _runs(
    operations: Iterable[Operation], calls: list[tuple[int, int, str]], launches: list[int]
) -> list[Run]:
    """Return the runs, each with its launch: the first of that module that has no run yet."""
    groups: dict[str, list[Operation]] = defaultdict(list)
    for op in operations:
        groups[op.run].append(op)
    # Devices run the modules of a queue in the order of their launches. So the oldest launch of a
    # module that has no run yet belongs to its next run, unless it is later than that.
    starts = [start for start, _, _ in calls]
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for time in launches:
        i = bisect.bisect_right(starts, time) - 1
        inside = i >= 0 and time <= calls[i][1]
        waiting[calls[i][2] if inside else ""].append(time)
    runs = []
    for ops in sorted(groups.values(), key=lambda ops: min(op.start for op in ops)):
        module, start = ops[0].module, min(op.start for op in ops)
        name = module.removeprefix("jit_")
        queue = waiting[name] or waiting[""]
        launched = queue.popleft() if queue and queue[0] <= start else 0
        runs.append(Run(module, start, max(op.end for op in ops), launched))
    return runs


def busy(runtime: Runtime) -> list[Span]:
    """Return the spans in which any device was busy."""
    return disjoint((Span(r.start, r.end, "run") for r in runtime.runs), ["run"])
