"""Modules of JAX that are left out, and names of other namespaces: errors name replacements."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ricci
from ricci import _absent

OTHER_NAMES = {
    ("numpy", "softmax"): "ricci.nn.softmax",
    ("numpy", "fori_loop"): "ricci.lax.fori_loop",
    ("numpy", "grad"): "ricci.grad",
    ("lax", "einsum"): "ricci.numpy.einsum",
    ("nn", "erf"): "ricci.lax.erf",
    ("random", "linspace"): "ricci.numpy.linspace",
}


@pytest.mark.parametrize("name", _absent.MODULES)
@pytest.mark.parametrize("inside", ["", ".anything"])
def test_import_of_an_absent_module_names_the_replacement(name, inside):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"ricci.{name}{inside}")
    text = str(caught.value)
    missing = [part for part in (name, _absent.MODULES[name], "modules") if part not in text]
    assert missing == []


@pytest.mark.parametrize("name", _absent.MODULES)
def test_find_spec_does_not_find_absent_modules(name):
    if importlib.util.find_spec(f"ricci.{name.rpartition('.')[0]}".rstrip(".")) is not None:
        assert importlib.util.find_spec(f"ricci.{name}") is None


def test_from_has_the_advice_too():
    with pytest.raises(ModuleNotFoundError, match="export.export"):
        exec("from ricci.experimental import jax2tf")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from ricci.experimental import nothing")


@pytest.mark.parametrize("key", OTHER_NAMES, ids=".".join)
def test_import_of_a_misplaced_name_names_its_namespace(key):
    namespace, name = key
    with pytest.raises(AttributeError, match=f"there is {OTHER_NAMES[key]}$"):
        getattr(getattr(ricci, namespace), name)


def test_removed_names_and_typing_errors():
    with pytest.raises(AttributeError, match=r"there is ricci.tree.map$"):
        ricci.tree_map  # noqa: B018
    with pytest.raises(AttributeError) as caught:
        ricci.numpy.sine  # noqa: B018
    assert caught.value.name == "sine" and caught.value.obj is ricci.numpy
    assert not hasattr(ricci.numpy, "_private") and not hasattr(ricci, "nothing")


def test_the_drop_in_has_the_advice_behind_its_own_table():
    program = (
        "import jax\n"
        "import jax.experimental.pallas.fuser\n"  # the table of the drop-in has it
        "assert not hasattr(jax, 'collect_profile')\n"
        "import jax.experimental.fused\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "jax.experimental.fused is not there: XLA fuses" in done.stderr


MODULES_OF_JAX = """
import importlib, json, pkgutil, sys, warnings
import jax

def walk(path, prefix):
    for info in pkgutil.iter_modules(path, prefix):
        last = info.name.rpartition(".")[2]
        if not last.startswith("_"):
            yield info.name
            if info.ispkg:
                yield from walk([f"{folder}/{last}" for folder in path], f"{info.name}.")

json.dump(list(walk(list(jax.__path__), "jax.")), sys.stdout)
"""
IMPORT_ALL = """
import importlib, json, sys, warnings

warnings.simplefilter("ignore")
bare = {}
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except ImportError as error:
        if "python -m ricci.errors modules" not in str(error):
            bare[name] = str(error)
json.dump(bare, sys.stdout)
"""


@pytest.fixture(scope="module")
def modules_of_jax() -> list[str]:
    """The public modules of the oracle's JAX."""
    if "RICCI_ORACLE_PYTHON" not in os.environ:
        pytest.skip("no oracle is made")
    # The oracle's `jax` is its own, also where PYTHONPATH holds the drop-in.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [os.environ["RICCI_ORACLE_PYTHON"], "-c", MODULES_OF_JAX]
    return json.loads(subprocess.run(command, capture_output=True, text=True, env=own).stdout)


@pytest.mark.parametrize("root", ["ricci", "jax"])
def test_every_module_of_jax_exists_or_names_the_replacement(root, modules_of_jax):
    names = [root + name.removeprefix("jax") for name in modules_of_jax]
    assert len(names) > 200
    drop_in = Path(__file__).resolve().parents[2] / "packages" / "jax" / "src"
    path = os.pathsep.join([str(drop_in), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert json.loads(done.stdout) == {}, done.stderr


IMPORTS = {
    "import ricci.experimental.host_callback": "pure_callback",
    "from ricci.experimental.maps import xmap": "shard_map",
    "from ricci.config import config": "from ricci import config",
    "import ricci.numpy.ndarray": "from ricci.numpy import ndarray",
    "from ricci.numpy import softmax": "ricci.nn.softmax",
    "from ricci.experimental import enable_x64": "ricci.enable_x64",
    "import ricci.experimental.multihost": "ricci.experimental.multihost_utils",
}


@pytest.mark.parametrize("line", IMPORTS)
def test_failed_imports_name_the_alternative(line):
    with pytest.raises(ModuleNotFoundError) as caught:
        exec(line)
    assert IMPORTS[line] in str(caught.value)
    assert [entry.name for entry in caught.traceback][-1] == "<module>"


def test_modules_of_jaxlib_under_names_of_jax():
    namespace: dict = {}
    exec("import ricci.extend.mlir.dialects.stablehlo as written", namespace)
    exec("from ricci.extend.mlir.dialects import stablehlo, func", namespace)
    exec("import ricci.extend.mlir.ir as ir", namespace)
    assert namespace["written"] is namespace["stablehlo"] is ricci.extend.mlir.dialects.stablehlo
    assert namespace["stablehlo"].__name__ == "jaxlib.mlir.dialects.stablehlo"
    assert namespace["ir"] is ricci.extend.mlir.ir
    with pytest.raises(ImportError, match="cannot import name 'stable_hlo'"):
        exec("from ricci.extend.mlir.dialects import stable_hlo")
