"""Two processes save arrays over both of them, and load them onto other shardings."""

from importlib.util import find_spec

import hosts
import pytest

if find_spec("tensorstore") is None:
    pytest.skip(
        "TensorStore is an extra: pip install 'ricci[tensorstore]'", allow_module_level=True
    )

PROGRAM = """
import sys
import numpy as np
import ricci
from ricci.experimental.array_serialization import pytree_serialization as trees
from ricci.experimental.array_serialization import serialization
from ricci.sharding import Mesh, NamedSharding, PartitionSpec

ricci.distributed.initialize()
rank, folder = ricci.process_index(), sys.argv[1]
mesh = Mesh(np.array(ricci.devices()).reshape(2, -1), ("x", "y"))
over = lambda *axes: NamedSharding(mesh, PartitionSpec(*axes))
whole = np.arange(32, dtype=np.float32).reshape(8, 4)
array = ricci.make_array_from_callback(whole.shape, over("x", "y"), lambda index: whole[index])

def check(found, factor=1):
    for shard in found.addressable_shards:
        np.testing.assert_array_equal(shard.data, factor * whole[shard.index])

saving = trees.nonblocking_save({"a": array, "b": [None, array]}, f"{folder}/tree")
saving.result()
found = trees.load(f"{folder}/tree", {"a": over("y"), "b": over()})
check(found["a"])
check(found["b"][1])

manager, done = serialization.GlobalAsyncCheckpointManager(timeout_secs=60), []
for i in (1, 2):
    path = f"{folder}/array{i}"
    manager.serialize_with_paths([ricci.jit(lambda x: i * x)(array)], [path],
                                 on_commit_callback=lambda: done.append(path))
    manager.wait_until_finished()
    check(manager.deserialize_with_paths([over(None, "x")], [path])[0], i)
assert len(done) == (2 if rank == 0 else 0)

try:
    manager.serialize_with_paths([ricci.numpy.ones(2)], [f"{folder}/own"])
except ValueError as error:
    print(error)
impatient = serialization.GlobalAsyncCheckpointManager(timeout_secs=1)
if rank == 0:
    impatient.serialize_with_paths([array], [f"{folder}/late"])
    try:
        impatient.wait_until_finished()
    except serialization.BarrierTimeoutError as error:
        print(error)
print("saved and loaded")
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    file = folder / "program.py"
    file.write_text(PROGRAM)
    return hosts.run(file, 2, str(folder), limit=120.0)


def test_saved_arrays_are_loaded_in_both_processes(ends):
    assert [end.code for end in ends] == [0, 0], ends[0].err[-2000:] + ends[1].err[-2000:]
    assert all("saved and loaded" in end.out for end in ends)


def test_arrays_of_single_processes_are_refused(ends):
    assert all("devices of this process alone" in end.out for end in ends)


def test_a_process_that_does_not_come_is_not_waited_for(ends):
    assert "process 0 waited 1 s for the others" in ends[0].out
