"""Protocols of Python, and of tools that read objects: arrays, shardings and public functions."""

import copy
import importlib
import io
import pickle
import sys

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="arrays need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from ricci_xla import DeviceList, GSPMDSharding, HloSharding

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


def _line():
    return Mesh(np.array(jax.devices()), "x")


OBJECTS = {
    "NamedSharding": lambda: NamedSharding(_line(), PartitionSpec("x")),
    "NamedSharding in a memory": lambda: NamedSharding(_line(), PartitionSpec(), "device"),
    "SingleDeviceSharding": lambda: SingleDeviceSharding(jax.devices()[-1]),
    "GSPMDSharding": lambda: GSPMDSharding(
        DeviceList(tuple(jax.devices())), HloSharding.replicate(), memory_kind="device"
    ),
    "Mesh": _line,
    "AbstractMesh": lambda: _line().abstract_mesh,
    "PartitionSpec": lambda: PartitionSpec("x", None, PartitionSpec.UNCONSTRAINED),
    "ShapeDtypeStruct": lambda: jax.ShapeDtypeStruct(
        (8,), jnp.float32, sharding=NamedSharding(_line(), PartitionSpec("x"))
    ),
    "device": lambda: jax.devices()[-1],
    "dtype of keys": lambda: jax.random.key(0).dtype,
    "dtype": lambda: jnp.dtype("bfloat16"),
    "scalar type": lambda: jnp.float32,
    "tree": lambda: jax.tree.structure({"a": [1, None]}),
}
ARRAYS = {
    "array": lambda: jnp.arange(3.0),
    "weak": lambda: jnp.asarray(2.0),
    "bfloat16": lambda: jnp.ones(3, jnp.bfloat16),
    "int4": lambda: jnp.ones(3, jnp.int4),
    "on a device": lambda: jax.device_put(jnp.arange(3.0), jax.devices()[-1]),
    "on several": lambda: jax.device_put(jnp.arange(8.0), OBJECTS["NamedSharding"]()),
    "keys": lambda: jax.random.split(jax.random.key(3), 2),
    "old keys": lambda: jax.random.PRNGKey(3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OBJECTS)
def test_copies_are_equal(name, way):
    value = OBJECTS[name]()
    assert WAYS[way](value) == value


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ARRAYS)
def test_copies_of_arrays_are_other_arrays_with_the_same_values(name, way):
    x = ARRAYS[name]()
    y = WAYS[way](x)
    assert y is not x
    assert (y.shape, y.dtype, jax.typeof(y)) == (x.shape, x.dtype, jax.typeof(x))
    assert bool((y == x).all())
    if way != "pickle":
        assert y.sharding == x.sharding
    x.delete()
    assert not y.is_deleted()


def test_a_pickle_names_devices_that_must_be_there():
    device = jax.devices()[0]
    data = pickle.dumps(device)
    assert pickle.loads(data) is device
    other = data.replace(b"K\x00", b"K\xc8")  # device 200
    with pytest.raises(RuntimeError, match="device 200"):
        pickle.loads(other)


NAMESPACES = ["numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "random"]
NAMESPACES += ["scipy.linalg", "scipy.special", "scipy.stats.norm", "image", "tree_util", "ops"]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_public_functions_are_pickled_by_their_name(namespace):
    module = importlib.import_module(f"ricci.{namespace}")
    lost = []
    for name in module.__all__:
        value = getattr(module, name)
        if type(value).__name__ == "function":
            try:
                assert pickle.loads(pickle.dumps(value)) is value
            except Exception as error:  # noqa: BLE001 - all that fail are listed
                lost.append(f"{name}: {error}")
    assert not lost


@pytest.mark.parametrize(
    ("namespace", "alias"), [("numpy", "amax"), ("numpy", "amin"), ("numpy", "max")]
)
def test_an_alias_has_its_own_name(namespace, alias):
    function = getattr(importlib.import_module(f"ricci.{namespace}"), alias)
    assert (function.__name__, function.__module__) == (alias, f"ricci.{namespace}")


@pytest.mark.parametrize("name", ["nin", "nout", "nargs", "identity"])
def test_attributes_of_ufuncs_are_read_only(name):
    with pytest.raises(AttributeError):
        setattr(jnp.add, name, 3)
    assert (jnp.add.nin, jnp.add.nout, jnp.add.nargs, jnp.add.identity) == (2, 1, 2, 0)


def test_copying_to_the_host_reaches_all_that_can():
    called = []

    class Box:
        def copy_to_host_async(self):
            called.append(self)

    box = Box()
    tree = [box, 3, "text", None, np.ones(2), jnp.ones(2), jax.random.key(0), {"in": box}]
    assert jax.copy_to_host_async(tree) is tree
    assert called == [box, box]


def test_the_class_of_arrays_has_their_methods_and_attributes():
    x = jnp.ones(2)
    missing = [name for name in dir(x) if name[0] != "_" and not hasattr(jax.Array, name)]
    # Two tell arrays from other objects, the others are the runtime's own.
    assert set(missing) == {"aval", "weak_type", "clone", "format", "unsafe_raw_buffer"}
    assert isinstance(jax.Array.__dict__["shape"], property)
    assert callable(jax.Array.sum)
    assert callable(jax.Array.__add__)
    assert not isinstance(jax.Array, jax.Array)
    with pytest.raises(TypeError, match="takes arrays"):
        jnp.sin(jax.Array)


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
TAKES = {
    "asarray": jnp.asarray,
    "sin": jnp.sin,
    "left": lambda x: x + jnp.ones(2),
    "right": lambda x: jnp.ones(2) + x,
    "add": lambda x: jnp.add(x, x),
    "where": lambda x: jnp.where(x > 0, x, x),
    "set": lambda x: jnp.ones(2).at[:].set(x),
    "index": lambda x: jnp.ones(3)[x.astype(int)],
    "mask": lambda x: jnp.ones(2)[x > 0],
    "set at": lambda x: jnp.ones(3).at[x.astype(int)].set(0),
    "scan": lambda x: jax.lax.scan(lambda c, y: (c, y), 0.0, x),
    "cond": lambda x: jax.lax.cond(True, lambda y: y, lambda y: y, x),
    "jvp": lambda x: jax.jvp(jnp.sin, (x,), (x,)),
    "checkpoint": lambda x: jax.checkpoint(jnp.sin)(x),
    "choice": lambda x: jax.random.choice(jax.random.key(0), x),
    "sum": jnp.sum,
    "device_put": jax.device_put,
    "jit": jax.jit(lambda x: x),
    "grad": jax.grad(lambda x: x.sum()),
    "vmap": jax.vmap(lambda x: x),
    "make_jaxpr": jax.make_jaxpr(lambda x: x),
    "eval_shape": lambda x: jax.eval_shape(lambda y: y, x),
    "tree": lambda x: jax.tree.map(jnp.sin, [x]),
}


@pytest.mark.sampled(17)
@pytest.mark.parametrize("before", [False, True], ids=["first", "after an array"])
@pytest.mark.parametrize("name", TAKES)
def test_masked_arrays_are_refused(name, before):
    if before:
        if name == "jit":
            pytest.skip("jaxlib runs later calls, and reads a masked array as its data, as in JAX")
        TAKES[name](np.ones(2))
    with pytest.raises(ValueError, match="mask"):
        TAKES[name](MASKED)


def test_a_program_can_be_copied():
    program = jax.make_jaxpr(jnp.sin)(1.0)
    again = copy.copy(program)
    assert again is not program
    assert str(again) == str(program)


def test_options_can_be_copied():
    assert copy.copy(jax.config).jax_enable_x64 == jax.config.jax_enable_x64


def test_the_description_of_the_installation():
    text = jax.print_environment_info(return_string=True)
    starts = [line.partition(":")[0] for line in text.splitlines()]
    wanted = ["ricci", "jaxlib", "numpy", "python", "device info", "process_count", "platform"]
    assert [name for name in starts if name in wanted] == wanted
    printed, before = io.StringIO(), sys.stdout
    sys.stdout = printed
    try:
        assert jax.print_environment_info() is None
    finally:
        sys.stdout = before
    assert printed.getvalue().startswith("ricci:")
