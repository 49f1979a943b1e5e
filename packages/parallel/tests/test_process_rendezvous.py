"""Rendezvous of the processes of a cluster, and the errors when some do not come."""

import shutil
import socket
import subprocess
import threading

import pytest

from ricci_parallel.processes import _rendezvous
from ricci_parallel.processes._rendezvous import Connection, gather, join, split_address, welcome
from ricci_xla import Security

OPEN = Security()


@pytest.fixture
def address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"127.0.0.1:{port}"


def meet(
    address: str, count: int, *ranks: tuple[int, int], limit: float = 5.0, security: Security = OPEN
) -> dict:
    """Let rank 0 and others meet; what each returned or raised, by its position.

    Args:
      ranks: of each other process, its number and what it takes for the number of processes.
    """
    outcomes: dict[int, object] = {}

    def run(position: int, call: object, *args: object) -> None:
        try:
            outcomes[position] = call(*args)
            if position == 0:
                welcome(outcomes[0][1])
        except RuntimeError as error:
            outcomes[position] = str(error)

    calls = [(gather, address, address, count, limit, security)]
    calls += [(join, address, rank, of, limit, security) for rank, of in ranks]
    threads = [threading.Thread(target=run, args=(i, *c)) for i, c in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return outcomes


def test_all_come(address):
    outcomes = meet(address, 3, (2, 3), (1, 3))
    members, connections = outcomes[0]
    assert sorted(members) == [0, 1, 2] and sorted(connections) == [1, 2]
    assert outcomes[1][0].rank == 0
    outcomes[1][1].send({"heartbeat": 1})
    connections[2].sock.settimeout(5)
    assert connections[2].receive() == [{"heartbeat": 1}]


def test_missing_ranks_are_reported_to_the_others(address):
    outcomes = meet(address, 4, (2, 4), limit=0.5)
    assert "waited 0.5 s" in outcomes[0] and "ranks 1 and 3 did not come" in outcomes[0]
    assert "rank 2 (process" in outcomes[0]
    assert outcomes[0] in outcomes[1]


def test_two_of_one_rank(address):
    outcomes = meet(address, 3, (1, 3), (1, 3))
    assert "two processes are rank 1" in outcomes[0]
    assert all("two processes are rank 1" in outcomes[i] for i in (1, 2))


def test_other_numbers_of_processes(address):
    outcomes = meet(address, 2, (1, 5))
    assert "num_processes=5" in outcomes[0] and "num_processes=2" in outcomes[0]
    assert "num_processes=5" in outcomes[1]


def test_a_missing_coordinator_is_reported(address, monkeypatch):
    monkeypatch.setattr(_rendezvous, "_RETRY", 0.01)
    with pytest.raises(RuntimeError, match=f"rank 1 did not reach .* at {address} within 0.2 s"):
        join(address, 1, 2, 0.2)


def test_a_stranger_at_the_port_is_ignored(address):
    outcomes: dict[int, object] = {}
    rank_0 = threading.Thread(
        target=lambda: outcomes.setdefault(0, gather(address, address, 2, 5.0))
    )
    rank_0.start()
    host, port = split_address(address)
    while True:
        try:
            stranger = socket.create_connection((host, port))
            break
        except ConnectionRefusedError:
            continue
    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    other = threading.Thread(target=lambda: outcomes.setdefault(1, join(address, 1, 2, 5.0)))
    other.start()
    rank_0.join(10)
    welcome(outcomes[0][1])
    other.join(10)
    assert outcomes[1][0].rank == 0
    stranger.close()


def test_one_that_comes_and_goes(address):
    outcomes: dict[int, str] = {}

    def run() -> None:
        try:
            gather(address, address, 3, 5.0)
        except RuntimeError as error:
            outcomes[0] = str(error)

    rank_0 = threading.Thread(target=run)
    rank_0.start()
    connection = _greet_as(address, 1, 3)
    connection.close()
    rank_0.join(10)
    assert "rank 1 (process" in outcomes[0] and "still missing: rank 2" in outcomes[0]


def _greet_as(address: str, rank: int, count: int) -> Connection:
    while True:
        try:
            connection = Connection(socket.create_connection(split_address(address)))
            break
        except ConnectionRefusedError:
            continue
    greeting = {
        "ricci": _rendezvous.this_member(rank),
        "of": count,
        "versions": _rendezvous._versions(),
    }
    connection.send(greeting)
    return connection


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.1:", ":1234", "host:name", "host:99999"])
def test_invalid_addresses_are_refused(text):
    with pytest.raises(ValueError, match="HOST:PORT"):
        split_address(text)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """The files of a node's certificate, which names ``spiffe://cluster/worker``."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl, which is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "names").write_text("subjectAltName=URI:spiffe://cluster/worker")
    new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    for command in (
        f"req -x509 {new_key} -keyout ca.key -out ca.pem -days 2 -subj /CN=ca",
        f"req {new_key} -keyout node.key -out node.csr -subj /CN=node",
        "x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2 "
        "-extfile names",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    return Security(*(str(folder / name) for name in ("node.pem", "node.key", "ca.pem")))


def test_connections_are_encrypted(address, certificates):
    security = certificates._replace(mtls_peer_uri_prefix="spiffe://cluster/")
    outcomes = meet(address, 3, (1, 3), (2, 3), security=security)
    (_, connections), (first, connection) = outcomes[0], outcomes[1]
    assert first.rank == 0
    connection.send({"heartbeat": "x" * 100_000})
    received = []
    while not received:
        received = connections[1].receive()
    assert received == [{"heartbeat": "x" * 100_000}]
    assert {c.sock.version() for c in connections.values()} == {"TLSv1.3"}


def test_a_certificate_of_another_cluster(address, certificates):
    security = certificates._replace(mtls_peer_uri_prefix="spiffe://other/")
    outcomes = meet(address, 2, (1, 2), limit=0.5, security=security)
    assert "rank 1 did not come" in outcomes[0]
    for text in outcomes.values():
        assert "names ['spiffe://cluster/worker']" in text and "'spiffe://other/'" in text


def test_a_process_without_a_certificate(address, certificates):
    outcomes: dict[int, str] = {}

    def run(rank: int, call, *args: object) -> None:
        with pytest.raises(RuntimeError) as error:
            call(*args)
        outcomes[rank] = str(error.value)

    rank_0 = threading.Thread(target=run, args=(0, gather, address, address, 2, 1.0, certificates))
    rank_1 = threading.Thread(target=run, args=(1, join, address, 1, 2, 1.0))
    rank_0.start()
    rank_1.start()
    rank_0.join(20)
    rank_1.join(20)
    assert "rank 1 did not come" in outcomes[0] and "A connection was refused" in outcomes[0]
    assert "did not reach the coordinator" in outcomes[1]
