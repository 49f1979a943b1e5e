"""The public namespaces have the names that they list, and none of JAX's objects."""

import importlib
import runpy
import subprocess
import sys
from importlib import metadata
from importlib.metadata import requires
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import ricci
from ricci._borrowed import DISTRIBUTIONS
from ricci.scipy import stats

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


def test_version_of_a_checkout_is_that_of_its_file(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    file = Path(ricci.__file__).parents[4] / "VERSION"
    if not file.is_file():
        pytest.skip("ricci is installed here, not a checkout")
    assert runpy.run_module("ricci._version")["__version__"] == file.read_text().strip()


def test_version_is_the_installed_one():
    assert ricci.__version__.count(".") == 2


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'jitt'"):
        ricci.jitt  # noqa: B018


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules that a process has which imports Ricci alone."""
    program = "import sys, ricci; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "jax",
        "json",
        "scipy",
        "ricci_buckets",
        "ricci_check",
        "ricci_compat",
        "ricci_examples",
        "ricci_export",
        "ricci_kernels",
        "ricci_native",
        "ricci_parallel.reports",
        "ricci_sparse",
        "ricci_storage",
        "ricci_testing",
        "ricci_xla.cache",
        "ricci_xla.files",
        "ricci_xla.serialized",
    ],
)
def test_import_does_not_load(module, loaded):
    assert "ricci" in loaded
    assert module not in loaded


def test_caches_can_be_cleared():
    traces = []
    f = ricci.jit(lambda x: (traces.append(1), x * 2)[1])
    f(1.0)
    ricci.clear_caches()
    assert f(1.0) == 2.0
    assert len(traces) == 2


def test_executables_of_deleted_functions_are_cleared():
    traces = []

    def f(x):
        traces.append(1)
        return x * 2

    ricci.jit(f)(1.0)
    ricci.clear_caches()
    ricci.jit(f)(1.0)
    assert len(traces) == 2


def test_check_is_imported_at_its_first_use():
    report = ricci.check(lambda x: x[7])(ricci.ShapeDtypeStruct((3,), "float32"))
    assert [finding.code for finding in report] == ["RC501"]


def test_testing_is_a_separate_module():
    module = importlib.import_module("ricci.testing")
    assert all(hasattr(module, name) for name in module.__all__)


def public_modules() -> list[str]:
    """The full install's public modules, found by their files."""
    folder = Path(ricci.__file__).parent
    paths = (file.relative_to(folder.parent).with_suffix("").parts for file in folder.rglob("*.py"))
    names = ([part for part in path if part != "__init__"] for path in paths)
    return sorted(".".join(n) for n in names if not any(part.startswith("_") for part in n))


def packages() -> list[str]:
    """The packages that the full install brings."""
    declared = [line for line in requires("ricci") or [] if "extra" not in line]
    return [line.partition("==")[0].replace("-", "_") for line in declared]


def without_dunders(module: ModuleType) -> set[str]:
    return {n for n in dir(module) if not (n.startswith("__") and n.endswith("__"))}


@pytest.mark.parametrize("name", public_modules())
def test_dir_lists_public_names_only(name: str) -> None:
    module = importlib.import_module(name)
    names = without_dunders(module)
    assert not {n for n in names if n.startswith("_")}
    assert not names & {"Any", "Callable", "TYPE_CHECKING", "lazy_names", "partial", "guard_public"}
    assert set(getattr(module, "__all__", ())) <= names


@pytest.mark.parametrize("name", packages())
def test_a_package_lists_no_names_of_others(name: str) -> None:
    """A name without an underscore is the package's own, or that of a module inside of it."""
    module = importlib.import_module(name)
    listed = {n: getattr(module, n) for n in without_dunders(module) - {*module.__all__}}
    foreign = {
        n
        for n, value in listed.items()
        if not n.startswith("_") and isinstance(value, type | FunctionType)
        if not value.__module__.startswith(f"{name}.")
    }
    assert not foreign


def test_lax_lists_only_its_names():
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


def test_each_distribution_is_found_before_its_package_has_run():
    modules = {name for name in stats.__all__ if isinstance(getattr(stats, name), ModuleType)}
    assert set(DISTRIBUTIONS) == modules
