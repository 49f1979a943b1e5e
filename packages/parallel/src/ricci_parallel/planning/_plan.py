"""``plan``: compile a function, without running it, to get its costs on each device."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, overload

import numpy as np

import ricci_xla as xla
from ricci_ir import ShapeDtypeStruct, call_with_arguments, html_table, shown_file
from ricci_parallel.reports._collective import shown_bytes
from ricci_parallel.reports._report import Communication
from ricci_pytree import tree_leaves, tree_map

from ._chips import Chip, chip_of
from ._live_ranges import entry_memory
from ._memory import Memory, Owner, live_buffers, memory_of, owners_of
from ._memory_planner import read
from ._work import work_of

__all__ = ["Plan", "StepTime", "Traffic", "plan"]

# Devices to plan for that need not exist; those of the process without it.
type Topology = xla.TopologyDescription | str | None

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
        # A kernel reads and writes memory while it computes, however collectives are scheduled.
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

    @property
    def rows(self) -> list[dict[str, object]]:
        """The lines and arguments that memory at its peak is due to, as data, the largest first."""
        return [asdict(owner) for owner in _by_argument(self.owners)]

    def __str__(self) -> str:
        """Format a report: memory with its owners, communication, work and time."""
        return "\n".join([*_memory_lines(self), *_traffic_lines(self), *_time_lines(self)])

    def _repr_html_(self) -> str:
        return html_table(self.rows, str(self))


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
        # The leaves of one argument, such as a model's parameters, are one row of the report.
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


@overload
def plan(f: Callable[..., Any], *, topology: Topology = None) -> Callable[..., Plan]: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def plan(
    f: Callable[..., Any], *args: object, topology: Topology = None, **kwargs: object
) -> Plan: ...
def plan(
    f: Callable[..., Any], *args: object, topology: Topology = None, **kwargs: object
) -> Plan | Callable[..., Plan]:
    """Compile a function for devices that may be absent, and return its costs on each.

    Args:
      f: a function of pytrees of arrays, jitted (with its shardings and donated arguments) or not.
      *args: its arguments: arrays, or descriptions ``ShapeDtypeStruct(shape, dtype, sharding=...)``
        with shardings over the devices, which may be those of a topology; or none: ``plan(f)(x)``
        is ``plan(f, x)``.
      topology: the topology to compile for, or its name. With a topology of one device,
        arguments need no shardings; else theirs must be of its devices.
      **kwargs: its keyword arguments.

    Returns:
      The plan; without arguments, a function of ``f``'s arguments that returns it. The sums of
      memory, and the work of a loop's first iteration, are the compiler's; see ``Plan`` for the
      estimates.

    Raises:
      TypeError: if ``f`` cannot be called.
      ValueError: if the arguments are not on devices of the topology.
      JaxRuntimeError: if the compiler cannot compile it, or finds that it takes too much memory.

    Example:
      The memory and work of a function on 16 devices, all absent:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.topologies import get_topology_desc, make_mesh
      >>> from ricci.parallel import plan
      >>> mesh = make_mesh(get_topology_desc("cpu:16"), (16,), ("data",))
      >>> sharded = ricci.NamedSharding(mesh, ricci.P("data"))
      >>> x = ricci.ShapeDtypeStruct((1600, 64), jnp.float32, sharding=sharded)
      >>> costs = plan(lambda x: jnp.sum(x * x, axis=0), x)
      >>> costs.memory.arguments  # bytes of each device
      25600
    """

    def plan(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        return _plan(f, args, kwargs, topology)

    return call_with_arguments(plan, f, args, kwargs)


def _plan(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], topology: Topology
) -> Plan:
    """Compile a call for a topology, and return its plan."""
    if isinstance(topology, str):
        topology = xla.get_topology_desc(topology)
    # On one device the sharding of an argument is known; on several it is the user's to choose.
    if topology is not None and len(topology.devices) == 1:
        args, kwargs = _on_device((args, kwargs), topology.devices[0])
    traced = xla.trace_call(f, args, kwargs)
    name = getattr(f, "__name__", None) or type(f).__name__
    if topology is not None:
        _check_devices(xla.devices_of(traced), topology, (args, kwargs), name)
    try:
        program = xla.compile_with_lines(traced)
    except xla.JaxRuntimeError as error:
        raise xla.JaxRuntimeError(_failure(name, str(error))) from None
    return _read(program, name)


def _read(program: xla.LocatedProgram, name: str) -> Plan:
    """Return the plan of an executable."""
    module, sources = read(program)
    report = Communication(sources.rows(), module.text)
    first = program.devices[0]
    chip = chip_of(first)
    on_chip = first.platform == "tpu"
    memory = entry_memory(module, on_chip)
    cost = program.executable.cost_analysis()
    work = work_of(module, sources.trips, on_chip)
    # A negative number is a count that XLA does not know.
    flops = max(0.0, cost.get("flops", 0.0))
    seconds = cost.get("optimal_seconds", 0.0)
    traffic = _traffic(report, chip, program.meshes)
    return Plan(
        name=name,
        devices=len(program.devices),
        device_kind=first.device_kind,
        chip=chip,
        memory=memory_of(program.executable, memory.peak.bytes),
        owners=owners_of(live_buffers(memory, module, sources)),
        traffic=traffic,
        communication=report,
        compiler_flops=flops,
        compiler_bytes=max(0.0, cost.get("bytes accessed", 0.0)),
        flops=flops + work.extra_flops,
        bytes=work.bytes,
        compiler_seconds=seconds if seconds > 0 else None,
        time=None
        if chip is None
        else StepTime(
            (flops + work.extra_flops) / chip.flops,
            work.bytes / chip.memory_bandwidth,
            # Collectives are taken to run one after another: along different axes they may overlap.
            sum(row.seconds or 0 for row in traffic),
        ),
        unknown_loops=work.unknown_loops,
    )


def _on_device(arguments: object, device: xla.Device) -> Any:
    """Replace arguments without sharding by descriptions on a device."""

    def describe(leaf: object) -> Any:
        shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
        if shape is None or dtype is None or _devices(leaf):
            return leaf
        return ShapeDtypeStruct(shape, dtype, sharding=xla.SingleDeviceSharding(device))

    return tree_map(describe, arguments)


def _devices(leaf: object) -> frozenset[xla.Device]:
    sharding = getattr(leaf, "sharding", None)
    return frozenset(sharding.device_set) if isinstance(sharding, xla.Sharding) else frozenset()


def _check_devices(
    devices: Sequence[xla.Device], topology: xla.TopologyDescription, arguments: object, name: str
) -> None:
    if set(devices) <= set(topology.devices):
        return
    advice = (
        "Describe them: ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec)), where "
        "mesh = ricci.experimental.topologies.make_mesh(topology, shape, names)."
    )
    if not any(map(_devices, tree_leaves(arguments))):
        raise ValueError(
            f"plan: no argument of {name} has a sharding, so that it would run on {devices[0]} and "
            f"not on the {len(topology.devices)} devices of the topology. {advice}"
        )
    raise ValueError(
        f"plan: the arguments of {name} are on {len(devices)} devices, such as {devices[0]}, which "
        f"are not those of the topology, such as {topology.devices[0]}. Each topology that is "
        f"described has its own devices; use one object for both. {advice}"
    )


def _failure(name: str, words: str) -> str:
    head = "\n".join(line[:300] for line in words.splitlines()[:6])
    if "RESOURCE_EXHAUSTED" not in words and "memory" not in words.lower():
        return f"plan: {name} cannot be compiled for these devices: {head}"
    return (
        f"plan: {name} takes more memory than a device has; the compiler reports: {head}\n"
        "Shard it over more devices, shard more of its arrays, or store less for the backward "
        "pass (ricci.checkpoint). A plan for chips with more memory shows what it takes."
    )


def _traffic(
    report: Communication, chip: Chip | None, meshes: Sequence[xla.Mesh]
) -> tuple[Traffic, ...]:
    """Sum the bytes that collectives send, by kind and axes, with the least time that they take."""
    groups: dict[tuple[str, tuple[Hashable, ...] | None], list[Any]] = {}
    for row in report:
        groups.setdefault((row.kind, row.axes), []).append(row)
    traffic = []
    for (kind, axes), rows in groups.items():
        sent = sum(row.bytes for row in rows)
        seconds = None
        if chip is not None:
            # A ring along an axis of the torus sends in both directions.
            links = min(chip.links, 2 * _torus_axes(axes, meshes))
            seconds = sent / (chip.link_bandwidth * links)
        # Rows of one instruction run together, and are counted once.
        runs = {row.instruction: row.times or 1 for row in rows}
        traffic.append(Traffic(kind, axes, sum(runs.values()), sent, seconds))
    return tuple(sorted(traffic, key=lambda row: -row.bytes))


def _torus_axes(axes: tuple[Hashable, ...] | None, meshes: Sequence[xla.Mesh]) -> int:
    """Count the physical axes along which devices of some mesh axes differ; at least 1."""
    for mesh in meshes:
        if axes is None or not set(axes) <= set(mesh.axis_names):
            continue
        # One group of the devices that communicate: those that differ in these axes alone.
        inside = tuple(slice(None) if name in axes else 0 for name in mesh.axis_names)
        group = np.atleast_1d(mesh.devices[inside]).ravel()
        places = [tuple(getattr(device, "coords", ())) for device in group]
        return max(1, sum(len(set(line)) > 1 for line in zip(*places, strict=True)))
    return 1
