"""Rendezvous at rank 0, and the TCP connections that carry heartbeats.

Rank 0 listens at the coordinator's address until every rank has come, each with its number, its
host and its process id. Only then does jaxlib's coordination service start at the same address. So
the error of a timeout names the missing ranks, while the service itself would end a waiting process
without a reason. The connections stay open: they carry the heartbeats (`_heartbeat`), a line of
JSON each, and the end of one reports at once that a process has died.
"""

import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, final

from ricci_xla import Security

_RETRY = 0.1  # seconds between attempts to reach a coordinator that does not listen yet
_WORD = 5.0  # seconds that a process waits longer than rank 0, for rank 0's reason
_GREETING = "ricci"
_OPEN = Security()


class Member(NamedTuple):
    """A process of a cluster.

    Attributes:
      rank: its number, from 0.
      host: the name of its machine.
      pid: its process id there.
    """

    rank: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"rank {self.rank} (process {self.pid} on {self.host})"


@final
class Connection:
    """A socket between two processes of a cluster, over which messages are lines of JSON.

    Args:
      sock: the connected socket.
    """

    __slots__ = ("_unread", "sock")

    def __init__(self, sock: socket.socket):
        # Heartbeats are short lines, which Nagle's algorithm would delay until more data follows.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self._unread = b""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
          OSError: if the other process is gone.
        """
        self.sock.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[dict[str, Any]]:
        """Wait for data, at most the socket's time limit; return the messages that are complete.

        Raises:
          EOFError: if the other process has closed the connection, or is gone.
          TimeoutError: if the time limit has passed.
          ValueError: if the data is not a message.
        """
        try:
            data = self.sock.recv(1 << 16)
        except (ConnectionError, BrokenPipeError):
            data = b""
        if not data:
            raise EOFError("the connection is closed")
        # TCP has no messages: the last piece may be the beginning of a line, which later data
        # completes.
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Close the connection."""
        self.sock.close()


def _encrypted(sock: socket.socket, security: Security, *, as_server: bool) -> socket.socket:
    """Encrypt a connected socket if there are certificates for that."""
    if security.mtls_cert_file is None:
        return sock
    from ._secure import secured  # noqa: PLC0415 - lazy: few programs need it

    return secured(sock, security, as_server=as_server)


def this_member(rank: int) -> Member:
    """Describe this process as the member of a rank."""
    return Member(rank, socket.gethostname(), os.getpid())


def split_address(address: str) -> tuple[str, int]:
    """Split an address such as ``10.0.0.1:1234`` or ``[::1]:1234`` into host and port.

    Raises:
      ValueError: if the address is not of this form.
    """
    host, colon, port = address.rpartition(":")
    if not (colon and host and port.isdigit() and int(port) < 1 << 16):
        raise ValueError(
            f"coordinator_address={address!r} is not an address: expected HOST:PORT, such as "
            "'10.0.0.1:1234'."
        )
    return host.strip("[]"), int(port)


def _listen(address: str) -> socket.socket:
    host, port = split_address(address)
    try:
        if host in ("", "::", "0.0.0.0"):
            dual = socket.has_dualstack_ipv6() and host != "0.0.0.0"
            family = socket.AF_INET6 if dual else socket.AF_INET
            return socket.create_server(
                ("", port), family=family, dualstack_ipv6=dual, backlog=1024
            )
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise RuntimeError(
            f"rank 0 cannot listen at the coordinator's address {address}: "
            f"{error.strerror or error}.\nChoose a free port, or give coordinator_bind_address."
        ) from None


class _Arrivals:
    """The processes that have connected to rank 0 so far."""

    def __init__(self, count: int, address: str):
        self.count = count
        self.address = address
        self.members = {0: this_member(0)}
        self.connections: dict[int, Connection] = {}
        self.refused = ""  # why a connection was not taken

    @property
    def last_refusal(self) -> str:
        return f"\nA connection was refused: {self.refused}." if self.refused else ""

    @property
    def missing(self) -> list[int]:
        return [rank for rank in range(self.count) if rank not in self.members]

    def add(self, greeting: Mapping[str, Any], connection: Connection) -> None:
        """Add a process, or refuse it and raise the reason.

        Raises:
          RuntimeError: if it does not belong to the cluster.
        """
        member = Member(*greeting[_GREETING])
        wrong = ""
        if greeting["of"] != self.count:
            wrong = (
                f"{member} was started with num_processes={greeting['of']}, and rank 0 with "
                f"num_processes={self.count}. Give all processes the same number."
            )
        elif member.rank in self.members:
            wrong = (
                f"two processes are rank {member.rank}: process {member.pid} on {member.host} and "
                f"process {self.members[member.rank].pid} on {self.members[member.rank].host}. "
                "Give each process its own process_id."
            )
        elif greeting["versions"] != _versions():
            wrong = f"{member} runs {greeting['versions']}, and rank 0 {_versions()}."
        if wrong:
            self.refuse(wrong, connection)
            raise RuntimeError(wrong)
        self.members[member.rank] = member
        self.connections[member.rank] = connection

    def refuse(self, reason: str, *others: Connection) -> None:
        """Send all connected processes the reason why no cluster is formed."""
        for connection in (*self.connections.values(), *others):
            try:
                connection.send({"refused": reason})
            except OSError:
                pass  # that process is gone already
            connection.close()

    def drop(self, rank: int) -> str:
        """Describe a process that connected and is gone."""
        return (
            f"{self.members[rank]} came, and ended while {len(self.missing)} of {self.count} "
            f"processes were still missing: {_ranks(self.missing)}."
        )


def _versions() -> str:
    return f"Python {sys.version_info.major}.{sys.version_info.minor}"


def _ranks(ranks: list[int]) -> str:
    """Format some ranks: ``rank 2``, ``ranks 1, 2 and 5``; the first ten of many."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = ranks[:10]
    more = f" and {len(ranks) - 10} more" if len(ranks) > 10 else f" and {shown.pop()}"
    return f"ranks {', '.join(map(str, shown))}{more}"


def gather(
    address: str, bind_address: str, count: int, limit: float, security: Security = _OPEN
) -> tuple[dict[int, Member], dict[int, Connection]]:
    """As rank 0: wait until all other ranks have connected.

    Args:
      address: the address that the others got.
      bind_address: the address to listen at.
      count: the number of processes.
      limit: how long to wait, in seconds.
      security: how connections are encrypted.

    Returns:
      All processes by rank, and a connection to each other rank. They wait for `welcome`.

    Raises:
      RuntimeError: if some did not come in time, one that came is gone, or one does not belong.
    """
    start = time.monotonic()
    arrivals = _Arrivals(count, address)
    listener = _listen(bind_address)
    with listener, selectors.DefaultSelector() as selector:
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ)
        while arrivals.missing:
            left = start + limit - time.monotonic()
            if left <= 0:
                arrived = ", ".join(map(str, list(arrivals.members.values())[:10]))
                reason = (
                    f"rank 0 waited {limit:g} s at {address} for {count} processes, and "
                    f"{_ranks(arrivals.missing)} did not come.\nThese came: {arrived}."
                    f"{arrivals.last_refusal}\nStart all "
                    "processes with this coordinator_address, or give a longer "
                    "initialization_timeout."
                )
                arrivals.refuse(reason)
                raise RuntimeError(reason)
            for key, _ in selector.select(min(left, 1.0)):
                if key.fileobj is listener:
                    sock, _ = listener.accept()
                    sock.settimeout(5.0)
                    try:
                        sock = _encrypted(sock, security, as_server=True)
                    except OSError as error:  # also of unrelated clients, which do not matter
                        arrivals.refused = str(error)
                        sock.close()
                        continue
                    selector.register(sock, selectors.EVENT_READ, Connection(sock))
                    continue
                _greet(arrivals, key.data, lambda s=key.fileobj: selector.unregister(s))
    return arrivals.members, arrivals.connections


def welcome(connections: Mapping[int, Connection]) -> None:
    """As rank 0: tell all others that everybody has come and the service has started.

    A process that has died meanwhile is detected by the watch.
    """
    for connection in connections.values():
        try:
            connection.send({"welcome": this_member(0)})
        except OSError:
            continue


def _greet(arrivals: _Arrivals, connection: Connection, forget: Callable[[], object]) -> None:
    """Read a message over a connection to rank 0: a greeting, its end, or something else."""
    try:
        messages = connection.receive()
        if messages:
            arrivals.add(messages[0], connection)
    except EOFError:
        forget()
        connection.close()
        for rank, other in arrivals.connections.items():
            if other is connection:
                reason = arrivals.drop(rank)
                del arrivals.connections[rank]
                arrivals.refuse(reason)
                raise RuntimeError(reason) from None
    except (ValueError, KeyError, TypeError):
        # Not a process of the cluster: port scanners and health checks connect, too.
        forget()
        connection.close()


def join(
    address: str, rank: int, count: int, limit: float, security: Security = _OPEN
) -> tuple[Member, Connection]:
    """As another rank than 0: connect to rank 0 and wait for its welcome.

    Args:
      address: the coordinator's address.
      rank: the number of this process.
      count: the number of processes.
      limit: how long to wait, in seconds.
      security: how connections are encrypted.

    Returns:
      Rank 0, and the connection to it.

    Raises:
      RuntimeError: if rank 0 cannot be reached in time, or refuses.
    """
    start = time.monotonic()
    host, port = split_address(address)
    failure = ""
    while (left := start + limit - time.monotonic()) > 0:
        try:
            sock = socket.create_connection((host, port), timeout=min(left, 5.0))
            sock = _encrypted(sock, security, as_server=False)
        except OSError as error:
            failure = error.strerror or str(error)
            time.sleep(min(_RETRY, left))
            continue
        connection = Connection(sock)
        greeting = {_GREETING: this_member(rank), "of": count, "versions": _versions()}
        try:
            connection.send(greeting)
            # Rank 0 knows who is missing, so its message is awaited a little longer.
            return _await_welcome(connection, address, rank, start + limit + _WORD)
        except (EOFError, OSError) as error:
            # Another program answered, or rank 0 closed before it accepted: try again.
            failure = str(error)
            connection.close()
            time.sleep(_RETRY)
    raise RuntimeError(
        f"rank {rank} did not reach the coordinator (rank 0) at {address} within {limit:g} s: "
        f"{failure or 'no answer'}.\nCheck that rank 0 is running, that coordinator_address is its "
        "address as seen from here, and that no firewall is between; or give a longer "
        "initialization_timeout."
    )


def _await_welcome(
    connection: Connection, address: str, rank: int, deadline: float
) -> tuple[Member, Connection]:
    while (left := deadline - time.monotonic()) > 0:
        connection.sock.settimeout(left)
        try:
            messages = connection.receive()
        except TimeoutError:
            break
        except ValueError:
            raise EOFError("the server there is not a coordinator of Ricci") from None
        for message in messages:
            if "refused" in message:
                connection.close()
                raise RuntimeError(f"rank 0 at {address} ended the start: {message['refused']}")
            if "welcome" in message:
                connection.sock.settimeout(5.0)
                return Member(*message["welcome"]), connection
    connection.close()
    raise RuntimeError(
        f"rank {rank} reached the coordinator at {address}, but not all processes came in time. "
        "Rank 0 reports which are missing."
    )
