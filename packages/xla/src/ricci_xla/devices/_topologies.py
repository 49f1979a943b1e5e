"""Topologies: descriptions of devices that are not attached, to compile for and measure.

A topology's devices belong to a client that can compile and cannot run. libtpu creates them for any
TPU, and the CUDA plugin for any NVIDIA GPU, on a machine without one and without its driver; jaxlib
itself creates any number of CPU devices.
"""

import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, final

from ._cpu_client import register_cpu_kernels
from ._jaxlib import jaxlib_version, load_xla_client, runtime
from ._listing import devices as attached_devices
from ._plugins import (
    find_cuda_plugin,
    find_libtpu,
    load_cuda_plugin,
    load_plugin,
    without_metadata_server,
)
from ._runtime_types import Device, JaxRuntimeError

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "is_described"]


@final
class TopologyDescription:
    """The devices of a machine, or of several, in their physical arrangement.

    Args:
      devices: the devices.

    Example:
      >>> from ricci.experimental.topologies import get_topology_desc
      >>> len(get_topology_desc("cpu:16").devices)
      16
    """

    __slots__ = ("devices",)

    def __init__(self, devices: Sequence[Device]):
        self.devices: list[Device] = list(devices)

    def __repr__(self) -> str:
        return f"TopologyDescription({self.devices})"


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The topology of the devices that are attached to this machine.

    Args:
      platform: the platform's name; without it, the default platform.

    Returns:
      The topology.

    Raises:
      RuntimeError: if there is no such platform.

    Example:
      >>> from ricci.experimental.topologies import get_attached_topology
      >>> get_attached_topology("cpu").devices[0]
      CpuDevice(id=0)
    """
    return TopologyDescription(attached_devices(platform))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: object
) -> TopologyDescription:
    """Describe devices that need not be attached, to compile for them.

    Args:
      topology_name: the kind of TPU and its chips along each axis, such as ``"v5e:2x2"``; the
        number of CPU devices, as ``"cpu:256"``; or a GPU, which is ``"a100"``, ``"h100"``,
        ``"h200"``, ``"b200"`` or ``"rtx4090"``, with the number of them in one process, as
        ``"h100:8"``, or of slices, processes in each and GPUs in each process, as ``"h100:1x2x8"``.
      platform: ``"tpu"``, ``"cpu"`` or ``"cuda"``; by default what the name is of, else TPUs.
      **kwargs: for CPUs ``num_devices``, the number of devices, if the name does not give it; for
        GPUs ``topology``, such as ``"1x2x8"``, if the name does not give it, and ``target_config``,
        XLA's description of a card that has no name here (a ``GpuTargetConfigProto`` as text); for
        TPUs further options of libtpu, such as ``chips_per_host_bounds=(2, 2, 1)``.

    Returns:
      The topology. Its devices make meshes and shardings; ``jit(f).lower(...)`` for descriptions of
      arrays with these shardings can be compiled and asked for its memory and cost, and not called.

    Raises:
      RuntimeError: if the package is not installed that compiles for the devices: ``libtpu`` or
        ``jax-cuda13-plugin``.
      JaxRuntimeError: if there is no such topology.
      ValueError: if the number of CPU devices or of GPUs is missing or is not one, or there is
        neither the name of a GPU nor its description.
      TypeError: if CPU devices are described by other options.
      NotImplementedError: for another platform.

    Example:
      A program for 16 devices, compiled without any of them:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P
      >>> from ricci.experimental.topologies import get_topology_desc, make_mesh
      >>> mesh = make_mesh(get_topology_desc("cpu:16"), (16,), ("x",))
      >>> sharding = ricci.NamedSharding(mesh, P("x"))
      >>> x = ricci.ShapeDtypeStruct((32, 8), jnp.float32, sharding=sharding)
      >>> compiled = ricci.jit(lambda x: x.sum(axis=0)).lower(x).compile()
      >>> compiled.input_shardings[0][0].shard_shape((32, 8))
      (2, 8)
    """
    name, colon, count = topology_name.partition(":")
    if platform == "cpu" or (platform is None and name == "cpu"):
        return TopologyDescription(_cpu_devices(_cpu_count(name, colon, count, kwargs)))
    from ._gpu_targets import GPU_CONFIGS  # noqa: PLC0415 - lazy: few programs describe devices

    if platform in ("cuda", "gpu") or (platform is None and name.lower() in GPU_CONFIGS):
        return TopologyDescription(_gpu_devices(GPU_CONFIGS, name.lower(), count, kwargs))
    if platform not in (None, "tpu"):
        raise NotImplementedError(
            f"get_topology_desc: platform={platform!r} is not supported, only 'tpu', 'cuda' and "
            "'cpu' are. Devices that are attached here are those of get_attached_topology."
        )
    with without_metadata_server():
        _load_libtpu()
        try:
            topology = load_xla_client().make_tfrt_tpu_c_api_device_topology(
                topology_name, **kwargs
            )
        except JaxRuntimeError as error:
            raise JaxRuntimeError(
                f"{error}\nget_topology_desc: topology_name={topology_name!r} is not a topology of "
                "this libtpu. Names are like 'v5e:2x2', 'v6e:4x4' and 'v5p:4x4x4'."
            ) from None
        return TopologyDescription(topology._make_compile_only_devices())


def _cpu_count(name: str, colon: str, count: str, options: dict[str, Any]) -> int:
    """The number of CPU devices by the arguments of ``get_topology_desc``."""
    unknown = options.keys() - {"num_devices"}
    if unknown:
        raise TypeError(
            f"get_topology_desc: {', '.join(sorted(unknown))} is not an option of CPU devices, "
            "which have num_devices only."
        )
    text = count if colon else "" if name == "cpu" else name
    requested = options.get("num_devices", text)
    try:
        number = int(requested) if isinstance(requested, str) else operator.index(requested)
    except (TypeError, ValueError):
        number = 0
    # The name and the option must not contradict each other.
    if number < 1 or (text and text != str(number)) or (colon and name != "cpu"):
        raise ValueError(
            f"get_topology_desc: topology_name={':'.join(filter(None, (name, count)))!r} and "
            f"num_devices={options.get('num_devices')!r} specify no number of CPU devices. Write "
            "topology_name='cpu:256', or platform='cpu' and num_devices=256."
        )
    return number


def _cpu_devices(count: int) -> list[Device]:
    register_cpu_kernels()
    attached = load_xla_client().make_cpu_client(num_devices=count).devices()
    serialized = runtime.get_topology_for_devices(attached).serialize()
    # A deserialized one does not keep that client alive, which has two threads a device.
    return runtime.DeviceTopology.deserialize(serialized)._make_compile_only_devices()


def _gpu_devices(
    configs: Mapping[str, str], name: str, count: str, options: Mapping[str, Any]
) -> list[Device]:
    """GPUs by the arguments of ``get_topology_desc``.

    Args:
      configs: descriptions of cards by their names.
      name: the card's name, or ``""``.
      count: the part of the topology's name behind the card's name.
      options: ``target_config``, the description of the card, by default the named one's;
        ``topology``, the numbers of slices, processes and GPUs, by default those of the name;
        further options of the plugin.
    """
    target_config = options.get("target_config") or configs.get(name, "")
    if not target_config:
        raise ValueError(
            f"get_topology_desc: {name!r} is not the name of a GPU. Names are "
            f"{', '.join(map(repr, configs))}; describe another card by target_config."
        )
    topology = options.get("topology") or count or "1"
    sizes = topology.split("x")
    if len(sizes) not in (1, 3) or not all(s.isdecimal() and int(s) > 0 for s in sizes):
        raise ValueError(
            f"get_topology_desc: {topology!r} is not a topology of GPUs. Write their number in one "
            "process, as '8', or the numbers of slices, processes in each and GPUs in each "
            "process, as '1x2x8'."
        )
    topology = topology if len(sizes) == 3 else f"1x1x{topology}"
    plugin = find_cuda_plugin()
    if plugin is None:
        raise RuntimeError(
            "get_topology_desc: the package jax-cuda13-plugin is not installed, which compiles "
            f"for GPUs. Install it with `pip install jax-cuda13-plugin=={jaxlib_version}` (143 "
            "MB); neither a GPU nor its driver nor CUDA is needed."
        )
    load_cuda_plugin(plugin)
    described = load_xla_client().make_c_api_device_topology(
        runtime.get_pjrt_plugin("cuda"),
        "",
        **{**options, "topology": topology, "target_config": target_config},
    )
    return described._make_compile_only_devices()


def cost_of_described(executable: Any) -> dict[str, Any]:
    """XLA's cost estimates of an executable that was compiled for a topology's devices.

    Args:
      executable: the executable, of their client.
    """
    try:
        return executable.cost_analysis()
    except JaxRuntimeError as error:
        if "UNIMPLEMENTED" not in str(error):
            raise
    # The CPU client analyses only executables that it has loaded; XLA's own analysis does all.
    return runtime.hlo_module_cost_analysis(_analysing_client(), executable.hlo_modules()[0])


def cost_of_module(module: object, device: Device) -> dict[str, Any]:
    """XLA's cost estimates of an HLO module, without optimizing it.

    Args:
      module: jaxlib's ``HloModule``.
      device: a device that it is for.
    """
    client = _analysing_client() if is_described(device) else device.client
    return runtime.hlo_module_cost_analysis(client, module)


@cache
def _analysing_client() -> Any:
    return load_xla_client().make_cpu_client(num_devices=1)


def is_described(device: Device) -> bool:
    """Whether a device is a topology's, which can be compiled for but not run on."""
    return isinstance(device.client, runtime.CompileOnlyPyClient)


def _load_libtpu() -> None:
    library = find_libtpu()
    if library is None and not runtime.pjrt_plugin_loaded("tpu"):
        raise RuntimeError(
            "get_topology_desc: the package libtpu is not installed, which describes "
            "TPUs. Install it with `pip install libtpu`; no TPU is needed."
        )
    load_plugin("tpu", library)
