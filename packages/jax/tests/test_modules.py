"""The modules of the drop-in, which are not files, behave as modules from files do."""

import importlib
import importlib.resources
import importlib.util
import inspect
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import jax
import jax.numpy as jnp
import ricci
from jax._table import NOT_IN_JAX


def run(program: str, *options: str, **variables: str) -> str:
    """The output of a program in another process."""
    done = subprocess.run(
        [sys.executable, *(options or ("-c", program))],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("import jax.numpy as jnp", "jnp.sin"),
        ("from jax.scipy import stats", "stats.norm.pdf"),
        ("import jax.scipy.stats.norm", "jax.scipy.stats.norm.pdf"),
        ("from jax.scipy.stats.norm import pdf", "pdf"),
        ("import jax.experimental.sparse.linalg as linalg", "linalg.spsolve"),
        ("from jax.experimental.sparse.linalg import spsolve", "spsolve"),
        ("from jax.numpy import *", "sin, linalg.norm, fft.fft"),
        ("from jax.scipy import *", "special.expit, stats.norm.pdf"),
        ("from jax import *", "jit, grad"),
        ("import jax.extend.mlir.dialects.stablehlo as hlo", "hlo.add"),
        ("import jax._src.core", "jax._src.core.ShapedArray"),
    ],
)
def test_every_form_of_import_brings_the_names(statement, values):
    namespace = {}
    exec(statement, namespace)
    assert all(map(callable, eval(f"[{values}]", namespace)))


def test_namespaces_are_imported_at_their_first_use():
    program = (
        "import sys, jax\n"
        "before = set(sys.modules)\n"
        "jax.numpy.sin, jax.scipy, jax.extend.core\n"
        "print(*(name for name in before if name.startswith('jax.')))\n"
        "print(*sorted(n for n in set(sys.modules) - before if n.startswith('jax.')))\n"
    )
    first, second = run(program).splitlines()
    own = {"_contents", "_installation", "_modules", "_table", "version"}
    assert set(first.split()) == {f"jax.{name}" for name in own}
    expected = {"jax.extend", "jax.extend.core", "jax.numpy", "jax.scipy"}
    assert set(second.split()) == expected


def test_walking_the_package_lists_the_modules_of_ricci():
    program = (
        "import pkgutil, jax.extend.mlir.dialects.stablehlo, ricci\n"
        "for package in ricci, jax:\n"
        "    walk = pkgutil.walk_packages(package.__path__, f'{package.__name__}.')\n"
        "    print(*(info.name.partition('.')[2] for info in walk))\n"
    )
    ours, theirs = map(str.split, run(program).splitlines())
    assert len(theirs) == len(set(theirs))
    public = {n for n in ours if not any(part.startswith("_") for part in n.split("."))}
    distributions = {n for n in theirs if n.startswith("scipy.stats.")}
    assert len(distributions) == 26
    listed = {n for n in theirs if not n.startswith("_")}
    assert listed == public - NOT_IN_JAX | distributions | {"version"}


@pytest.mark.parametrize("name", ["numpy", "core", "scipy.stats", "scipy.stats.norm", "lax.linalg"])
def test_a_spec_tells_of_riccis_file(name):
    spec, twin = (importlib.util.find_spec(f"{root}.{name}") for root in ("jax", "ricci"))
    assert (spec.name, spec.origin) == (f"jax.{name}", twin.origin)
    assert spec.has_location == twin.has_location
    packages = [s.submodule_search_locations is not None for s in (spec, twin)]
    assert packages[0] == packages[1]


@pytest.mark.parametrize(
    "name",
    [
        "cache",
        "parallel",
        "distributed.run",
        "_absent",
        "numpi",
        "numpy.sin",
        "_src.tpu_custom_call",
    ],
)
def test_a_module_that_jax_lacks_has_no_spec(name):
    assert importlib.util.find_spec(f"jax.{name}") is None


def test_inspection_shows_riccis_source():
    assert inspect.getfile(jnp) == ricci.numpy.__file__
    assert inspect.getsource(jnp) == inspect.getsource(ricci.numpy)
    assert inspect.getsource(jax) == Path(jax.__file__).read_text(encoding="utf-8")
    assert (importlib.resources.files(jnp) / "__init__.py").is_file()
    assert jnp.__doc__ == ricci.numpy.__doc__


@pytest.mark.parametrize("name", ["numpy.sin", "numpy.float32", "lax.add", "Array", "vmap"])
def test_objects_are_pickled_by_name(name):
    value = jax
    for part in name.split("."):
        value = getattr(value, part)
    assert pickle.loads(pickle.dumps(value)) is value


def test_reloading_restores_the_names(monkeypatch):
    sin = jnp.sin
    monkeypatch.setattr("jax.numpy.sin", None)
    assert jnp.sin is None
    assert importlib.reload(jnp) is jnp
    assert jnp.sin is sin
    path = jax.__path__
    assert importlib.reload(jax).__path__ == path


def test_a_replaced_name_is_seen_under_jax_alone(monkeypatch):
    replacement = object()
    monkeypatch.setattr("jax.numpy.sin", replacement)
    monkeypatch.setattr("jax.numpy.linalg.norm", replacement)
    assert (jnp.sin, jnp.linalg.norm) == (replacement, replacement)
    assert replacement not in (ricci.numpy.sin, ricci.numpy.linalg.norm)


def test_modules_can_be_imported_anew():
    program = """if True:
        import sys, jax
        import jax.numpy as first
        sin = first.sin
        del sys.modules["jax.numpy"]
        import jax.numpy as second
        assert second is not first and second.sin is sin and second is jax.numpy
        for name in [name for name in sys.modules if name.partition(".")[0] == "jax"]:
            del sys.modules[name]
        import jax
        import jax.numpy as third
        assert third is not second and third.sin is sin and third is jax.numpy
        assert third.ones(1).__array_namespace__() is third
    """
    run(program)


def test_threads_import_at_once():
    program = """if True:
        import importlib, threading
        import jax
        names = [
            "numpy.linalg", "scipy.stats.norm", "scipy.stats", "numpy", "_src.core", "nn",
            "_src.interpreters.ad", "interpreters.ad", "experimental.sparse.bcoo",
        ]
        modules = {name: [] for name in names}

        def load(name):
            modules[name].append(importlib.import_module(f"jax.{name}"))

        threads = [threading.Thread(target=load, args=[name]) for name in names * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, loaded in modules.items():
            assert len(loaded) == 4 and len(set(map(id, loaded))) == 1, name
        assert jax.numpy.linalg is modules["numpy.linalg"][0]
    """
    run(program)


def test_a_distribution_is_found_while_another_thread_imports_its_package():
    program = """if True:
        import threading
        import jax
        from jax import _contents
        begun, may_end = threading.Event(), threading.Event()
        import_module = _contents.import_module

        def wait_before(name):
            if name == "ricci.scipy.stats" and threading.current_thread() is slow:
                begun.set()
                may_end.wait()
            return import_module(name)

        _contents.import_module = wait_before
        slow = threading.Thread(target=import_module, args=["jax.scipy.stats"])
        slow.start()
        begun.wait()
        try:
            norm = import_module("jax.scipy.stats.norm")
        finally:
            may_end.set()
        slow.join()
        assert norm is jax.scipy.stats.norm and float(norm.cdf(0.0)) == 0.5
    """
    run(program)


def test_importing_it_loads_no_more_than_importing_ricci():
    program = """if True:
        import sys
        import ricci
        before = set(sys.modules)
        import jax
        print(*(name for name in set(sys.modules) - before if name.partition(".")[0] != "jax"))
        names = {}
        exec("from jax import *", names)
        assert {"vmap", "grad", "shard_map"} <= names.keys() and "ricci" not in names
    """
    assert {*run(program).split()} <= {"importlib._abc", "importlib.util"}


def test_looking_for_a_module_imports_nothing():
    """Or threads would wait for each other: Python holds a lock that all imports need."""
    program = """if True:
        import sys
        from importlib.machinery import PathFinder
        import jax
        before = set(sys.modules)
        assert PathFinder.find_spec("jax.scipy", jax.__path__)
        assert PathFinder.find_spec("jax.scipy.signal", ["ricci:scipy"])
        assert not PathFinder.find_spec("jax.scipy.nix", ["ricci:scipy"])
        assert set(sys.modules) == before
    """
    run(program)


def test_modules_run_as_commands():
    assert run("", "-m", "jax.tools.colab_tpu") == ""


def test_folders_without_modules_hide_nothing(tmp_path: Path):
    """As the stubs have, and what an earlier installation leaves behind."""
    folder = tmp_path / "numpy"
    folder.mkdir()
    program = (
        "import jax\n"
        f"jax.__path__.insert(0, {str(tmp_path)!r})\n"
        "import jax.numpy\n"
        "print(jax.numpy.sin.__name__)\n"
    )
    assert run(program) == "sin"


def test_the_package_runs_from_a_zip_file(tmp_path: Path):
    archive = tmp_path / "jax.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for package in (jax, ricci):
            folder = Path(package.__file__).parent
            for source in filter(Path.is_file, folder.rglob("*.[pt]*")):
                file.write(source, source.relative_to(folder.parent))
    program = (
        "import inspect, pkgutil, jax.numpy, jax.scipy.stats.norm, jax._src.core\n"
        "print(jax.__file__, jax.numpy.__file__)\n"
        "assert {'numpy', 'scipy'} <= {m.name for m in pkgutil.iter_modules(jax.__path__)}\n"
        "assert 'guard_lazily' in inspect.getsource(jax.numpy)\n"
    )
    path = os.pathsep.join([str(archive), *filter(None, sys.path)])
    files = run(program, PYTHONPATH=path).split()
    assert all(file.startswith(str(archive)) for file in files)


def test_the_namespace_of_arrays_is_the_module_that_users_import():
    assert jnp.ones(1).__array_namespace__() is jnp
    program = "import ricci.numpy as jnp; print(jnp.ones(1).__array_namespace__() is jnp)"
    assert run(program) == "True"


def test_special_names_of_the_array_api_are_there():
    assert jnp.__array_api_version__ == ricci.numpy.__array_api_version__
    assert jnp.__array_namespace_info__ is ricci.numpy.__array_namespace_info__


@pytest.mark.parametrize("module", [jax, jnp, jax.lax, jax.core, jax.scipy, jax.scipy.stats.norm])
def test_a_missing_name_is_reported_under_jax(module):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nix'"):
        module.nix  # noqa: B018


def test_a_missing_name_is_reported_without_internal_frames():
    with pytest.raises(AttributeError) as caught:
        jnp.nix  # noqa: B018
    frames = [entry.frame.f_globals["__name__"] for entry in caught.traceback]
    assert frames == [__name__]
