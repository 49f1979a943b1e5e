"""The modules of the drop-in are those of Ricci, with the same names in them."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import jax
import ricci

NOT_JAX = {
    "ricci.cache",
    "ricci.distributed.run",
    "ricci.parallel",
    "ricci.profile",
    "ricci.testing",
}


def modules(package: ModuleType) -> list[str]:
    """The names of the public modules in a package of Ricci's, at any depth."""
    found = []
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if info.name in NOT_JAX or info.name.rpartition(".")[2].startswith("_"):
            continue
        found.append(info.name)
        if info.ispkg:
            found += modules(importlib.import_module(info.name))
    return found


@pytest.mark.parametrize("name", modules(ricci))
def test_a_module_has_the_names_of_riccis(name):
    ours = importlib.import_module(name)
    theirs = importlib.import_module("jax" + name.removeprefix("ricci"))
    assert sorted(theirs.__all__) == sorted(ours.__all__)
    for inner in ours.__all__:
        value, expected = getattr(theirs, inner), getattr(ours, inner)
        if isinstance(expected, ModuleType):  # of either name
            assert value.__name__.split(".")[1:] == expected.__name__.split(".")[1:]
        else:
            assert value is expected


def test_the_root_has_the_names_of_riccis():
    assert all(getattr(jax, name) is getattr(ricci, name) for name in ricci.__all__)


def test_a_namespace_is_the_module_of_that_name():
    assert jax.numpy.linalg is importlib.import_module("jax.numpy.linalg")
    assert jax.numpy is importlib.import_module("jax.numpy")


def test_the_root_lists_its_namespaces():
    assert {"numpy", "lax", "interpreters", "scipy", "profiler", "jit"} <= set(dir(jax))
    assert "_src" not in dir(jax) or jax._src.__name__ == "jax._src"


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'jax' has no attribute 'numpi'"):
        jax.numpi  # noqa: B018


def test_an_unknown_module():
    with pytest.raises(ModuleNotFoundError, match=r"jax\.numpi"):
        importlib.import_module("jax.numpi")


@pytest.mark.parametrize("name", ["", ".numpy", ".lax", ".scipy", ".extend", ".nn"])
def test_dir_lists_public_names_only(name):
    names = {n for n in dir(importlib.import_module(f"jax{name}")) if not n.startswith("__")}
    assert not {n for n in names if n.startswith("_")}
    assert not names & {"Any", "Path", "TYPE_CHECKING", "import_module", "lazy_names", "pkgutil"}


NAMESPACES = "numpy", "numpy.linalg", "numpy.fft", "lax", "random", "scipy.special"


@pytest.mark.parametrize("name", NAMESPACES)
def test_the_dictionary_of_a_namespace_has_all_names(name):
    # In a process of its own, where nothing else has loaded the names.
    program = f"import jax.{name} as m; names = {{*vars(m)}}; print({{*dir(m)}} - names)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_namespaces_are_serialized_by_name():
    module = jax.numpy
    assert pickle.loads(pickle.dumps(module)) is module
    assert isinstance(module, ModuleType) and inspect.ismodule(module)
