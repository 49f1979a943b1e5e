"""jaxlib's coordination service, by which the processes of a cluster find each other's devices."""

from typing import Any

from ricci_ir import TupleRecord

from ._jaxlib import runtime

__all__ = ["connect_to_coordinator", "Security", "start_coordination_service"]
__all__ += ["start_preemption_service"]


class Security(TupleRecord):
    """Encryption of connections to the coordination service; none by default.

    Attributes:
      mtls_cert_file: the file with this process's certificate (PEM).
      mtls_key_file: the file with its private key.
      mtls_ca_file: the file with the certificates of the authorities.
      mtls_peer_uri_prefix: the required prefix of the URI in the other side's certificate.
      verify_secure_credentials: whether a connection that is not encrypted is an error.
    """

    mtls_cert_file: str | None = None
    mtls_key_file: str | None = None
    mtls_ca_file: str | None = None
    mtls_peer_uri_prefix: str | None = None
    verify_secure_credentials: bool | None = None


def start_coordination_service(
    address: str, num_processes: int, security: Security, **timeouts: object
) -> Any:
    """Start the service, in rank 0.

    Args:
      address: where to listen, such as ``[::]:1234``.
      num_processes: the number of processes.
      security: the encryption of connections.
      **timeouts: jaxlib's own arguments, in seconds.
    """
    return runtime.get_distributed_runtime_service(
        address, num_processes, **security._asdict(), **timeouts
    )


def connect_to_coordinator(
    address: str, process_id: int, security: Security, **timeouts: object
) -> Any:
    """Connect this process to the service, and wait until all processes have.

    Args:
      address: where the service listens.
      process_id: the number of this process.
      security: the encryption of connections.
      **timeouts: jaxlib's own arguments, in seconds.

    Returns:
      jaxlib's client, with the key-value store and barriers.
    """
    # Shutting down is a barrier of all processes: whoever joined them does it, not a destructor.
    client = runtime.get_distributed_runtime_client(
        address,
        process_id,
        shutdown_on_destruction=False,
        use_compression=True,
        **security._asdict(),
        **timeouts,
    )
    client.connect()
    return client


def start_preemption_service(client: object) -> Any:
    """Start the service that announces a SIGTERM of any process to all processes.

    Args:
      client: the result of ``connect_to_coordinator``.

    Returns:
      jaxlib's manager, whose ``reached_sync_point(step)`` is whether to save at that step.
    """
    manager = runtime.create_preemption_sync_manager()
    manager.initialize(client)
    return manager
