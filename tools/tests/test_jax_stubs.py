"""The stubs of the drop-in's modules, which type checkers and editors read."""

import pkgutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="the modules are those of the drop-in")

import jax

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from jax_stubs import stubs

STUBS = stubs()


def module(path: str) -> str:
    """The module that a stub is of."""
    name = ".".join(["jax", *path.removesuffix(".pyi").split("/")])
    return name.removesuffix(".__init__")


def test_every_module_has_a_stub_and_every_stub_a_module():
    names = {info.name for info in pkgutil.walk_packages(jax.__path__, "jax.")} - {"jax.version"}
    public = {name for name in names if not name.startswith("jax._")}
    assert sorted(map(module, STUBS)) == sorted({"jax", *public})


def test_type_checkers_are_told_of_every_namespace():
    names = [name for name in dir(jax) if f"jax.{name}" in map(module, STUBS)]
    assert len(names) > 30
    lines = STUBS["__init__.pyi"].splitlines()
    assert [n for n in [*names, "version"] if f"from . import {n} as {n}" not in lines] == []


def test_a_stub_has_the_names_that_no_star_brings():
    lines = STUBS["numpy/__init__.pyi"].splitlines()
    assert lines[0] == "from ricci.numpy import *"
    assert "from ricci.numpy import __array_api_version__ as __array_api_version__" in lines
    assert "from . import linalg as linalg" in lines
