"""Modules of JAX that are left out, and names of other namespaces: the errors say what to use."""

import importlib
import importlib.util
import subprocess
import sys

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
def test_an_absent_module_says_what_to_use(name, inside):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"ricci.{name}{inside}")
    text = str(caught.value)
    missing = [part for part in (name, _absent.MODULES[name], "modules") if part not in text]
    assert missing == []


@pytest.mark.parametrize("name", _absent.MODULES)
def test_it_is_not_found_where_it_is_only_looked_for(name):
    if importlib.util.find_spec(f"ricci.{name.rpartition('.')[0]}".rstrip(".")) is not None:
        assert importlib.util.find_spec(f"ricci.{name}") is None


def test_from_has_the_advice_too():
    with pytest.raises(ModuleNotFoundError, match="export.export"):
        exec("from ricci.experimental import jax2tf")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from ricci.experimental import nothing")


@pytest.mark.parametrize("key", OTHER_NAMES, ids=".".join)
def test_a_name_of_another_namespace_says_where_it_is(key):
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
        "import jax.experimental.pallas\n"  # the table of the drop-in has it
        "assert not hasattr(jax, 'collect_profile')\n"
        "import jax.experimental.fused\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "jax.experimental.fused is not there: XLA fuses" in done.stderr
