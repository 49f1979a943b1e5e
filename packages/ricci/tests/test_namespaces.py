"""The public namespaces hold what they say, and nothing of JAX."""

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

import ricci

NAMESPACES = (
    "ad_checkpoint",
    "api_util",
    "checkpoint_policies",
    "custom_batching",
    "custom_derivatives",
    "errors",
    "extend.linear_util",
    "lax",
    "monitoring",
    "nn",
    "numpy",
    "random",
    "stages",
    "tree",
    "tree_util",
)


@pytest.mark.parametrize("name", NAMESPACES)
def test_every_listed_name_exists(name):
    module = importlib.import_module(f"ricci.{name}")
    assert isinstance(module, ModuleType)
    missing = [n for n in getattr(module, "__all__", dir(module)) if not hasattr(module, n)]
    assert not missing


@pytest.mark.parametrize(
    "name",
    ["grad", "jit", "jvp", "pmap", "value_and_grad", "vjp", "vmap", "make_jaxpr", "device_put"],
)
def test_transformations_have_documentation(name):
    assert getattr(ricci, name).__doc__


def test_version_is_the_installed_one():
    assert ricci.__version__.count(".") == 2


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'jitt'"):
        ricci.jitt  # noqa: B018


@pytest.mark.parametrize(
    "module",
    [
        "jax",
        "json",
        "scipy",
        "ricci_buckets",
        "ricci_check",
        "ricci_examples",
        "ricci_export",
        "ricci_parallel.reports",
        "ricci_sparse",
        "ricci_storage",
        "ricci_testing",
        "ricci_xla.cache",
        "ricci_xla.files",
        "ricci_xla.serialized",
    ],
)
def test_import_does_not_load(module):
    program = f"import sys, ricci; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stderr, done.stdout.strip()) == ("", "False")


def test_caches_can_be_cleared():
    traces = []
    f = ricci.jit(lambda x: (traces.append(1), x * 2)[1])
    f(1.0)
    ricci.clear_caches()
    assert f(1.0) == 2.0
    assert len(traces) == 2


def test_programs_of_jitted_functions_that_are_gone_are_cleared():
    traces = []

    def f(x):
        traces.append(1)
        return x * 2

    ricci.jit(f)(1.0)
    ricci.clear_caches()
    ricci.jit(f)(1.0)
    assert len(traces) == 2


def test_check_is_there_when_asked_for():
    report = ricci.check(lambda x: x[7])(ricci.ShapeDtypeStruct((3,), "float32"))
    assert [finding.code for finding in report] == ["RC501"]


def test_testing_is_a_module_of_its_own():
    module = importlib.import_module("ricci.testing")
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("name", ["", ".numpy", ".numpy.linalg", ".lax", ".scipy", ".debug", ".nn"])
def test_dir_lists_public_names_only(name):
    module = importlib.import_module(f"ricci{name}")
    names = {n for n in dir(module) if not n.startswith("__")}
    assert not {n for n in names if n.startswith("_")}
    assert not names & {"Any", "TYPE_CHECKING", "lazy_names", "guard_public"}
    assert set(module.__all__) <= names


def test_lax_lists_what_belongs_to_it():
    # The package has these for other namespaces.
    others = {
        "jacfwd",
        "hessian",
        "checkpoint",
        "custom_jvp",
        "debug_print",
        "io_callback",
        "jit_p",
    }
    assert not others & set(dir(ricci.lax))
    assert {"add", "add_p", "scan", "custom_root", "psum", "linalg"} <= set(dir(ricci.lax))
