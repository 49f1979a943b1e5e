"""Programs as real JAX 0.11.2 prints them, and what tests of values need: a backend."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import ShapeDtypeStruct, has_backend, make_jaxpr

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
    """Our program for an expression; its arguments are the names in order of appearance."""
    used: dict[str, Any] = {}
    for node in ast.walk(ast.parse(expression)):
        if isinstance(node, ast.Name) and node.id in ARGUMENTS:
            shape, dtype = ARGUMENTS[node.id]
            used.setdefault(node.id, ShapeDtypeStruct(shape, np.dtype(dtype)))
    fun = eval(f"lambda {', '.join(used)}: {expression}", dict(NAMES))
    return f"{make_jaxpr(fun)(*used.values())}\n"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``program`` runs on every program of ``data/<test file>_jaxprs.txt``."""
    if "program" not in metafunc.fixturenames:
        return
    name = Path(metafunc.module.__file__).stem.removeprefix("test_")
    blocks = (DATA / f"{name}_jaxprs.txt").read_text().split("## ")[1:]
    parts = [block.partition("\n") for block in blocks]
    metafunc.parametrize(
        "program",
        [(expression, expected) for expression, _, expected in parts],
        ids=[expression for expression, _, _ in parts],
    )


@pytest.fixture(scope="session", name="printed")
def _printed():
    return printed


@pytest.fixture(scope="session")
def backend() -> None:
    """A backend to compute values with."""
    for name in BACKENDS:
        if not has_backend() and find_spec(name) is not None:
            importlib.import_module(name)
    if not has_backend():
        pytest.skip("values need a backend: install ricci-xla or ricci-reference")
