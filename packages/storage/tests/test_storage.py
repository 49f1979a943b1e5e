"""Arrays and pytrees come back as they were saved, onto any sharding; bad input says what it is."""

import asyncio
import collections
import json
import os
import threading

import numpy as np
import pytest

import ricci_numpy as jnp
import ricci_storage as storage
from ricci_ir import ShapeDtypeStruct, config
from ricci_parallel import device_put
from ricci_pytree import tree_flatten, tree_structure
from ricci_xla import (
    Format,
    Layout,
    Mesh,
    NamedSharding,
    PartitionSpec,
    devices,
    jit,
    single_device_sharding,
)

pytest.importorskip(
    "tensorstore", reason="it is an extra: pip install 'ricci-storage[tensorstore]'"
)

HERE = single_device_sharding(devices()[0])
DTYPES = "float32 float16 bfloat16 int8 uint32 bool complex64 float8_e4m3fn int4".split()


def over(*axes):
    """A sharding of two by four devices."""
    if len(devices()) < 8:
        pytest.skip(f"needs 8 devices, there are {len(devices())}")
    mesh = Mesh(np.array(devices()[:8]).reshape(2, 4), ("x", "y"))
    return NamedSharding(mesh, PartitionSpec(*axes))


def numbers(*shape, dtype="float32"):
    return jnp.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def same(found, expected):
    assert tree_structure(found) == tree_structure(expected)
    for x, y in zip(tree_flatten(found)[0], tree_flatten(expected)[0], strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


Point = collections.namedtuple("Point", "x y")
TREES = {
    "an array": numbers(2, 3),
    "a scalar": jnp.float32(2.5),
    "empty": [numbers(0, 3)],
    "no arrays": {"a": [], "b": ()},
    "None": {"a": None, "b": [numbers(2), None, (numbers(3, dtype="int32"),)]},
    "ordered": collections.OrderedDict(z=numbers(2), a=numbers(1)),
    "NumPy": [np.arange(6).reshape(2, 3).astype("int16")],
}


@pytest.mark.parametrize("name", TREES)
def test_a_pytree_comes_back(name, tmp_path):
    storage.save(TREES[name], tmp_path / "a")
    same(storage.load(tmp_path / "a", HERE), TREES[name])


def test_dtypes_come_back(tmp_path):
    tree = {name: numbers(2, 2, dtype=name) for name in DTYPES}
    storage.save(tree, tmp_path)
    same(storage.load(tmp_path, HERE), tree)


def test_wide_dtypes_come_back(tmp_path):
    before = config.jax_enable_x64
    try:
        config.update("jax_enable_x64", True)
        tree = [numbers(3, dtype="float64") / 3, numbers(2, dtype="int64") + 2**40]
        storage.save(tree, tmp_path)
        same(storage.load(tmp_path, HERE), tree)
        config.update("jax_enable_x64", False)
        assert [x.dtype for x in storage.load(tmp_path, HERE)] == ["float32", "int32"]
    finally:
        config.update("jax_enable_x64", before)


def test_types_are_known_before_arrays_are_loaded(tmp_path):
    storage.save({"w": numbers(2, 3, dtype="bfloat16"), "n": None}, tmp_path)
    assert storage.load_pytreedef(tmp_path) == {
        "w": ShapeDtypeStruct((2, 3), "bfloat16"),
        "n": None,
    }


def test_arrays_are_loaded_onto_another_sharding(tmp_path):
    tree = [device_put(numbers(8, 8), over("x", "y")), device_put(numbers(8), over("y"))]
    storage.save(tree, tmp_path)
    for places in ([over("y"), over()], [over(None, ("x", "y")), over("x")], HERE):
        found = storage.load(tmp_path, places)
        same(found, tree)
        wanted = places if isinstance(places, list) else [places] * 2
        assert [x.sharding for x in found] == wanted


def test_dtypes_and_layouts_of_choice(tmp_path):
    storage.save([numbers(2, 3), numbers(3)], tmp_path)
    wanted = ShapeDtypeStruct((2, 3), "int32", sharding=HERE)
    order = Format(Layout((1, 0)), HERE)
    found = storage.load(tmp_path, [wanted, HERE])
    assert [x.dtype for x in found] == ["int32", "float32"]
    [found, _] = storage.load(tmp_path, [order, HERE])
    assert found.format.layout.major_to_minor == (1, 0)
    same(found, numbers(2, 3))


def test_what_is_masked_is_not_loaded(tmp_path):
    storage.save({"a": numbers(2), "b": [numbers(3), numbers(4)]}, tmp_path)
    found = storage.load(tmp_path, HERE, mask={"a": False, "b": [True, False]})
    assert found["a"] is found["b"][1] is None
    assert found["b"][0].shape == (3,)


def test_named_tuples_that_are_registered(tmp_path):
    with pytest.raises(ValueError, match=r"test_storage\.Point.*register_namedtuple"):
        storage.save(Point(numbers(1), numbers(2)), tmp_path)


def test_a_saved_pytree_is_replaced(tmp_path):
    storage.save([numbers(2), numbers(3)], tmp_path)
    storage.save({"a": numbers(4)}, tmp_path)
    same(storage.load(tmp_path, HERE), {"a": numbers(4)})
    with pytest.raises(ValueError, match="overwrite=False"):
        storage.save([numbers(1)], tmp_path, overwrite=False)


def test_entries_of_specifications_count_first(tmp_path):
    array = numbers(4, 4)
    spec = storage.get_tensorstore_spec(tmp_path / "array_store" / "0", arr=array)
    spec["metadata"]["chunk_grid"]["configuration"]["chunk_shape"] = [2, 2]
    storage.save([array], tmp_path, ts_specs=[spec])
    same(storage.load(tmp_path, HERE), [array])
    spec["metadata"]["chunk_grid"]["configuration"]["chunk_shape"] = [3, 3]
    with pytest.raises(ValueError, match=r"chunks have shape \(3, 3\)"):
        storage.save([array], tmp_path, ts_specs=[spec])


def test_in_the_background(tmp_path):
    tree = {"w": numbers(100, 100)}
    saving = storage.nonblocking_save(tree, tmp_path)
    assert saving.pytree == {"w": ShapeDtypeStruct((100, 100), "float32")}
    assert saving.result() is None and saving.done()
    loading = storage.nonblocking_load(tmp_path, HERE)
    assert loading.pytree == saving.pytree
    same(loading.result(), tree)

    async def awaited():
        return await storage.nonblocking_load(tmp_path, HERE)

    same(asyncio.run(awaited()), tree)
    failed = storage.nonblocking_save(tree, "/proc/none")
    with pytest.raises(OSError, match="/proc/none"):
        failed.result()


def test_in_a_running_event_loop(tmp_path):
    async def cell():
        storage.save([numbers(3)], tmp_path)
        return storage.load(tmp_path, HERE)

    same(asyncio.run(cell()), [numbers(3)])


BAD_SAVES = {
    "a number": (lambda path: storage.save([1.0], path), ValueError, "found a float"),
    "keys of dicts": (lambda path: storage.save({1: numbers(1)}, path), TypeError, "the key 1"),
    "a bucket": (lambda path: storage.save([], "gs://b/a"), ValueError, "in folders only"),
    "a prefix": (
        lambda path: storage.save([numbers(1)], path, ts_specs=[None, None]),
        ValueError,
        "ts_specs does not match",
    ),
}


@pytest.mark.parametrize("name", BAD_SAVES)
def test_what_cannot_be_saved(name, tmp_path):
    action, error, message = BAD_SAVES[name]
    with pytest.raises(error, match=message):
        action(tmp_path)
    assert not os.listdir(tmp_path)


def test_other_files_are_not_removed(tmp_path):
    (tmp_path / "thesis.txt").write_text("")
    with pytest.raises(RuntimeError, match=r"thesis\.txt"):
        storage.save([numbers(1)], tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def altered(change):
    def alter(path):
        file = path / "pytreedef.json"
        file.write_text(change(file.read_text()))

    return alter


def spoil_arrays(path):
    for file in (path / "array_store" / "d").iterdir():
        file.write_bytes(file.read_bytes()[::-1])


BAD_FILES = {
    "cut": (altered(lambda text: text[:20]), json.JSONDecodeError, "pytreedef.json is damaged"),
    "a list": (altered(lambda text: "[]"), ValueError, "holds a list"),
    "no tree": (altered(lambda text: "{}"), KeyError, "__jax_leaf_ids"),
    "fewer leaves": (
        altered(lambda text: text.replace('"Array(float32[3])",', "")),
        ValueError,
        "1 leaves of a structure of 2",
    ),
    "another tree": (altered(lambda text: text.replace("AAAA", "AQAA", 1)), ValueError, "."),
    "no arrays": (
        lambda path: (path / "array_store/manifest.ocdbt").unlink(),
        ValueError,
        "0/zarr",
    ),
    "spoilt arrays": (spoil_arrays, ValueError, "DATA_LOSS"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_altered_files(name, tmp_path):
    storage.save([numbers(3), numbers(4)], tmp_path)
    alter, error, message = BAD_FILES[name]
    alter(tmp_path)
    with pytest.raises(error, match=message) as caught:
        storage.load(tmp_path, HERE)
    assert len(str(caught.value)) < 1000
    storage.save([numbers(3)], tmp_path)
    same(storage.load(tmp_path, HERE), [numbers(3)])


def test_a_missing_folder(tmp_path):
    with pytest.raises(AssertionError, match="there is no folder"):
        storage.load(tmp_path / "none", HERE)
    with pytest.raises(FileNotFoundError):
        storage.load_pytreedef(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        storage.load(tmp_path, HERE)


@pytest.mark.parametrize(
    ("shardings", "error", "message"),
    [
        (None, TypeError, "must be a Sharding"),
        ([HERE], ValueError, "shardings does not match"),
        ([HERE, ShapeDtypeStruct((5,), "float32")], TypeError, "ShapeDtypeStruct with either"),
    ],
)
def test_shardings_that_do_not_fit(shardings, error, message, tmp_path):
    storage.save([numbers(4), numbers(5)], tmp_path)
    with pytest.raises(error, match=message):
        storage.load(tmp_path, shardings)


def test_a_sharding_that_cannot_divide(tmp_path):
    storage.save([numbers(5)], tmp_path)
    with pytest.raises(ValueError, match="divides dimension 0, of size 5"):
        storage.load(tmp_path, over("y"))


# What a manager of checkpoints does.


def test_a_manager_writes_and_calls(tmp_path):
    manager, done = storage.GlobalAsyncCheckpointManager(), []
    arrays = [device_put(numbers(8, 8), over("x", "y")), numbers(5, dtype="int32")]
    paths = [str(tmp_path / name) for name in "ab"]
    manager.serialize_with_paths(arrays, paths, on_commit_callback=lambda: done.append(1))
    manager.wait_until_finished()
    assert done == [1]
    found = manager.deserialize_with_paths([over("y"), HERE], paths)
    same(found, arrays)
    assert len([name for name in os.listdir(paths[0]) if name != ".zarray"]) == 8


def test_shapes_and_dtypes_of_choice(tmp_path):
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    manager.serialize([numbers(4, 4)], [spec])
    [found] = manager.deserialize([HERE], [spec], [(6, 3)], ["int32"])
    expected = np.zeros((6, 3), np.int32)
    expected[:4] = np.asarray(numbers(4, 4))[:, :3]
    same(found, jnp.asarray(expected))
    [divided] = manager.deserialize([over(("x", "y"))], [spec], [(16, 4)])
    np.testing.assert_array_equal(np.asarray(divided)[:4], numbers(4, 4))
    assert not np.asarray(divided)[4:].any()
    with pytest.raises(ValueError, match=r"global_shape=\(4,\) has rank 1"):
        manager.deserialize([HERE], [spec], [(4,)])


def test_an_array_may_be_donated_once_it_is_being_written(tmp_path):
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    array, expected = numbers(200, 200), np.arange(40000.0).reshape(200, 200)
    manager.serialize([array], [spec])
    jit(lambda x: x * 0, donate_argnums=0)(array).block_until_ready()
    np.testing.assert_array_equal(manager.deserialize([HERE], [spec])[0], expected)


def test_an_error_of_the_callback_is_raised_once():
    manager = storage.GlobalAsyncCheckpointManager()

    def fail():
        raise ValueError(f"in {threading.current_thread().name}")

    manager.serialize([], [], on_commit_callback=fail)
    with pytest.raises(ValueError, match="in Thread"):
        manager.wait_until_finished()
    manager.wait_until_finished()


def test_what_a_manager_refuses(tmp_path):
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    with pytest.raises(ValueError, match="1 arrays and 2 tensorstore_specs"):
        manager.serialize([numbers(1)], [spec, spec])
    with pytest.raises(ValueError, match="shardings has 2 entries for 1"):
        manager.deserialize([HERE, HERE], [spec])
    with pytest.raises(ValueError, match="NOT_FOUND"):
        manager.deserialize([HERE], [spec])
    manager.serialize([numbers(2)], [spec])
    with pytest.raises(ValueError, match="FAILED_PRECONDITION"):
        manager.serialize([numbers(2, dtype="int32")], [spec])
    manager.wait_until_finished()
    same(manager.deserialize([HERE], [spec]), [numbers(2)])


def test_a_transaction_writes_at_its_end(tmp_path):
    import_module = pytest.importorskip("tensorstore")
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    with import_module.Transaction() as transaction:
        manager.serialize([numbers(2)], [spec], transaction=transaction)
        manager.wait_until_finished()
        assert not os.listdir(tmp_path)
    same(manager.deserialize([HERE], [spec]), [numbers(2)])


def test_few_bytes_at_a_time(tmp_path):
    specs = [storage.get_tensorstore_spec(tmp_path / str(i), ocdbt=False) for i in range(4)]
    arrays = [numbers(64) + i for i in range(4)]
    storage.run_serialization(arrays, specs)
    same(storage.run_deserialization([HERE] * 4, specs, concurrent_gb=2e-7), arrays)


def test_databases_of_processes_are_joined(tmp_path):
    """What the first of several processes does at the end of a save."""
    folders = [tmp_path / "process_0", tmp_path / "process_1"]
    for i, folder in enumerate(folders):
        spec = storage.get_tensorstore_spec(folder / str(i), arr=numbers(3))
        storage.run_serialization([numbers(3) + i], [spec])
    database = lambda path: {"driver": "ocdbt", "base": {"driver": "file", "path": f"{path}/"}}
    storage.combine_kvstores(database(tmp_path), list(map(database, folders)))
    specs = [storage.get_tensorstore_spec(tmp_path / str(i)) for i in range(2)]
    same(storage.run_deserialization([HERE] * 2, specs), [numbers(3), numbers(3) + 1])
