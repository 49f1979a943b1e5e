"""Setup that all tests share: a backend for examples in docstrings, and samples of the cases.

Examples need a backend and operators, whichever package they are in. With ``RICCI_CASES_PER_TEST``
each test function runs so many of its cases, and with ``RICCI_TESTS_PER_FILE`` each file so many
tests, evenly spaced: enough to find a dependency that a package does not declare, where all cases
run elsewhere. With ``RICCI_SAMPLE`` test functions that are marked ``sampled(most)``, which compile
much in each case, run so many; `nox -s tests` runs them whole, and so does a run that selects tests
by name (``-k``, or a node id with ``::``). Modules that ``RICCI_WITHOUT`` names cannot be imported,
as if they were not installed. Without ``RICCI_NATIVE=1`` the kernels of ``ricci_native`` are off in
all tests but its own: those of other packages are about what everybody has.

A test that leaves options, settings of this thread, the mesh in force, environment variables, the
working directory or the folders of modules changed fails, since other tests, in whichever order,
would run under them.
"""

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# One backend is enough, whichever is installed. The tests of a package say what they need.
BACKENDS = ("ricci_xla", "ricci_reference")
OPERATORS = "ricci_numpy"

os.environ.setdefault("RICCI_NATIVE", "0")  # before the packages are imported
for _name in filter(find_spec, os.environ.get("RICCI_WITHOUT", "").split()):
    sys.modules[_name] = None  # pyright: ignore[reportArgumentType]
# What builds the site needs Sphinx, which the environments of tests do not have.
collect_ignore = ["docs/conf.py", "docs/_build", "docs/_ext", "docs/reference/api"]


def pytest_configure(config: pytest.Config) -> None:
    """Unset ``RICCI_SAMPLE`` where tests are selected by name, before test modules read it."""
    if config.option.keyword or any("::" in argument for argument in config.args):
        os.environ.pop("RICCI_SAMPLE", None)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> None:
    """Import a module for its examples as a program does.

    Where the package imports the module, pytest would execute it a second time, and its functions
    would set other objects than those that the package reads.
    """
    packages = parent.config.rootpath / "packages"
    has_examples = parent.config.option.doctestmodules and file_path.is_relative_to(packages)
    if has_examples and file_path.suffix == ".py" and file_path.stem != "__main__":
        _, folder, *parts = file_path.relative_to(packages).with_suffix("").parts
        if folder == "src":
            with suppress(ImportError):  # which pytest reports
                importlib.import_module(".".join(parts).removesuffix(".__init__"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the examples of public namespaces' functions: they run where these are defined."""
    items[:] = [item for item in items if not (hasattr(item, "dtest") and _is_wrapper(item))]
    most = int(os.environ.get("RICCI_CASES_PER_TEST", "0"))
    sample = bool(os.environ.get("RICCI_SAMPLE"))
    if most or sample:
        cases: dict[str, list[pytest.Item]] = {}
        for item in items:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
        items[:] = []
        for group in cases.values():
            mark = group[0].get_closest_marker("sampled") if sample else None
            items += _spaced(group, min([most or len(group), *(mark.args if mark else ())]))
    if per_file := int(os.environ.get("RICCI_TESTS_PER_FILE", "0")):
        files = {item.path: [other for other in items if other.path == item.path] for item in items}
        items[:] = [item for group in files.values() for item in _spaced(group, per_file)]


def _spaced(items: list[pytest.Item], most: int) -> list[pytest.Item]:
    """At most so many of some items, evenly spaced."""
    if len(items) <= most:
        return items
    return [items[i * len(items) // most] for i in range(most)]


def _is_wrapper(item: pytest.Item) -> bool:
    module: Any = getattr(item.parent, "obj", None)
    public = getattr(module, item.name.rpartition(".")[2], None)
    inner = getattr(public, "__wrapped__", None)
    return inner is not None and inner.__module__ != module.__name__


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Record the state before a test, and prepare an example."""
    item.stash[_BEFORE] = _state()
    if hasattr(item, "dtest") and find_spec("ricci_ir") is not None:
        _prepare_example(item)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Leave other tests the default, and fail a test that has left something else."""
    result = yield
    if hasattr(item, "dtest") and find_spec("ricci_ir") is not None:
        importlib.import_module("ricci_ir").config.update("jax_traceback_filtering", "auto")
    before, after = item.stash[_BEFORE], _state()
    changed = [
        f"{name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(before.keys() | after.keys())
        if name in before or name.startswith("environment:")
        if before.get(name) != after.get(name)
    ]
    if changed:
        pytest.fail("the test left for others:\n" + "\n".join(changed), pytrace=False)
    return result


def _prepare_example(item: Any) -> None:
    """Set an example's names and import a backend, so that one module's examples run alone."""
    if "import ricci" in item.dtest.docstring or "from ricci" in item.dtest.docstring:
        # A user's program: it has what it imports, not the names of the module that it is in.
        item.dtest.globs.clear()
        item.dtest.globs["__name__"] = "__main__"
    has_backend = importlib.import_module("ricci_ir").has_backend
    for name in BACKENDS:
        if not has_backend() and find_spec(name) is not None:
            importlib.import_module(name)
    if find_spec(OPERATORS) is not None:
        importlib.import_module(OPERATORS)
    # Python 3.12's doctest compares an error's last line, which would be that of its note.
    config = importlib.import_module("ricci_ir").config
    config.update("jax_traceback_filtering", "remove_frames")


_BEFORE = pytest.StashKey[dict[str, object]]()
# What pytest itself sets, and what the import of `ricci_xla` does.
_NOT_COMPARED = {"PYTEST_CURRENT_TEST", "TF_CPP_MIN_LOG_LEVEL"}


def _state() -> dict[str, object]:
    """The state of the process that tests share, by name; options only once they are imported."""
    state: dict[str, object] = {"working directory": os.getcwd(), "sys.path": [*sys.path]}
    for name in os.environ.keys() - _NOT_COMPARED:
        state[f"environment: {name}"] = os.environ[name]
    ir = sys.modules.get("ricci_ir")
    if ir is not None:
        state |= ir.config.values
        state["settings of this thread"] = ir.trace_key()
    return state
