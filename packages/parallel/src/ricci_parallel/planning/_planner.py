"""``plan``: compile a function, without running it, to get its costs on each device."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

import ricci_xla as xla
from ricci_ir import ShapeDtypeStruct
from ricci_parallel.reports._report import Communication
from ricci_pytree import tree_leaves, tree_map

from ._chips import Chip, chip_of
from ._live_ranges import entry_memory
from ._memory import live_buffers, memory_of, owners_of
from ._plan import Plan, StepTime, Traffic
from ._reading import read
from ._work import work_of

__all__ = ["plan"]


def plan(
    f: Callable[..., Any],
    *args: object,
    topology: xla.TopologyDescription | str | None = None,
    **kwargs: object,
) -> Plan:
    """Compile a function for devices that may be absent, and return its costs on each.

    Args:
      f: a function of pytrees of arrays, jitted (with its shardings and donated arguments) or not.
      *args: its arguments: arrays, or descriptions ``ShapeDtypeStruct(shape, dtype, sharding=...)``
        with shardings over the devices, which may be those of a topology.
      topology: the topology to compile for, or its name. With a topology of one device,
        arguments need no shardings; else theirs must be of its devices.
      **kwargs: its keyword arguments.

    Returns:
      The plan. The sums of memory, and the work of a loop's first iteration, are the compiler's;
      see ``Plan`` for the estimates.

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
    if not callable(f):
        raise TypeError(f"plan expects a function, got {f!r:.60} of type {type(f).__name__}.")
    if isinstance(topology, str):
        topology = xla.get_topology_desc(topology)
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
            links = min(chip.links, 2 * _torus_axes(axes, meshes))
            seconds = sent / (chip.link_bandwidth * links)
        runs = {row.instruction: row.times or 1 for row in rows}
        traffic.append(Traffic(kind, axes, sum(runs.values()), sent, seconds))
    return tuple(sorted(traffic, key=lambda row: -row.bytes))


def _torus_axes(axes: tuple[Hashable, ...] | None, meshes: Sequence[xla.Mesh]) -> int:
    """Count the physical axes along which devices of some mesh axes differ; at least 1."""
    for mesh in meshes:
        if axes is None or not set(axes) <= set(mesh.axis_names):
            continue
        inside = tuple(slice(None) if name in axes else 0 for name in mesh.axis_names)
        group = np.atleast_1d(mesh.devices[inside]).ravel()
        places = [tuple(getattr(device, "coords", ())) for device in group]
        return max(1, sum(len(set(line)) > 1 for line in zip(*places, strict=True)))
    return 1
