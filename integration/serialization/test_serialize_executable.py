"""Compiled functions as bytes: read in another process, or refused for lack of such a form."""

import os
import pickle
import random
import subprocess
import sys
from typing import Any

import msgspec
import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, jit
from ricci.experimental.serialize_executable import deserialize_and_load, serialize
from ricci_xla.files import FileError, read_file, write_file
from ricci_xla.serialized._serialize import EXECUTABLE_KIND

X = np.arange(4, dtype=np.float32)
BIG = np.arange(3000, dtype=np.float32)  # large enough to be an argument of the program


def scaled(tree, *, offset):
    return {"out": tree["x"] * 2 + offset, "total": jnp.asarray(BIG).sum()}


def compiled():
    return jit(scaled).lower({"x": X}, offset=1.0).compile()


def through_bytes(function: Any, *args, **options):
    return deserialize_and_load(*serialize(jit(function).lower(*args).compile()), **options)


def test_a_loaded_function_gives_the_same():
    original = compiled()
    loaded = deserialize_and_load(*serialize(original))
    for _ in range(2):
        out = loaded({"x": X}, offset=1.0)
        assert out["out"].tolist() == [1, 3, 5, 7]
        assert float(out["total"]) == BIG.sum()
    assert loaded.in_tree == original.in_tree and loaded.out_tree == original.out_tree
    assert str(loaded.in_avals) == str(original.in_avals)
    assert str(loaded.out_info) == str(original.out_info)
    assert loaded.args_info == original.args_info
    assert loaded.input_shardings == original.input_shardings
    assert loaded.cost_analysis() == original.cost_analysis()
    assert str(loaded.memory_analysis()) == str(original.memory_analysis())
    assert loaded.as_text() == original.as_text()


@pytest.mark.parametrize("wide", [False, True])
def test_types_come_back(wide):
    with ricci.enable_x64(wide):
        key = ricci.random.key(3)
        arguments = (key, 2.0, jnp.ones((0, 3)), None, jnp.arange(3, dtype=jnp.int8))

        def function(key, scale, empty, nothing, small):
            return ricci.random.split(key), scale * 2, empty.sum(), nothing, small + 1

        loaded, expected = through_bytes(function, *arguments), function(*arguments)
        found = loaded(*arguments)
        assert [str(a) for a in ricci.tree.leaves(found)] == [
            str(a) for a in ricci.tree.leaves(expected)
        ]
        assert [ricci.typeof(a) for a in ricci.tree.leaves(found)] == [
            ricci.typeof(a) for a in ricci.tree.leaves(jit(function)(*arguments))
        ]


def test_loaded_executable_runs_on_another_device(eight_devices):
    loaded = through_bytes(lambda x: x + 1, X, execution_devices=[eight_devices[3]])
    assert loaded(X).devices() == {eight_devices[3]}


def over(devices):
    mesh = ricci.sharding.Mesh(np.array(devices), ("x",))
    return NamedSharding(mesh, P("x"))


@pytest.mark.parametrize("order", [1, -1])
def test_loaded_executable_runs_over_eight_devices(order, eight_devices):
    x = np.arange(16, dtype=np.float32)
    function = lambda x: (x * 2, x.sum())
    original = jit(function).lower(ricci.device_put(x, over(eight_devices))).compile()
    there = eight_devices[::order]
    loaded = deserialize_and_load(*serialize(original), execution_devices=there)
    doubled, total = loaded(ricci.device_put(x, over(there)))
    assert doubled.tolist() == (x * 2).tolist() and float(total) == x.sum()
    assert doubled.sharding.is_equivalent_to(over(there), 1)


def test_loaded_executable_donates_its_arguments():
    x = jnp.ones(4) + 1
    original = jit(lambda x: x * 2, donate_argnums=0).lower(x).compile()
    loaded = deserialize_and_load(*serialize(original))
    assert loaded(x).tolist() == [4, 4, 4, 4]
    assert x.is_deleted() and loaded.donate_argnums == (0,)


OTHER_PROCESS = """
import pickle, sys
import numpy as np
import ricci.numpy as jnp, ricci
from ricci.experimental.serialize_executable import deserialize_and_load
compiled = []
note = lambda event, took, **_: compiled.append(event)
ricci.monitoring.register_event_duration_secs_listener(note)
data = open(sys.argv[1], "rb").read()
examples = (({"x": 0},), {"offset": 0}), {"out": 0, "total": 0}
trees = map(ricci.tree.structure, examples)
out = deserialize_and_load(data, *trees)({"x": np.arange(4, dtype=np.float32)}, offset=1.0)
assert not any("compile_duration" in event or "trace" in event for event in compiled), compiled
print(out["out"].tolist(), float(out["total"]))
"""


def test_another_process_loads_it(tmp_path):
    path = tmp_path / "scaled"
    path.write_bytes(serialize(compiled())[0])
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path), "RICCI_NUM_CPU_DEVICES": "2"}
    command = [sys.executable, "-c", OTHER_PROCESS, str(path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"[1.0, 3.0, 5.0, 7.0] {BIG.sum()}", done.stderr


def test_wrong_arguments_are_refused():
    loaded = deserialize_and_load(*serialize(compiled()))
    with pytest.raises(TypeError, match=r"argument tree\['x'\] of type float32\[4\], but was call"):
        loaded({"x": X[:3]}, offset=1.0)
    with pytest.raises(TypeError, match="arguments of another structure"):
        loaded(X)
    assert loaded({"x": X}, offset=1.0)["out"].tolist() == [1, 3, 5, 7]


def test_checks_know_no_equations():
    loaded = through_bytes(lambda x: jnp.log(x), X)
    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="was loaded compiled"):
        loaded(-X - 1)
    key = ricci.random.key(0)
    split = through_bytes(ricci.random.split, key)
    with ricci.config.state("jax_debug_key_reuse")(True):
        assert split(key).shape == (2,)


def called_back(x):
    return ricci.pure_callback(lambda a: a, x, x)


def printed(x):
    ricci.debug.print("{}", x)
    return x


@pytest.mark.parametrize(
    "function, message", [(called_back, "calls Python functions"), (printed, "has side effects")]
)
def test_functions_bound_to_this_process_are_not_serializable(function: Any, message):
    with pytest.raises(ValueError, match=message):
        serialize(jit(function).lower(X).compile())


def test_serialize_of_an_uncompiled_function_raises_type_error():
    with pytest.raises(TypeError, match="serialize takes the result of"):
        serialize(jit(scaled))  # pyright: ignore[reportArgumentType]


def test_devices_must_be_as_many(eight_devices):
    with pytest.raises(ValueError, match="has 2 devices, but <lambda> was compiled for 1"):
        through_bytes(lambda x: x, X, execution_devices=eight_devices[:2])


def test_structures_must_fit():
    data, in_tree, out_tree = serialize(jit(lambda x: (x, x)).lower(X).compile())
    with pytest.raises(ValueError, match="in_tree has 2 leaves, but <lambda> takes 1"):
        deserialize_and_load(data, out_tree, out_tree)
    with pytest.raises(ValueError, match="out_tree has 1 leaves, but <lambda> has 2"):
        deserialize_and_load(data, in_tree, in_tree)


def changed(data, **changes):
    record = read_file(EXECUTABLE_KIND, data, "here")
    return write_file(EXECUTABLE_KIND, msgspec.structs.replace(record, **changes))


BAD = {
    "a pickle": lambda data: pickle.dumps(os.getcwd),
    "truncated": lambda data: data[:-10],
    "nothing": lambda data: b"",
    "of another jaxlib": lambda data: changed(data, environment={"platform": "cpu: cpu"}),
    "without a program": lambda data: changed(data, code=b"no program"),
    "with fewer types": lambda data: changed(data, in_types=[]),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_bytes_are_refused(what):
    data, in_tree, out_tree = serialize(compiled())
    with pytest.raises(FileError):
        deserialize_and_load(BAD[what](data), in_tree, out_tree)


def test_altered_bytes_are_refused():
    data, in_tree, out_tree = serialize(compiled())
    rng = random.Random(0)
    for _ in range(100):
        where = rng.randrange(len(data))
        altered = data[:where] + bytes([data[where] ^ rng.randrange(1, 256)]) + data[where + 1 :]
        with pytest.raises(FileError):
            deserialize_and_load(altered, in_tree, out_tree)
