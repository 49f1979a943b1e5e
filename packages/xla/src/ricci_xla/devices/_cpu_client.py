"""The client of the CPU, its custom-call kernels, and how it joins a cluster of processes."""

from typing import Any

from ricci_ir import config

from . import _factories as factories
from ._jaxlib import load_xla_client, runtime
from ._runtime_types import Client


def register_cpu_kernels() -> None:
    """Register the CPU's custom-call kernels, such as LAPACK's, with XLA."""
    from jaxlib import cpu_sparse, lapack  # noqa: PLC0415 - lazy: only the first client needs them

    xla_client = load_xla_client()
    for module in (lapack, cpu_sparse):
        for platform, targets in module.registrations().items():
            for name, target, version in targets:
                xla_client.register_custom_call_target(
                    name, target, platform=platform, api_version=version
                )
    # On batches that are sharded over devices, each device calls the kernel on its shard.
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)


def make_cpu_client(distributed: dict[str, Any]) -> Client:
    """Create the client of the CPU, with the options of this time.

    Args:
      distributed: the cluster that it joins; see ``set_distributed_client``.
    """
    register_cpu_kernels()
    count = config.jax_num_cpu_devices or -1
    devices = count if count > 0 else None
    with factories.enough_threads(devices):
        return load_xla_client().make_cpu_client(
            asynchronous=config.jax_cpu_enable_async_dispatch,
            num_devices=devices,
            get_local_topology_timeout_minutes=config.jax_cpu_get_local_topology_timeout_minutes,
            get_global_topology_timeout_minutes=config.jax_cpu_get_global_topology_timeout_minutes,
            **cpu_cluster(distributed),
        )


def cpu_cluster(distributed: dict[str, Any]) -> dict[str, Any]:
    """The arguments by which a CPU client joins a cluster of processes, if there is one."""
    client = distributed.get("client")
    if client is None:
        return {}
    cluster = {
        "distributed_client": client,
        "node_id": distributed["process_id"],
        "num_nodes": distributed["num_processes"],
    }
    match config.jax_cpu_collectives_implementation:
        case "gloo":
            collectives = runtime.make_gloo_tcp_collectives(distributed_client=client)
        case "mpi":
            collectives = runtime.make_mpi_collectives()
            collectives.Init()
        case "megascale":
            raise RuntimeError(
                "jax_cpu_collectives_implementation='megascale' is not supported; use 'gloo' or "
                "'mpi'."
            )
        case _:
            return cluster
    return {**cluster, "collectives": collectives}
