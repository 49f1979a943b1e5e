"""The names of the table of unlisted names exist."""

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import jax
from jax._adapters import (
    check_close,
    clients,
    get_referent,
    infer_argnums_and_argnames,
    processes,
    supports_inf,
    to_complex_dtype,
)
from jax._table import TABLE, alias, private_rows, table_names

TABLE_MODULES = [*TABLE, *private_rows()]


@pytest.mark.parametrize("module", TABLE_MODULES)
def test_every_name_of_the_table_is_in_its_module(module):
    imported = importlib.import_module(f"jax.{module}")
    names = [name for name in table_names(module) if name != "*"]
    assert [name for name in names if not hasattr(imported, name)] == []


@pytest.mark.parametrize(
    ("private", "public"),
    [
        ("_src.core.Primitive", "extend.core.Primitive"),
        ("_src.lax.control_flow.scan", "lax.scan"),
        ("_src.lax.control_flow.loops.while_p", "lax.while_p"),
        ("_src.numpy.lax_numpy.array", "numpy.array"),
        ("_src.numpy.ufuncs.sin", "numpy.sin"),
        ("_src.random.core.normal", "random.normal"),
        ("_src.scipy.special.gammaln", "scipy.special.gammaln"),
        ("_src.tree_util.tree_leaves", "tree_util.tree_leaves"),
        ("_src.interpreters.mlir.register_lowering", "interpreters.mlir.register_lowering"),
        ("_src.typing.Array", "Array"),
        ("_src.core.Jaxpr", "extend.core.Jaxpr"),
        ("_src.hijax.MappingSpec", "experimental.hijax.MappingSpec"),
        ("_src.interpreters.ad.GradAccum", "experimental.hijax.GradAccum"),
        ("_src.pjit.mesh_lib.Mesh", "sharding.Mesh"),
        ("_src.state.types.TransformedRef", "experimental.hijax.TransformedRef"),
    ],
)
def test_a_private_name_is_the_object_of_the_public_name(private, public):
    objects = []
    for path in (private, public):
        module, _, name = f"jax.{path}".rpartition(".")
        objects.append(getattr(importlib.import_module(module), name))
    assert objects[0] is objects[1]


def test_no_module_of_the_table_of_private_names_is_loaded_with_jax():
    program = "import jax, jax._table as t, sys; print(t.private_rows.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0\n", done.stderr


@pytest.mark.parametrize("name", ["pallas.fuser", "pallas.mosaic_gpu", "mosaic", "mosaic.gpu"])
def test_kernel_languages_import_and_refuse_calls(name):
    language = importlib.import_module(f"jax.experimental.{name}")

    class Block(language.BlockSpec):
        memory_space: language.MemorySpace.VMEM | None = None
        blocks: language.BlockSpec[int]

    for kernel in (Block, language.BlockSpec, language.MemorySpace.VMEM):
        with pytest.raises(NotImplementedError, match="kernels written in Python"):
            kernel((8, 128))


@pytest.mark.parametrize("name", ["pallas", "pallas.tpu", "pallas.triton"])
def test_kernel_languages_are_those_of_ricci(name):
    ours = importlib.import_module(f"ricci.experimental.{name}")
    theirs = importlib.import_module(f"jax.experimental.{name}")
    assert all(getattr(theirs, n) is getattr(ours, n) for n in ours.__all__)
    assert set(ours.__all__) <= set(dir(theirs))


def test_a_name_that_is_not_in_the_table():
    with pytest.raises(ImportError, match="jax._src.core"):
        from jax._src.core import new_sublevel  # noqa: F401, PLC0415


def test_a_module_that_is_not_in_the_table():
    with pytest.raises(ModuleNotFoundError, match=r"jax\._src\.tpu_custom_call"):
        importlib.import_module("jax._src.tpu_custom_call")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int32", "complex64"),
        ("int64", "complex128"),
        ("float64", "complex128"),
        ("bool", "complex64"),
    ],
)
def test_complex_dtypes(dtype, expected):
    assert to_complex_dtype(dtype) == expected


def test_referents_are_the_values_themselves():
    def f(x):
        assert get_referent(x) is x
        return x

    array = jax.numpy.ones(3)
    assert get_referent(array) is array
    jax.jit(f)(array)


def test_dtypes_with_infinities():
    assert [supports_inf(d) for d in ("float32", "int32", jax.numpy.bfloat16)] == [
        True,
        False,
        True,
    ]


def test_argument_numbers_and_names():
    signature = inspect.signature(lambda a, b, *, c: None)
    infer = infer_argnums_and_argnames
    assert infer(signature, None, None) == ((), ())
    assert infer(signature, 0, None) == ((0,), ("a",))
    assert infer(signature, None, ("b", "c")) == ((1,), ("b", "c"))


def test_close_values():
    check_close({"a": np.float32(1.0)}, {"a": np.float32(1.0000001)})
    with pytest.raises(AssertionError):
        check_close(np.float32(1.0), np.float32(1.1))


@pytest.mark.parametrize(
    ("y", "tolerances", "is_close"),
    [
        (np.float32(1.0003), {"rtol": {"float32": 5e-4}}, True),
        (np.float32(1.0009), {"rtol": {"float32": 5e-4}}, False),
        (np.float32(1.0003), {"rtol": {np.float32: 5e-4, np.float64: 1e-7}}, True),
        (np.float64(1.0003), {"rtol": {"float32": 5e-4, "float64": 1e-9}}, True),
        (np.float32(1.0003), {"rtol": {np.dtype("float64"): 5e-4}}, False),
        (np.float32(1.0003), {"rtol": 0.0, "atol": {"float32": 1e-3}}, True),
    ],
)
def test_tolerances_of_close_values_by_dtype(y, tolerances, is_close):
    if is_close:
        check_close(np.float32(1.0), y, **tolerances)
    else:
        with pytest.raises(AssertionError):
            check_close(np.float32(1.0), y, **tolerances)


def test_devices_and_processes():
    assert clients["cpu"].platform == "cpu"
    assert (processes.client, processes.process_id) == (None, 0)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel", "make_splash_mha"),
        ("experimental.colocated_python", "colocated_python"),
    ],
)
def test_unsupported_names_raise_an_error(module, name):
    with pytest.raises(NotImplementedError, match="not supported|cannot run"):
        getattr(importlib.import_module(f"jax.{module}"), name)(print)


ALIASES = [f"{module}.{n}" for module in TABLE_MODULES for n in table_names(module)]
PRIVATE = ["_src", "_src.core", "_src.lax.control_flow.loops", "_src.numpy", "_src.random"]
MODULES = sorted({*TABLE, *PRIVATE, *filter(alias, ALIASES)})


@pytest.mark.parametrize("first", ["statement", "function"])
@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_the_same_however_it_is_imported(module, first, monkeypatch):
    name = f"jax.{module}"
    parent, _, last = name.rpartition(".")
    monkeypatch.delattr(importlib.import_module(parent), last, raising=False)
    monkeypatch.delitem(sys.modules, name, raising=False)
    statements = [f"import {name} as found", f"from {parent} import {last} as found"]
    ways = [lambda s=s: run(s) for s in statements]
    ways += [lambda: importlib.import_module(name), lambda: attribute(name)]
    if first == "function":
        ways.reverse()
    found = [way() for way in ways]
    assert all(other is found[0] for other in found)
    assert sys.modules[name] is found[0]


def run(statement):
    namespace = {}
    exec(statement, namespace)
    return namespace["found"]


def attribute(name):
    namespace = {}
    exec(f"import {name}", namespace)
    return eval(name, namespace)


@pytest.mark.parametrize("name", ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"])
def test_private_interpreters_have_the_names_of_the_public_ones(name):
    public = importlib.import_module(f"jax.interpreters.{name}")
    private = importlib.import_module(f"jax._src.interpreters.{name}")
    assert all(getattr(private, n) is getattr(public, n) for n in public.__all__)


def test_a_function_set_in_a_public_interpreter_is_seen_in_the_private_one(monkeypatch):
    monkeypatch.setattr(jax.interpreters.mlir, "lower_fun", print)
    assert jax._src.interpreters.mlir.lower_fun is print
