"""Save and load arrays and pytrees, onto any sharding; errors name the invalid argument."""

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

DEVICE_0 = single_device_sharding(devices()[0])
DTYPES = "float32 float16 bfloat16 int8 uint32 bool complex64 float8_e4m3fn int4".split()


def over(*axes):
    """A sharding of two by four devices."""
    if len(devices()) < 8:
        pytest.skip(f"needs 8 devices, there are {len(devices())}")
    mesh = Mesh(np.array(devices()[:8]).reshape(2, 4), ("x", "y"))
    return NamedSharding(mesh, PartitionSpec(*axes))


def numbers(*shape, dtype="float32"):
    return jnp.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def assert_same(loaded, expected):
    assert tree_structure(loaded) == tree_structure(expected)
    for x, y in zip(tree_flatten(loaded)[0], tree_flatten(expected)[0], strict=True):
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
def test_a_pytree_is_loaded_as_saved(name, tmp_path):
    storage.save(TREES[name], tmp_path / "a")
    assert_same(storage.load(tmp_path / "a", DEVICE_0), TREES[name])


def test_dtypes_are_loaded_as_saved(tmp_path):
    tree = {name: numbers(2, 2, dtype=name) for name in DTYPES}
    storage.save(tree, tmp_path)
    assert_same(storage.load(tmp_path, DEVICE_0), tree)


def test_64_bit_dtypes_are_loaded_as_saved_with_x64(tmp_path):
    before = config.jax_enable_x64
    try:
        config.update("jax_enable_x64", True)
        tree = [numbers(3, dtype="float64") / 3, numbers(2, dtype="int64") + 2**40]
        storage.save(tree, tmp_path)
        assert_same(storage.load(tmp_path, DEVICE_0), tree)
        config.update("jax_enable_x64", False)
        assert [x.dtype for x in storage.load(tmp_path, DEVICE_0)] == ["float32", "int32"]
    finally:
        config.update("jax_enable_x64", before)


def test_load_pytreedef_returns_types_without_loading_arrays(tmp_path):
    storage.save({"w": numbers(2, 3, dtype="bfloat16"), "n": None}, tmp_path)
    assert storage.load_pytreedef(tmp_path) == {
        "w": ShapeDtypeStruct((2, 3), "bfloat16"),
        "n": None,
    }


def test_arrays_are_loaded_onto_another_sharding(tmp_path):
    tree = [device_put(numbers(8, 8), over("x", "y")), device_put(numbers(8), over("y"))]
    storage.save(tree, tmp_path)
    for targets in ([over("y"), over()], [over(None, ("x", "y")), over("x")], DEVICE_0):
        loaded = storage.load(tmp_path, targets)
        assert_same(loaded, tree)
        shardings = targets if isinstance(targets, list) else [targets] * 2
        assert [x.sharding for x in loaded] == shardings


def test_load_converts_to_a_given_dtype_and_layout(tmp_path):
    storage.save([numbers(2, 3), numbers(3)], tmp_path)
    struct = ShapeDtypeStruct((2, 3), "int32", sharding=DEVICE_0)
    order = Format(Layout((1, 0)), DEVICE_0)
    loaded = storage.load(tmp_path, [struct, DEVICE_0])
    assert [x.dtype for x in loaded] == ["int32", "float32"]
    [loaded, _] = storage.load(tmp_path, [order, DEVICE_0])
    assert loaded.format.layout.major_to_minor == (1, 0)
    assert_same(loaded, numbers(2, 3))


def test_masked_leaves_are_not_loaded(tmp_path):
    storage.save({"a": numbers(2), "b": [numbers(3), numbers(4)]}, tmp_path)
    loaded = storage.load(tmp_path, DEVICE_0, mask={"a": False, "b": [True, False]})
    assert loaded["a"] is loaded["b"][1] is None
    assert loaded["b"][0].shape == (3,)


def test_unregistered_named_tuples_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"test_storage\.Point.*register_namedtuple"):
        storage.save(Point(numbers(1), numbers(2)), tmp_path)


def test_save_replaces_a_saved_pytree(tmp_path):
    storage.save([numbers(2), numbers(3)], tmp_path)
    storage.save({"a": numbers(4)}, tmp_path)
    assert_same(storage.load(tmp_path, DEVICE_0), {"a": numbers(4)})
    with pytest.raises(ValueError, match="overwrite=False"):
        storage.save([numbers(1)], tmp_path, overwrite=False)


def test_entries_of_ts_specs_take_precedence(tmp_path):
    array = numbers(4, 4)
    spec = storage.get_tensorstore_spec(tmp_path / "array_store" / "0", arr=array)
    spec["metadata"]["chunk_grid"]["configuration"]["chunk_shape"] = [2, 2]
    storage.save([array], tmp_path, ts_specs=[spec])
    assert_same(storage.load(tmp_path, DEVICE_0), [array])
    spec["metadata"]["chunk_grid"]["configuration"]["chunk_shape"] = [3, 3]
    with pytest.raises(ValueError, match=r"chunks have shape \(3, 3\)"):
        storage.save([array], tmp_path, ts_specs=[spec])


def test_nonblocking_save_and_load_return_futures(tmp_path):
    tree = {"w": numbers(100, 100)}
    saving = storage.nonblocking_save(tree, tmp_path)
    assert saving.pytree == {"w": ShapeDtypeStruct((100, 100), "float32")}
    assert saving.result() is None and saving.done()
    loading = storage.nonblocking_load(tmp_path, DEVICE_0)
    assert loading.pytree == saving.pytree
    assert_same(loading.result(), tree)

    async def awaited():
        return await storage.nonblocking_load(tmp_path, DEVICE_0)

    assert_same(asyncio.run(awaited()), tree)
    failed = storage.nonblocking_save(tree, "/proc/none")
    with pytest.raises(OSError, match="/proc/none"):
        failed.result()


def test_save_and_load_run_inside_a_running_event_loop(tmp_path):
    async def cell():
        storage.save([numbers(3)], tmp_path)
        return storage.load(tmp_path, DEVICE_0)

    assert_same(asyncio.run(cell()), [numbers(3)])


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
def test_save_refuses_invalid_arguments_and_writes_nothing(name, tmp_path):
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
def test_damaged_files_raise_short_errors_and_can_be_replaced(name, tmp_path):
    storage.save([numbers(3), numbers(4)], tmp_path)
    alter, error, message = BAD_FILES[name]
    alter(tmp_path)
    with pytest.raises(error, match=message) as caught:
        storage.load(tmp_path, DEVICE_0)
    assert len(str(caught.value)) < 1000
    storage.save([numbers(3)], tmp_path)
    assert_same(storage.load(tmp_path, DEVICE_0), [numbers(3)])


def test_load_raises_for_a_missing_folder(tmp_path):
    with pytest.raises(AssertionError, match="does not exist"):
        storage.load(tmp_path / "none", DEVICE_0)
    with pytest.raises(FileNotFoundError):
        storage.load_pytreedef(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        storage.load(tmp_path, DEVICE_0)


@pytest.mark.parametrize(
    ("shardings", "error", "message"),
    [
        (None, TypeError, "must be a Sharding"),
        ([DEVICE_0], ValueError, "shardings does not match"),
        ([DEVICE_0, ShapeDtypeStruct((5,), "float32")], TypeError, "ShapeDtypeStruct with either"),
    ],
)
def test_load_refuses_invalid_shardings(shardings, error, message, tmp_path):
    storage.save([numbers(4), numbers(5)], tmp_path)
    with pytest.raises(error, match=message):
        storage.load(tmp_path, shardings)


def test_load_refuses_a_sharding_that_does_not_divide_the_shape(tmp_path):
    storage.save([numbers(5)], tmp_path)
    with pytest.raises(ValueError, match="divides dimension 0, of size 5"):
        storage.load(tmp_path, over("y"))


# GlobalAsyncCheckpointManager


def test_manager_writes_shards_and_calls_back(tmp_path):
    manager, done = storage.GlobalAsyncCheckpointManager(), []
    arrays = [device_put(numbers(8, 8), over("x", "y")), numbers(5, dtype="int32")]
    paths = [str(tmp_path / name) for name in "ab"]
    manager.serialize_with_paths(arrays, paths, on_commit_callback=lambda: done.append(1))
    manager.wait_until_finished()
    assert done == [1]
    loaded = manager.deserialize_with_paths([over("y"), DEVICE_0], paths)
    assert_same(loaded, arrays)
    assert len([name for name in os.listdir(paths[0]) if name != ".zarray"]) == 8


def test_manager_crops_pads_and_converts(tmp_path):
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    manager.serialize([numbers(4, 4)], [spec])
    [loaded] = manager.deserialize([DEVICE_0], [spec], [(6, 3)], ["int32"])
    expected = np.zeros((6, 3), np.int32)
    expected[:4] = np.asarray(numbers(4, 4))[:, :3]
    assert_same(loaded, jnp.asarray(expected))
    [sharded] = manager.deserialize([over(("x", "y"))], [spec], [(16, 4)])
    np.testing.assert_array_equal(np.asarray(sharded)[:4], numbers(4, 4))
    assert not np.asarray(sharded)[4:].any()
    with pytest.raises(ValueError, match=r"global_shape=\(4,\) has rank 1"):
        manager.deserialize([DEVICE_0], [spec], [(4,)])


def test_an_array_may_be_donated_once_it_is_being_written(tmp_path):
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    array, expected = numbers(200, 200), np.arange(40000.0).reshape(200, 200)
    manager.serialize([array], [spec])
    jit(lambda x: x * 0, donate_argnums=0)(array).block_until_ready()
    np.testing.assert_array_equal(manager.deserialize([DEVICE_0], [spec])[0], expected)


def test_an_error_of_the_callback_is_raised_once():
    manager = storage.GlobalAsyncCheckpointManager()

    def fail():
        raise ValueError(f"in {threading.current_thread().name}")

    manager.serialize([], [], on_commit_callback=fail)
    with pytest.raises(ValueError, match="in Thread"):
        manager.wait_until_finished()
    manager.wait_until_finished()


def test_manager_refuses_invalid_arguments(tmp_path):
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    with pytest.raises(ValueError, match="1 arrays and 2 tensorstore_specs"):
        manager.serialize([numbers(1)], [spec, spec])
    with pytest.raises(ValueError, match="shardings has 2 entries for 1"):
        manager.deserialize([DEVICE_0, DEVICE_0], [spec])
    with pytest.raises(ValueError, match="NOT_FOUND"):
        manager.deserialize([DEVICE_0], [spec])
    manager.serialize([numbers(2)], [spec])
    with pytest.raises(ValueError, match="FAILED_PRECONDITION"):
        manager.serialize([numbers(2, dtype="int32")], [spec])
    manager.wait_until_finished()
    assert_same(manager.deserialize([DEVICE_0], [spec]), [numbers(2)])


def test_a_transaction_writes_at_its_end(tmp_path):
    import_module = pytest.importorskip("tensorstore")
    manager = storage.GlobalAsyncCheckpointManager()
    spec = storage.get_tensorstore_spec(tmp_path / "a", ocdbt=False)
    with import_module.Transaction() as transaction:
        manager.serialize([numbers(2)], [spec], transaction=transaction)
        manager.wait_until_finished()
        assert not os.listdir(tmp_path)
    assert_same(manager.deserialize([DEVICE_0], [spec]), [numbers(2)])


def test_reads_are_limited_to_concurrent_gb(tmp_path):
    specs = [storage.get_tensorstore_spec(tmp_path / str(i), ocdbt=False) for i in range(4)]
    arrays = [numbers(64) + i for i in range(4)]
    storage.run_serialization(arrays, specs)
    assert_same(storage.run_deserialization([DEVICE_0] * 4, specs, concurrent_gb=2e-7), arrays)


def test_databases_of_processes_are_joined(tmp_path):
    """The last step of a save by several processes, done by process 0."""
    folders = [tmp_path / "process_0", tmp_path / "process_1"]
    for i, folder in enumerate(folders):
        spec = storage.get_tensorstore_spec(folder / str(i), arr=numbers(3))
        storage.run_serialization([numbers(3) + i], [spec])
    database = lambda path: {"driver": "ocdbt", "base": {"driver": "file", "path": f"{path}/"}}
    storage.combine_kvstores(database(tmp_path), list(map(database, folders)))
    specs = [storage.get_tensorstore_spec(tmp_path / str(i)) for i in range(2)]
    assert_same(storage.run_deserialization([DEVICE_0] * 2, specs), [numbers(3), numbers(3) + 1])
