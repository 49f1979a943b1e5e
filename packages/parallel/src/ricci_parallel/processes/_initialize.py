"""``distributed.initialize``: make this process one of a cluster."""

import atexit
import os
import sys
from collections.abc import Sequence
from typing import Any

import ricci_xla as xla
from ricci_ir import config
from ricci_parallel._cluster import cluster

from ._clusters import Membership, detect
from ._fingerprint import ProgramCheck
from ._heartbeat import Limits
from ._rendezvous import Connection, Member, gather, join, split_address, this_member, welcome
from ._watch import AbortGuard, MainThread, Watch

__all__ = ["initialize", "is_initialized", "shutdown"]

_STALL_VARIABLE = "RICCI_STALL_TIMEOUT"
_STALL = 600.0
# The runtime's own time limits come later than those of the watch, whose messages are better.
_MARGIN = 60


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
    mtls_cert_file: str | None = None,
    mtls_key_file: str | None = None,
    mtls_ca_file: str | None = None,
    mtls_peer_uri_prefix: str | None = None,
    verify_secure_credentials: bool | None = None,
    *,
    stall_timeout_seconds: float | None = None,
) -> None:
    """Make this process one of several that compute together.

    Call it at the start of the program, in every process, before devices are used. Missing
    arguments are read from the environment of Slurm, Open MPI, Kubernetes, TPU pods, or of
    ``python -m ricci.distributed.run``.

    Args:
      coordinator_address: ``HOST:PORT`` at which rank 0 listens, as the others see it.
      num_processes: the number of processes.
      process_id: the number of this process, its rank, from 0.
      local_device_ids: the numbers of the devices of this machine that this process uses (CUDA);
        by default all.
      cluster_detection_method: the kind of environment to read: ``"slurm"``, ``"ompi"``, …;
        ``"deactivate"`` for none. By default each is tried.
      initialization_timeout: how long to wait for all processes, in seconds.
      heartbeat_timeout_seconds: after how many seconds without a heartbeat a process counts as
        failed.
      shutdown_timeout_seconds: how long a process that has ended waits for the others, in seconds.
      coordinator_bind_address: where rank 0 listens, if not at the port of the coordinator's
        address on all interfaces.
      slice_index, partition_index: the slice that this process is in, for several slices.
      mtls_cert_file, mtls_key_file, mtls_ca_file: PEM files for encrypted connections to the
        coordination service.
      mtls_peer_uri_prefix: the URI prefix that the certificates of the other processes must have.
      verify_secure_credentials: whether connections must be encrypted.
      stall_timeout_seconds: after how many seconds all processes end, when some wait for one that
        takes part in nothing; infinity for never. The default is the environment variable
        ``RICCI_STALL_TIMEOUT``, or 600.

    Raises:
      NotImplementedError: for ``slice_index`` and ``partition_index``.
      ValueError: if an argument is invalid, or missing and not in the environment.
      RuntimeError: if it was called before, devices were used already, the coordinator cannot be
        reached, or some processes did not come.

    Example:
      >>> import ricci
      >>> ricci.distributed.initialize("127.0.0.1:8476", num_processes=2, process_id=0)
      ... # doctest: +SKIP
    """
    if cluster.client is not None:
        raise RuntimeError(
            "distributed.initialize was called before: this process is rank "
            f"{cluster.process_id} of {cluster.num_processes}. Call it once."
        )
    if xla.backends_are_made():
        raise RuntimeError(
            "distributed.initialize comes too late: devices were used already (an array was made, "
            "or devices() or the like was called). Call it at the start of the program."
        )
    for name, index in (("slice_index", slice_index), ("partition_index", partition_index)):
        if index is not None:
            raise NotImplementedError(
                f"distributed.initialize: {name}={index!r} is not supported. TPU slices are told "
                "apart by the runtime itself (the variables MEGASCALE_*)."
            )
    partial = Membership(coordinator_address, num_processes, process_id, _ids(local_device_ids))
    membership = detect(partial, cluster_detection_method)
    address, count, rank = _complete(membership)
    security = xla.Security(
        mtls_cert_file or config.jax_mtls_cert_file,
        mtls_key_file or config.jax_mtls_key_file,
        mtls_ca_file or config.jax_mtls_ca_file,
        mtls_peer_uri_prefix or config.jax_mtls_peer_uri_prefix,
        config.jax_distributed_verify_secure_credentials
        if verify_secure_credentials is None
        else verify_secure_credentials,
    )
    limits = Limits(float(heartbeat_timeout_seconds), _stall_limit(stall_timeout_seconds))
    bind = coordinator_bind_address or f"[::]:{split_address(address)[1]}"
    members, connections = _meet(address, bind, count, rank, initialization_timeout, security)
    # With recoverability, processes come and go; callers of `live_devices` handle that.
    recoverable = config.jax_enable_recoverability
    later = heartbeat_timeout_seconds + _MARGIN
    timeouts = {
        "heartbeat_timeout": heartbeat_timeout_seconds + (0 if recoverable else later),
        "shutdown_timeout": shutdown_timeout_seconds + _MARGIN,
    }
    if rank == 0:
        cluster.service = xla.start_coordination_service(
            bind, count, security, recoverable=recoverable, **timeouts
        )
        welcome(connections)
    if count > 1 and not recoverable:
        watch = cluster.watch = Watch(rank, members, connections, limits, count)
        watch.start()
        cluster.guard = AbortGuard(watch)
        cluster.guard.install()
        cluster.main_thread = MainThread(watch)
        cluster.main_thread.install()
    else:
        for connection in connections.values():
            connection.close()
    with cluster.waiting():
        cluster.client = xla.connect_to_coordinator(
            address, rank, security, init_timeout=initialization_timeout + _MARGIN, **timeouts
        )
    cluster.coordinator_address = address
    cluster.process_id, cluster.num_processes = rank, count
    cluster.shutdown_timeout = float(shutdown_timeout_seconds)
    _log("has joined")
    if config.jax_enable_preemption_service:
        cluster.preemption_sync_manager = xla.start_preemption_service(cluster.client)
    xla.set_distributed_client(cluster.client, rank, count, cluster.waiting)
    if membership.local_device_ids is not None:
        config.update("jax_cuda_visible_devices", ",".join(map(str, membership.local_device_ids)))
    if cluster.watch is not None:
        xla.check_shared_programs(ProgramCheck(cluster.client, cluster.watch.observer))
    atexit.register(_end)


def _log(what: str) -> None:
    """Log an event of this process, if the option asks for it."""
    if config.jax_distributed_debug:
        rank, count = cluster.process_id, cluster.num_processes
        sys.stderr.write(
            f"ricci: rank {rank} of {count} {what} the cluster of {cluster.coordinator_address}.\n"
        )


def _ids(local_device_ids: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if local_device_ids is None:
        return None
    return (local_device_ids,) if isinstance(local_device_ids, int) else tuple(local_device_ids)


def _complete(membership: Membership) -> tuple[str, int, int]:
    """Return the address, the number of processes and this process's number.

    Raises:
      ValueError: if one is missing or makes no sense.
    """
    address, count, rank = (
        membership.coordinator_address,
        membership.num_processes,
        membership.process_id,
    )
    if address is None or count is None or rank is None:
        values = {"coordinator_address": address, "num_processes": count, "process_id": rank}
        missing = [name for name, value in values.items() if value is None]
        present = ", ".join(f"{name}={v!r}" for name, v in values.items() if v is not None)
        raise ValueError(
            f"distributed.initialize: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} "
            f"missing{f' (given: {present})' if present else ''}, and no cluster was found in the "
            "environment.\nGive all three of coordinator_address, num_processes and process_id, or "
            "start the program with `python -m ricci.distributed.run -n N script.py`, srun or "
            "mpirun."
        )
    split_address(address)
    if not 0 <= rank < count:
        raise ValueError(
            f"distributed.initialize: process_id={rank} with num_processes={count}: process_id "
            "must be nonnegative and less than num_processes."
        )
    return address, count, rank


def _stall_limit(argument: float | None) -> float | None:
    text = os.environ.get(_STALL_VARIABLE)
    try:
        seconds = float(text or _STALL) if argument is None else float(argument)
    except ValueError:
        raise ValueError(
            f"the environment variable {_STALL_VARIABLE} is {text!r}; expected seconds."
        ) from None
    if not seconds > 0:
        raise ValueError(f"stall_timeout_seconds={seconds:g}: expected more than 0.")
    return None if seconds == float("inf") else seconds


def _meet(
    address: str, bind: str, count: int, rank: int, limit: float, security: xla.Security
) -> tuple[dict[int, Member], dict[int, Connection]]:
    """Wait until all processes have connected to rank 0."""
    if count == 1:
        return {0: this_member(0)}, {}
    if rank == 0:
        return gather(address, bind, count, limit, security)
    first, connection = join(address, rank, count, limit, security)
    return {0: first, rank: this_member(rank)}, {0: connection}


def is_initialized() -> bool:
    """Whether this process is one of a cluster, by ``initialize``.

    Example:
      >>> from ricci.distributed import is_initialized
      >>> is_initialized()
      False
    """
    return cluster.client is not None


def shutdown() -> None:
    """Leave the cluster, when all processes do. It happens by itself at the end of the program.

    Raises:
      RuntimeError: if the others do not end within the time that ``initialize`` was
        given.

    Example:
      >>> from ricci import distributed
      >>> if distributed.is_initialized():
      ...     distributed.shutdown()
    """
    if cluster.client is None:
        return
    atexit.unregister(_end)
    watch = cluster.watch
    if watch is not None:
        watch.ended()
        if not watch.all_ended.wait(cluster.shutdown_timeout):
            raise RuntimeError(
                f"rank {cluster.process_id} has ended, and waited {cluster.shutdown_timeout:g} s "
                f"for the others.\n{watch.not_ended()}"
            )
    xla.check_shared_programs(None)
    _log("leaves")
    if cluster.preemption_sync_manager is not None:
        cluster.preemption_sync_manager.shutdown()
    cluster.client.shutdown()
    if cluster.service is not None:
        cluster.service.shutdown()
    if watch is not None:
        watch.stop()
    _give_signals_back()
    cluster.forget()


def _give_signals_back() -> None:
    """Restore the previous handlers of signals and uncaught exceptions."""
    if cluster.guard is not None:
        cluster.guard.remove()
    if cluster.main_thread is not None:
        cluster.main_thread.remove()


def _after_fork() -> None:
    """In a forked child: leave the cluster.

    The child must not keep the connections open, or the end of its parent would go unnoticed.
    """
    watch = cluster.watch
    if cluster.client is None:
        return
    atexit.unregister(_end)
    _give_signals_back()
    if watch is not None:
        for connection in watch.connections.values():
            connection.close()
    xla.check_shared_programs(None)
    _references_in_children.extend((cluster.client, cluster.service))
    cluster.forget()


# The destructor of jaxlib's client would wait for threads that the child does not have.
_references_in_children: list[Any] = []
os.register_at_fork(after_in_child=_after_fork)


def _end() -> None:
    """At exit: leave the cluster, unless a process failed."""
    watch = cluster.watch
    failed = watch is not None and (watch.verdict is not None or watch.observer.failed)
    if not failed:
        try:
            shutdown()
        except (RuntimeError, KeyboardInterrupt) as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            failed = True
    if failed and watch is not None:
        watch.let_others_end()
    if failed:
        # The runtime would wait for processes that are gone.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
