"""What every package of the workspace has to have, and how versions and environments are made."""

import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))
EVERY_PACKAGE = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)

sys.path.insert(0, str(ROOT / "tools"))

from environments import Environment, digest  # noqa: E402
from hatch_plugins import pin_siblings  # noqa: E402
from workspace import drop_in_version, version, wheel  # noqa: E402


def module_name(folder: Path) -> str:
    return folder.name if folder.name in ("jax", "ricci") else f"ricci_{folder.name}"


def declared(folder: Path) -> list[str]:
    return tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["ricci"]["dependencies"]


@EVERY_PACKAGE
@pytest.mark.parametrize("name", ["README.md", "src/{module}/__init__.py", "src/{module}/py.typed"])
def test_a_package_has(folder: Path, name: str) -> None:
    assert (folder / name.format(module=module_name(folder))).is_file()


@EVERY_PACKAGE
def test_a_package_has_tests(folder: Path) -> None:
    assert list(folder.glob("tests/test_*.py"))


@EVERY_PACKAGE
def test_builds_as_the_others_do(folder: Path) -> None:
    sections = [
        (file / "hatch.toml").read_text().split("\n[")
        for file in (folder, ROOT / "packages" / "ir")
    ]
    if folder.name == "jax":  # its version says which JAX it stands for
        sections = [[s for s in parts if not s.startswith("version]")] for parts in sections]
    assert sections[0] == sections[1]


def test_the_contracts_name_every_package() -> None:
    names = sorted(map(module_name, FOLDERS))
    contracts = {c["name"]: c for c in SETTINGS["tool"]["importlinter"]["contracts"]}
    layers = next(c["layers"] for c in contracts.values() if c["type"] == "layers")
    assert SETTINGS["tool"]["importlinter"]["root_packages"] == names
    assert sorted(re.findall(r"\w+", " ".join(layers))) == names
    assert contracts["No package imports JAX"]["source_modules"] == names[1:]


@EVERY_PACKAGE
def test_only_what_runs_programs_declares_jaxlib(folder: Path) -> None:
    names = {re.match(r"[\w.-]+", line).group() for line in declared(folder)}  # type: ignore
    assert ("jaxlib" in names) is (folder.name == "xla")


def test_the_full_install_needs_every_package() -> None:
    others = {folder.name for folder in FOLDERS} - {"jax", "ricci"}
    assert sorted(declared(ROOT / "packages" / "ricci")) == sorted(f"ricci-{n}" for n in others)


def test_the_drop_in_names_the_jax_that_it_stands_for() -> None:
    assert re.fullmatch(r"0\.11\.2\+ricci\.\d+\.\d+\.\d+", drop_in_version())
    assert wheel("jax", ROOT).name == f"jax-{drop_in_version()}-py3-none-any.whl"
    assert pin_siblings(["ricci"], drop_in_version()) == [f"ricci=={version()}"]


def test_siblings_are_pinned_and_others_are_not() -> None:
    pinned = pin_siblings(["ricci-ir", "numpy>=2.0"], "1.2.3")
    assert pinned == ["ricci-ir==1.2.3", "numpy>=2.0"]


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
