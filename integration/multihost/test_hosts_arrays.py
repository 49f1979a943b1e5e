"""Arrays over several processes, and communication between processes, are as in JAX."""

import host_arrays
import hosts
import pytest

# The programs are compiled without LLVM's optimizations, which take longer than the work.
QUICKLY = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
EXPECTED = host_arrays.expected()
ACCEPTED = host_arrays.accepted()


@pytest.fixture(scope="module")
def results() -> list[dict]:
    """The results of each of two processes, by program."""
    files = (str(host_arrays.FOLDER / name) for name in host_arrays.FILES)
    ends = hosts.run(host_arrays.PROGRAM, 2, "ricci", *files, limit=150, variables=QUICKLY)
    assert [end.code for end in ends] == [0, 0], ends[0].err[-2000:] + ends[1].err[-2000:]
    return [host_arrays.results(end.out) for end in ends]


def test_every_program_runs_in_both_processes(results):
    assert set(results[0]) == set(results[1]) == set(EXPECTED)


def test_both_processes_give_the_expected_results(results):
    wrong = [
        f"{source}\n  rank {rank}: {ours[source]}\n  not: {ACCEPTED.get(source, theirs)[rank]}"
        for source, theirs in EXPECTED.items()
        for rank, ours in enumerate(results)
        if not host_arrays.agrees(ours[source], ACCEPTED.get(source, theirs)[rank])
    ]
    assert not wrong, "\n".join(wrong)


def test_no_accepted_difference_is_stale(results):
    stale = [
        source
        for source in ACCEPTED
        if all(map(host_arrays.agrees, (x[source] for x in results), EXPECTED[source]))
    ]
    assert not stale, stale


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("np.asarray(G)", ["float32[8]", "addressable_shards", "process_allgather"]),
        ("G.tolist()", ["float32[8]", "addressable_shards"]),
        ("jax.device_put(G, jax.local_devices()[0])", ["process_allgather"]),
        ("jax.device_put(host + rank, NS(mesh, P()))", ["rank 0 has", "rank 1 has", "device_put"]),
        ('multihost_utils.assert_equal(host + rank, "differ")', ["differ", "rank 0 has", "rank 1"]),
        ('multihost_utils.assert_equal({"a": 1, "b": [host, rank]})', ["['b'][1]: rank 0 has"]),
        ('multihost_utils.sync_global_devices(f"rank{rank}")', ["'rank0'", "'rank1'"]),
        (
            'jax.jit(lambda x: x + 1, in_shardings=NS(mesh, P("x")))(host)',
            ["argument x", "make_array_from_process_local_data"],
        ),
        ("jax.pmap(lambda x: x * 2)(np.ones((3, 2)))", ["size 3", "2 of the 4 devices"]),
    ],
)
def test_errors_name_the_remedy(results, source, words):
    for process in results:
        message = process[source]["message"]
        assert all(word in message for word in words), message
        assert len(message.splitlines()) <= 12
