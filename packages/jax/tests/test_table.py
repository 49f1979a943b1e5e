"""What the table of unlisted names says is there."""

import importlib
import inspect
import sys

import numpy as np
import pytest

import jax
from jax._adapters import (
    check_close,
    clients,
    infer_argnums_and_argnames,
    processes,
    supports_inf,
    to_complex_dtype,
)
from jax._table import TABLE


@pytest.mark.parametrize("module", TABLE)
def test_every_name_is_there(module):
    found = importlib.import_module(f"jax.{module}")
    assert all(hasattr(found, name) for name in TABLE[module])


def test_a_name_that_is_not_in_the_table():
    with pytest.raises(ImportError, match="jax._src.core"):
        from jax._src.core import new_sublevel  # noqa: F401, PLC0415


def test_a_module_that_is_not_in_the_table():
    with pytest.raises(ModuleNotFoundError, match=r"jax\._src\.mesh"):
        importlib.import_module("jax._src.mesh")


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


def test_devices_and_processes():
    assert clients["cpu"].platform == "cpu"
    assert (processes.client, processes.process_id) == (None, 0)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel", "make_splash_mha"),
        ("experimental.hijax", "HiPrim"),
        ("experimental.colocated_python", "colocated_python"),
    ],
)
def test_unsupported_names_raise_an_error(module, name):
    with pytest.raises(NotImplementedError, match="not supported|cannot run"):
        getattr(importlib.import_module(f"jax.{module}"), name)(print)


MODULES = sorted(
    {
        *TABLE,
        *(f"{module}.{n}" for module in TABLE for n, of in TABLE[module].items() if ":" not in of),
    }
)


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


def test_a_module_under_another_name_is_that_module():
    names = ("ad", "batching", "mlir", "partial_eval", "pxla", "xla")
    for name in names:
        public = importlib.import_module(f"jax.interpreters.{name}")
        assert importlib.import_module(f"jax._src.interpreters.{name}") is public
        assert public.__name__ == f"jax.interpreters.{name}"
