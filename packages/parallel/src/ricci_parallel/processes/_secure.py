"""Encrypted connections between the processes, with the certificates of jaxlib's service.

Imported only where certificates are given.
"""

import socket
import ssl
from typing import Any

from ricci_xla import Security


def secured(sock: socket.socket, security: Security, *, as_server: bool) -> socket.socket:
    """Encrypt a connection, and check the certificate at its other end.

    Args:
      sock: the connected socket.
      security: the files, and the URI prefix that the other side's certificate must have.
      as_server: whether this is rank 0's end.

    Raises:
      OSError: if the other end does not agree, or its certificate is invalid.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if as_server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # addresses change; the certificate's URI is compared instead
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(security.mtls_cert_file or "", security.mtls_key_file)
    context.load_verify_locations(security.mtls_ca_file)
    if as_server:
        # The other side would take a session ticket for the beginning of a message.
        context.num_tickets = 0
    wrapped = context.wrap_socket(sock, server_side=as_server)
    prefix = security.mtls_peer_uri_prefix
    if prefix:
        names: Any = (wrapped.getpeercert() or {}).get("subjectAltName", ())
        uris = [name for kind, name in names if kind == "URI"]
        if not any(name.startswith(prefix) for name in uris):
            wrapped.close()
            raise ConnectionError(
                f"the other side's certificate names {uris or 'no URI'}, and "
                f"mtls_peer_uri_prefix is {prefix!r}"
            )
    return wrapped
