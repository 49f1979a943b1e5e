"""Saved arrays and pytrees are exchanged with JAX, in both directions, onto other shardings."""

import importlib

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="arrays need the runtime")
pytest.importorskip("tensorstore", reason="it is an extra: pip install 'ricci[tensorstore]'")

from ricci_testing import Oracle, Request, compare, evaluate_with, ricci_namespace, shared_oracle

START = """
import importlib, json, collections
P, S, T, U = [
    importlib.import_module(jax.__name__ + ".experimental.array_serialization." + name)
    for name in ("pytree_serialization", "serialization", "tensorstore_impl",
                 "pytree_serialization_utils")
]
one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
mesh = jax.sharding.Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("x", "y"))
over = lambda *axes: jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
X = jax.device_put(jnp.arange(64.0).reshape(8, 8), over("x", "y"))
tree = {"x": X, "half": [X.astype("bfloat16"), None, (jnp.int32(7), jnp.zeros((0, 3)))],
        "ordered": collections.OrderedDict(z=jnp.ones(3, "complex64"), a=X.T[:, 0])}
paths = [f"{folder}/zarr", f"{folder}/zarr3", f"{folder}/base/database"]
specs = [S.get_tensorstore_spec(paths[0]), T.get_tensorstore_spec(paths[1], ocdbt=False),
         T.get_tensorstore_spec(paths[2], arr=X.astype("int8"))]
manager = S.GlobalAsyncCheckpointManager()
describe = lambda a: [a, str(a.sharding)]
"""
SAVE = """
P.save(tree, folder + "/tree")
manager.serialize([X, X * 2, X.astype("int8")], specs)
manager.wait_until_finished()
"saved"
"""
LOAD = """
places = {"x": over("y"), "half": over(), "ordered": {"z": one, "a": over("y")}}
places["ordered"] = collections.OrderedDict(z=one, a=over("y"))
found = P.load(folder + "/tree", places)
arrays = manager.deserialize([over("y"), one, over(None, "x")], specs)
grown = manager.deserialize([over("x")], specs[:1], [(10, 3)], ["int16"])
types = str(P.load_pytreedef(folder + "/tree"))
[found, jax.tree.map(describe, [arrays, grown]), types, str(jax.tree.structure(found))]
"""
SPECS = """
answers = []
for path in ("/d/w", "gs://b/d/w", "s3://b/d/w", "/d/w/"):
    for options in ({}, {"ocdbt": False}, {"process_idx": 2}, {"driver": "zarr"}):
        answers.append(json.dumps(T.get_tensorstore_spec(path, **options), sort_keys=True))
        if "driver" not in options:
            answers.append(json.dumps(S.get_tensorstore_spec(path, **options), sort_keys=True))
for driver in ("zarr", "zarr3"):
    answers.append(json.dumps(T.get_tensorstore_spec("/d/w", arr=X, driver=driver), sort_keys=True))
trees = ([], {"a": (1, None)}, collections.OrderedDict(b=1, a=[2]))
structures = [jax.tree.structure(tree) for tree in trees]
answers += [str(U.deserialize_pytreedef(U.serialize_pytreedef(tree))) for tree in structures]
answers
"""


@pytest.fixture(scope="module")
def oracle(eight_devices):
    if not Oracle.available():
        pytest.skip("oracle environment missing: run nox -s oracle")
    found = shared_oracle().run_many(
        [Request("import importlib.util as u\nu.find_spec('tensorstore') is not None", {})]
    )
    if not found[0].value:
        pytest.skip("the oracle's environment is older than the need of tensorstore in it")
    return lambda text, folder: shared_oracle().run_many(
        [Request(START + text, {"folder": str(folder)})]
    )[0]


def ours(text, folder):
    return evaluate_with(ricci_namespace(), START + text, {"folder": str(folder)})


def test_jax_loads_arrays_saved_by_ricci(oracle, tmp_path):
    assert ours(SAVE, tmp_path).value == "saved"
    compare(oracle(LOAD, tmp_path), ours(LOAD, tmp_path), source=LOAD, rtol=0.0)


def test_ricci_loads_arrays_saved_by_jax(oracle, tmp_path):
    assert oracle(SAVE, tmp_path).value == "saved"
    compare(ours(LOAD, tmp_path), oracle(LOAD, tmp_path), source=LOAD, rtol=0.0)


def test_specifications_are_those_of_jax(oracle, tmp_path):
    compare(ours(SPECS, tmp_path), oracle(SPECS, tmp_path), source=SPECS)


def test_both_names_are_one_module(tmp_path):
    """A program loads with ``ricci`` the files that a library saved with the drop-in."""
    theirs = importlib.import_module("jax.experimental.array_serialization.serialization")
    mine = importlib.import_module("ricci.experimental.array_serialization.serialization")
    assert issubclass(theirs.GlobalAsyncCheckpointManager, mine.GlobalAsyncCheckpointManagerBase)


def test_registered_named_tuples(tmp_path):
    ricci = importlib.import_module("ricci")
    trees = importlib.import_module("ricci.experimental.array_serialization.pytree_serialization")
    point = importlib.import_module("collections").namedtuple("Point", "x y")
    ricci.export.register_namedtuple_serialization(point, serialized_name="integration.Point")
    trees.save(point(ricci.numpy.ones(2), ricci.random.key_data(ricci.random.key(3))), tmp_path)
    place = ricci.sharding.SingleDeviceSharding(ricci.devices()[0])
    found = trees.load(tmp_path, place)
    assert type(found) is point
    np.testing.assert_array_equal(found.y, [0, 3])
