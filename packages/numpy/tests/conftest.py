"""Fixtures: jaxprs, types and values recorded from JAX, and a backend."""

import ast
import importlib
import json
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import (
    Composite,
    ShapedArray,
    ShapeDtypeStruct,
    has_backend,
    make_jaxpr,
    trace_to_jaxpr,
)
from ricci_numpy import dlpack
from ricci_pytree import tree_flatten, tree_leaves

DATA = Path(__file__).parent / "data"

# Whichever is installed; the package itself needs none.
BACKENDS = ("ricci_xla", "ricci_reference")

# What the names in the expressions stand for; ``mask`` is a constant.
ARGUMENTS = {
    "b": ((3,), "bool"),
    "f": ((), "float32"),
    "i": ((), "int32"),
    "iv": ((2,), "int32"),
    "iv2": ((2, 1), "int32"),
    "m": ((3, 4), "float32"),
    "n": ((5,), "int32"),
    "t": ((3, 4, 5), "float32"),
    "u": ((), "uint8"),
    "u8": ((2,), "uint8"),
    "x": ((5,), "float32"),
}
NAMES = {"jnp": jnp, "lax": lax, "np": np, "mask": np.array([True, False, True])}


def printed(expression: str) -> str:
    """Print our jaxpr of an expression; its arguments are the names in order of appearance."""
    used: dict[str, Any] = {}
    for node in ast.walk(ast.parse(expression)):
        if isinstance(node, ast.Name) and node.id in ARGUMENTS:
            shape, dtype = ARGUMENTS[node.id]
            used.setdefault(node.id, ShapeDtypeStruct(shape, np.dtype(dtype)))
    fun = eval(f"lambda {', '.join(used)}: {expression}", dict(NAMES))
    return f"{make_jaxpr(fun)(*used.values())}\n"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize tests that take ``program`` by the jaxprs of ``data/<test file>_jaxprs.txt``.

    A test that takes ``types`` runs on every block of ``data/<test file>_types.txt``, and one that
    takes ``recorded`` on every case of ``data/<test file>_values.json``.
    """
    name = Path(metafunc.module.__file__).stem.removeprefix("test_")
    if "recorded" in metafunc.fixturenames:
        cases = json.loads((DATA / f"{name}_values.json").read_text())
        metafunc.parametrize("recorded", cases, ids=[case["expression"] for case in cases])
    for fixture, file in (("program", f"{name}_jaxprs.txt"), ("types", f"{name}_types.txt")):
        if fixture in metafunc.fixturenames:
            blocks = (DATA / file).read_text().split("## ")[1:]
            parts = [block.partition("\n") for block in blocks]
            metafunc.parametrize(
                fixture,
                [(expression, expected) for expression, _, expected in parts],
                ids=[expression for expression, _, _ in parts],
            )


@pytest.fixture(scope="session", name="printed")
def _printed():
    return printed


@pytest.fixture(scope="session")
def backend() -> None:
    """Load a backend, for tests of values."""
    for name in BACKENDS:
        if not has_backend() and find_spec(name) is not None:
            importlib.import_module(name)
    if not has_backend():
        pytest.skip("values need a backend: install ricci-xla or ricci-reference")


# Types and constants that stand for operands in the tables of types.
OPERANDS = {
    "b": ShapedArray((3,), "bool"),
    "bad": ShapedArray((2, 2), "float32"),
    "bf": ShapedArray((3,), "bfloat16"),
    "c": ShapedArray((3,), "complex64"),
    "col": ShapedArray((3, 1), "float32"),
    "e0": ShapedArray((0, 3), "float32"),
    "e2": ShapedArray((2, 3), "float32"),
    "ei": ShapedArray((2, 3), "int32"),
    "f": ShapedArray((3,), "float32"),
    "f2": ShapedArray((2,), "float32"),
    "f3": ShapedArray((2, 3, 4), "float32"),
    "g": ShapedArray((3,), "float32"),
    "h": ShapedArray((3,), "float16"),
    "i": ShapedArray((3,), "int32"),
    "i8": ShapedArray((3,), "int8"),
    "j": ShapedArray((3,), "int32"),
    "u": ShapedArray((3,), "uint8"),
    "wf": ShapedArray((), "float32", weak_type=True),
    "wi": ShapedArray((), "int32", weak_type=True),
    "z": ShapedArray((0,), "float32"),
}
CONSTANTS = {
    "c64s": np.complex64(1j),
    "np2": np.arange(3),
    "np32": np.float32(2.5),
    "np64": np.array([1.0, 2.0, 3.0]),
}


def outcome(expression: str) -> str | list[str]:
    """The types of an expression's results, or the classes of the error it raises."""
    names = {n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)}
    used = [name for name in OPERANDS if name in names]
    fun = eval(f"lambda {', '.join(used)}: {expression}", NAMES | CONSTANTS)

    def flat(*args: Any) -> list[Any]:
        return tree_flatten(fun(*args))[0]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jaxpr = trace_to_jaxpr(flat, [OPERANDS[name] for name in used])
    except Exception as error:  # noqa: BLE001 - which one it is, is the outcome
        return [cls.__name__ for cls in type(error).__mro__]
    return " ".join(str(var.aval) for var in jaxpr.outvars)


@pytest.fixture(scope="session", name="outcome")
def _outcome():
    return outcome


# What JAX computed with, by name; ``jax`` is what of it these packages have.
_random = np.random.RandomState(0)
GIVEN = {
    "b": np.arange(5) > 2,
    "c": (np.arange(5) * 0.5 + 1j).astype(np.complex64),
    "e": np.zeros(0, np.float32),
    "f": np.arange(5, dtype=np.float32) * 0.5,
    "h": np.arange(5).astype(np.float16),
    "i": np.arange(5, dtype=np.int32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4),
    "s": _random.randn(20).astype(np.float32),
    "q": _random.randn(3, 3).astype(np.float32),
    "t": _random.randn(2, 3, 4).astype(np.float32),
    "u": np.arange(5).astype(np.uint8),
    "v": np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32),
    "z": np.array([0, 0, 1, -3, 2], np.float32),
}
JAX = SimpleNamespace(
    dlpack=dlpack, grad=grad, vmap=vmap, jacobian=lax.jacobian, jit=lambda fun: Composite(fun, "f")
)


def check_recorded(case: dict[str, Any]) -> None:
    """Compare an expression's types and values, or its error, with those recorded from JAX."""
    given = {name: jnp.asarray(value) for name, value in GIVEN.items()}
    names = {"jax": JAX, "jnp": jnp, "np": np, **given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "error" in case:
            with pytest.raises(Exception) as caught:
                eval(case["expression"], names)
            assert case["error"] in [cls.__name__ for cls in type(caught.value).__mro__]
            return
        leaves = tree_leaves(eval(case["expression"], names))
    assert [_type_of(x) for x in leaves] == [result["type"] for result in case["results"]]
    for x, result in zip(leaves, case["results"], strict=True):
        found, expected = np.asarray(x), np.asarray(result["values"])
        if found.dtype.kind == "c":
            expected = expected[0] + 1j * expected[1]
        found, expected = found.astype(expected.dtype), expected.reshape(found.shape)
        exact = found.dtype.kind in "biu"
        rtol = 0 if exact else 4e-3 if x.dtype.itemsize == 2 else 3e-5
        scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=0)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)


def _type_of(x: Any) -> str:
    if not hasattr(x, "aval"):
        return f"{type(x).__name__}[]"
    weak = "*" if x.aval.weak_type else ""
    return f"{x.dtype}[{','.join(map(str, x.shape))}]{weak}"


@pytest.fixture(scope="session")
def check(backend):
    """Compare with JAX; see ``check_recorded``."""
    return check_recorded
