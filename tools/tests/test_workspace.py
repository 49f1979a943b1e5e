"""Properties of every package of the workspace, versions, and the making of environments."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))
EVERY_PACKAGE = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)

sys.path.insert(0, str(ROOT / "tools"))

from environments import Environment, digest  # noqa: E402
from hatch_plugins import HOOK, stale  # noqa: E402
from set_version import files, with_version  # noqa: E402
from workspace import (  # noqa: E402
    PACKAGES,
    distribution,
    is_compiled,
    requirements_of_tests,
    settings,
    version,
    wheel,
)


def module_name(folder: Path) -> str:
    return folder.name if folder.name in ("jax", "ricci") else f"ricci_{folder.name}"


def declared(folder: Path) -> list[str]:
    return settings(folder.name)["project"]["dependencies"]


@EVERY_PACKAGE
@pytest.mark.parametrize("name", ["README.md", "src/{module}/__init__.py", "src/{module}/py.typed"])
def test_a_package_has(folder: Path, name: str) -> None:
    assert (folder / name.format(module=module_name(folder))).is_file()


@EVERY_PACKAGE
def test_a_package_has_tests(folder: Path) -> None:
    assert list(folder.glob("tests/test_*.py"))


@EVERY_PACKAGE
def test_builds_as_the_others_do(folder: Path) -> None:
    text = (folder / "pyproject.toml").read_text()
    assert text.count("../") == HOOK.count("../") and text.endswith(HOOK)
    common = settings("ir")["build-system"]
    # A compiled package includes the headers of the oldest jaxlib that the runtime supports.
    (jaxlib,) = (r for r in declared(ROOT / "packages" / "xla") if r.startswith("jaxlib"))
    oldest = jaxlib.replace(">=", "==").partition(",")[0]
    further = [oldest] if is_compiled(folder.name) else []
    expected = {**common, "requires": [*common["requires"], *further]}
    assert settings(folder.name)["build-system"] == expected
    assert "dynamic" not in settings(folder.name)["project"]


@EVERY_PACKAGE
def test_a_package_repeats_the_version(folder: Path) -> None:
    assert stale(settings(folder.name)["project"], version()) == []


def test_documents_repeat_the_version() -> None:
    for file in files():
        assert with_version(file.read_text(), version()) == file.read_text(), file


def test_the_contracts_name_every_package() -> None:
    names = sorted(map(module_name, FOLDERS))
    contracts = {c["name"]: c for c in SETTINGS["tool"]["importlinter"]["contracts"]}
    layers = next(c["layers"] for c in contracts.values() if c["type"] == "layers")
    assert SETTINGS["tool"]["importlinter"]["root_packages"] == names
    assert sorted(re.findall(r"\w+", " ".join(layers))) == names
    assert contracts["No package imports JAX"]["source_modules"] == names[1:]


@EVERY_PACKAGE
def test_only_packages_that_run_programs_declare_jaxlib(folder: Path) -> None:
    names = {re.match(r"[\w.-]+", line).group() for line in declared(folder)}  # type: ignore
    assert ("jaxlib" in names) is (folder.name == "xla")


def test_the_full_install_needs_every_package_but_those_of_extras() -> None:
    others = {folder.name for folder in FOLDERS} - {"jax", "ricci"}
    compiled = set(filter(is_compiled, others))
    needed = [line.partition("==")[0] for line in declared(ROOT / "packages" / "ricci")]
    assert sorted(needed) == sorted(f"ricci-{name}" for name in others - compiled)
    extras = settings("ricci")["project"]["optional-dependencies"]
    for name in compiled:
        assert extras[name] == [f"ricci-{name}=={version()}"]


def test_the_drop_in_names_the_jax_that_it_stands_for() -> None:
    module = (ROOT / "packages" / "jax" / "src" / "jax" / "version.py").read_text()
    stands_for = re.search(r'^__version__ = "(.+)"$', module, re.MULTILINE)
    assert stands_for is not None
    assert settings("jax")["project"]["version"] == f"{stands_for[1]}+ricci.{version()}"
    assert wheel("jax", ROOT).name == f"jax-{stands_for[1]}+ricci.{version()}-py3-none-any.whl"


@pytest.mark.parametrize(
    ("own", "dependency", "wrong"),
    [
        ("1.2.3", "ricci-ir==1.2.3", []),
        ("0.12.0.1+ricci.1.2.3", "ricci==1.2.3", []),
        ("1.2.3", "numpy>=2.0", []),
        ("1.2.2", "numpy>=2.0", ["1.2.2"]),
        ("0.12.0.1+ricci.1.2.2", "ricci==1.2.3", ["0.12.0.1+ricci.1.2.2"]),
        ("1.2.3", "ricci-ir==1.2.2", ["ricci-ir==1.2.2"]),
        ("1.2.3", "ricci-ir>=1.2.3", ["ricci-ir>=1.2.3"]),
        ("1.2.3", "ricci-ir", ["ricci-ir"]),
        ("1.2.3", "ricci", ["ricci"]),
    ],
)
def test_stale_versions_are_found(own: str, dependency: str, wrong: list[str]) -> None:
    assert stale({"version": own, "dependencies": [dependency]}, "1.2.3") == wrong


@EVERY_PACKAGE
def test_a_new_version_is_written_everywhere(folder: Path) -> None:
    text = with_version((folder / "pyproject.toml").read_text(), "12.0.0rc1")
    assert stale(tomllib.loads(text)["project"], "12.0.0rc1") == []
    assert with_version(text, version()) == (folder / "pyproject.toml").read_text()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A copy of the package that needs nothing, and of the tools that it is built with."""
    for name in ("tools/hatch_plugins.py", "VERSION", "LICENSE"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "packages" / "pytree", tmp_path / "packages" / "pytree")
    return tmp_path


def built(folder: Path, kind: str) -> Path:
    """Build a package in another process: a build changes the working folder."""
    code = f"import hatchling.build as b; print(b.build_{kind}({str(folder.parent)!r}))"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr)
    return folder.parent / ran.stdout.strip()


def test_an_sdist_builds_with_nothing_around_it(outside: Path) -> None:
    sdist = built(outside / "packages" / "pytree", "sdist")
    alone = outside / "alone"
    with tarfile.open(sdist) as archive:
        archive.extractall(alone, filter="data")
    shutil.rmtree(outside / "tools")
    folder = next(alone.iterdir())
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    with tarfile.open(built(folder, "sdist")) as again, tarfile.open(sdist) as first:
        assert set(again.getnames()) == set(first.getnames())
    with zipfile.ZipFile(built(folder, "wheel")) as archive:
        names = archive.namelist()
    assert "ricci_pytree/__init__.py" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_a_stale_version_is_refused(outside: Path) -> None:
    (outside / "VERSION").write_text("9.9.9\n")
    with pytest.raises(RuntimeError, match=r"the file VERSION 9\.9\.9"):
        built(outside / "packages" / "pytree", "sdist")


@pytest.mark.parametrize(
    ("recipe", "content", "same"),
    [([["a"]], "x", True), ([["b"]], "x", False), ([["a"]], "y", False)],
)
def test_the_digest_changes_with_the_recipe_and_the_files(
    tmp_path: Path, recipe: list[list[str]], content: str, same: bool
) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("x")
    first = digest([["a"]], [file])
    file.write_text(content)
    assert (digest(recipe, [file]) == first) is same


def test_an_environment_that_stands_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("environments.ENVIRONMENTS", tmp_path)
    environment = Environment("some")
    environment.location.mkdir()
    (environment.location / ".stamp").write_text(digest([["a"]], []))
    monkeypatch.setenv("PATH", os.devnull)
    assert environment.make([["a"]]) is False


def test_an_environment_that_stands_on_another_imports_what_that_one_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("environments.ENVIRONMENTS", tmp_path)
    base, beside, environment = map(Environment, ("base", "beside", "environment"))
    base.make([])
    (base.packages / "module_of_base.py").write_text("")
    for each, on, status in ((environment, base, 0), (beside, None, 1)):
        assert each.make([], on=on) is True
        assert each.make([], on=on) is False
        done = subprocess.run([each.python, "-c", "import module_of_base"], capture_output=True)
        assert done.returncode == status, done.stderr


def _siblings_for_tests(package: str) -> set[str]:
    """Return the modules of the workspace's packages that are installed where its tests run."""
    names = {distribution(name): name for name in PACKAGES}
    todo, installed = [package, *requirements_of_tests(package)[0]], set()
    while todo:
        name = todo.pop()
        if name not in installed:
            installed.add(name)
            needed = [Requirement(text).name for text in declared(ROOT / "packages" / name)]
            todo += [names[each] for each in needed if each in names]
    return {module_name(Path(name)) for name in installed}


def _imported(file: Path) -> set[str]:
    """Return the packages that a module imports as it is loaded."""
    statements = ast.parse(file.read_text(encoding="utf-8")).body
    names = [alias.name for s in statements if isinstance(s, ast.Import) for alias in s.names]
    names += [s.module or "" for s in statements if isinstance(s, ast.ImportFrom) and not s.level]
    return {name.partition(".")[0] for name in names}


@pytest.mark.sampled(15)
@EVERY_PACKAGE
def test_package_tests_import_only_what_is_installed_with_the_package(folder: Path) -> None:
    absent = {module_name(each) for each in FOLDERS} - _siblings_for_tests(folder.name)
    imported = {file.name: _imported(file) & absent for file in folder.glob("tests/**/*.py")}
    assert not {file: modules for file, modules in imported.items() if modules}
