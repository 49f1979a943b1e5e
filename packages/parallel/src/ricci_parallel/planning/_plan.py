"""A plan: the memory, communication and time of an executable on each device, and its text."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from ricci_ir import shown_file
from ricci_parallel.reports._collective import shown_bytes
from ricci_parallel.reports._report import Communication

from ._chips import Chip
from ._memory import Memory, Owner

__all__ = ["Plan", "StepTime", "Traffic"]

_SHOWN_OWNERS = 12
# Matches the path from an argument to one of its leaves.
_LEAF = re.compile(r"[\[.].*")


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that the collectives of one kind send over the same axes.

    Attributes:
      kind: the kind of collective, such as ``"all-gather"``.
      axes: the mesh axes that they go over; ``None`` for groups of devices that follow no axes.
      count: the number of collectives that run in a step.
      bytes: the bytes that each device sends in a step, at least, all iterations of loops counted.
      seconds: the estimated time; ``None`` for a chip whose bandwidth is unknown.
    """

    kind: str
    axes: tuple[Hashable, ...] | None
    count: int
    bytes: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class StepTime:
    """An estimate of a run's duration, in seconds, by the published figures of the chip.

    Attributes:
      compute: the operations, at the chip's peak for ``bfloat16``.
      memory: the bytes read and written, at the bandwidth of the chip's memory.
      communication: the bytes that each device sends, at the bandwidth of its links.

    Example:
      >>> from ricci.parallel import StepTime
      >>> time = StepTime(compute=2.0, memory=1.0, communication=0.5)
      >>> time.overlapped, time.serial
      (2.0, 2.5)
    """

    compute: float
    memory: float
    communication: float

    @property
    def overlapped(self) -> float:
        """The time if the three overlap: a lower bound."""
        return max(self.compute, self.memory, self.communication)

    @property
    def serial(self) -> float:
        """The time if computation and communication do not overlap."""
        return max(self.compute, self.memory) + self.communication


@dataclass(frozen=True, slots=True)
class Plan:
    """The memory, communication and time of an executable on each device. ``str`` is a report.

    Attributes:
      name: the executable's name.
      devices: the number of devices.
      device_kind: the runtime's name of them.
      chip: the published figures of the chip; ``None`` if it is not in the table.
      memory: the bytes on each device.
      owners: the lines and arguments that memory at its peak is due to, the largest first.
      traffic: the bytes that collectives send, by kind and mesh axes, the largest first.
      communication: each collective with its line.
      compiler_flops, compiler_bytes: the operations, and the bytes read and written, as the
        compiler counts them: the body of each loop once.
      flops: the operations with all iterations of loops: further ones are those of matrix products
        and convolutions in the text of the executable.
      bytes: the bytes that instructions read from the main memory and write there, in all
        iterations, by the executable's text. The compiler counts the memories on the chip as well.
      compiler_seconds: the compiler's own estimate, each loop's body once; ``None`` if it has none.
      time: the estimated time; ``None`` for a chip that is not in the table.
      unknown_loops: the number of loops whose length is unknown before they run, of which one
        iteration is counted.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.parallel import plan
      >>> x = ricci.ShapeDtypeStruct((64, 64), jnp.float32)
      >>> costs = plan(jnp.dot, x, x, topology="cpu:1")
      >>> costs.flops, costs.memory.arguments
      (524288.0, 32768)
    """

    name: str
    devices: int
    device_kind: str
    chip: Chip | None
    memory: Memory
    owners: tuple[Owner, ...]
    traffic: tuple[Traffic, ...]
    communication: Communication
    compiler_flops: float
    compiler_bytes: float
    flops: float
    bytes: float
    compiler_seconds: float | None
    time: StepTime | None
    unknown_loops: int

    @property
    def fits(self) -> bool | None:
        """Whether the executable fits into a device's published memory; ``None`` if unknown."""
        return None if self.chip is None else self.memory.total <= self.chip.memory

    def sent(self, *axes: Hashable) -> int:
        """Sum the bytes that each device sends in a step over exactly these axes, or over all."""
        return sum(row.bytes for row in self.traffic if not axes or row.axes == axes)

    def __str__(self) -> str:
        """Format a report: memory with its owners, communication, work and time."""
        return "\n".join([*_memory_lines(self), *_traffic_lines(self), *_time_lines(self)])


def _memory_lines(plan: Plan) -> list[str]:
    memory, chip = plan.memory, plan.chip
    of = ""
    if chip is not None:
        verdict = "fits" if plan.fits else "does not fit"
        of = f" of {shown_bytes(round(chip.memory))}: {verdict}"
    kind = plan.device_kind if chip is None else chip.name
    rows = [
        ("arguments", memory.arguments),
        ("results", memory.results - memory.donated),
        ("temporaries", memory.temporaries),
        ("code", memory.code),
    ]
    parts = ", ".join(f"{name} {shown_bytes(size)}" for name, size in rows)
    lines = [
        f"{plan.name} on {plan.devices} x {kind}",
        f"memory of each device (compiler): {shown_bytes(memory.total)}{of}",
        f"  {parts}",
        f"  at its peak (estimated: {shown_bytes(memory.live)} of results and temporaries):",
    ]
    rows = _by_argument(plan.owners)
    cells = [
        (
            shown_bytes(owner.bytes),
            owner.kind,
            f"{shown_file(owner.file, short=True)}:{owner.line}" if owner.line else "",
            owner.name,
            owner.shape + (f" and {owner.count - 1} more" if owner.count > 1 else ""),
        )
        for owner in rows[:_SHOWN_OWNERS]
    ]
    lines += _table(cells)
    hidden = rows[_SHOWN_OWNERS:]
    if hidden:
        lines.append(f"    {shown_bytes(sum(o.bytes for o in hidden))} in {len(hidden)} more rows")
    return lines


def _by_argument(owners: Sequence[Owner]) -> list[Owner]:
    """Merge the owners that are leaves of one argument."""
    merged: dict[object, Owner] = {}
    for owner in owners:
        whole = _LEAF.sub("", owner.name)
        key = whole if owner.kind == "argument" else owner
        first = merged.get(key)
        if first is None:
            merged[key] = replace(owner, name=whole) if owner.kind == "argument" else owner
        else:
            size, count = first.bytes + owner.bytes, first.count + owner.count
            merged[key] = replace(first, bytes=size, count=count)
    return sorted(merged.values(), key=lambda owner: -owner.bytes)


def _traffic_lines(plan: Plan) -> list[str]:
    if not plan.traffic:
        return ["no communication"]
    lines = [f"each device sends in a step (estimated): {shown_bytes(plan.sent())}"]
    cells = [
        (
            shown_bytes(row.bytes),
            row.kind,
            "over " + (", ".join(map(str, row.axes)) if row.axes else "groups of devices"),
            f"{row.count} times",
            "" if row.seconds is None else shown_seconds(row.seconds),
        )
        for row in plan.traffic
    ]
    return lines + _table(cells)


def _time_lines(plan: Plan) -> list[str]:
    lines = [
        f"work of each device: {plan.flops:.3g} operations, {shown_bytes(round(plan.bytes))} "
        f"read and written (compiler, each loop once: {plan.compiler_flops:.3g}, "
        f"{shown_bytes(round(plan.compiler_bytes))})"
    ]
    if plan.unknown_loops:
        lines.append(f"  {plan.unknown_loops} loops of unknown length are counted once")
    time = plan.time
    if time is None:
        return [*lines, f"no estimate of time: {plan.device_kind!r} is not in the table of chips"]
    return [
        *lines,
        f"time of a step (estimated, at published peaks): {shown_seconds(time.overlapped)} to "
        f"{shown_seconds(time.serial)}",
        f"  computation {shown_seconds(time.compute)}, memory {shown_seconds(time.memory)}, "
        f"communication {shown_seconds(time.communication)}",
    ]


def _table(cells: Sequence[Sequence[str]]) -> list[str]:
    if not cells:
        return []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "    " + "  ".join([row[0].rjust(widths[0]), *map(str.ljust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


def shown_seconds(seconds: float) -> str:
    """Format a time in a unit that leaves at most four digits.

    Example:
      >>> from ricci_parallel.planning._plan import shown_seconds
      >>> shown_seconds(0.0123), shown_seconds(2e-6)
      ('12.3 ms', '2.0 us')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 1e-6:.1f} us"
