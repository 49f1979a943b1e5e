"""The packages' READMEs name existing things; and the runs of their examples."""

import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from readme_examples import BLOCK, run_block  # noqa: E402
from workspace import PACKAGES, closure, distribution, installed, modules_beside, settings, wheel  # noqa: E402

EVERY_PACKAGE = pytest.mark.parametrize("package", PACKAGES)
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")


def readme(package: str) -> str:
    return (ROOT / "packages" / package / "README.md").read_text()


def has(owner: Any, dotted: str) -> bool:
    """Whether attributes and modules below something have these names, one below the other."""
    for name in dotted.split("."):
        if not hasattr(owner, name) and isinstance(owner, ModuleType):
            try:
                import_module(f"{owner.__name__}.{name}")
            except ModuleNotFoundError:
                return False
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return True


def unknown_names(row: str, module: ModuleType) -> list[str]:
    """The names in a row of a table that are neither in the package nor in a class of the row."""
    names = NAME.findall(row)
    values = [getattr(module, name, None) for name in names]
    classes = [value for value in values if isinstance(value, type)]
    return [name for name in names if not any(has(x, name) for x in [module, *classes])]


@pytest.mark.parametrize(
    ("row", "unknown"),
    [
        ("| trees | `tree_map`, `tree.map` and `PyTreeDef` (`num_leaves`) |", []),
        ("| trees | `tree_mop`, `tree.mop`, `treo.map`, `num_leaves` |", 4),
    ],
)
def test_names_that_are_not_there_are_found(row: str, unknown: int) -> None:
    found = unknown_names(row, import_module("ricci_pytree"))
    assert found == unknown or len(found) == unknown


@EVERY_PACKAGE
def test_names_in_tables_exist(package: str) -> None:
    module = import_module(distribution(package).replace("-", "_"))
    assert not any(part.startswith("_") for part in NAME.findall(readme(package)))
    rows = [line for line in readme(package).splitlines() if line.startswith("|")]
    assert [name for row in rows for name in unknown_names(row, module)] == []


@EVERY_PACKAGE
def test_a_readme_says_what_to_install_and_shows_an_example(package: str) -> None:
    name, extras = installed(readme(package))
    declared = settings(package)["project"].get("optional-dependencies", {})
    assert name == distribution(package)
    assert set(extras) <= set(declared)
    assert BLOCK.search(readme(package))


@EVERY_PACKAGE
def test_extras_that_are_named_are_declared(package: str) -> None:
    by_name = {distribution(name): name for name in PACKAGES}
    for name, extras in re.findall(r"\b(ricci[\w-]*)\[([\w,]+)\]", readme(package)):
        declared = settings(by_name[name])["project"].get("optional-dependencies", {})
        assert set(extras.split(",")) <= set(declared), f"{name}[{extras}]"


@EVERY_PACKAGE
def test_an_example_names_its_backend(package: str) -> None:
    """The backend that it imports is in its extra."""
    _, extras = installed(readme(package))
    backends = {f"ricci_{extra}" for extra in extras} & {"ricci_xla", "ricci_reference"}
    code = "".join(BLOCK.findall(readme(package)))
    assert all(name in code for name in backends)


def test_blocks_share_their_names() -> None:
    names: dict[str, Any] = {}
    assert run_block("x = 1\n", "README.md", 1, names) == 0
    assert run_block(">>> x + 1\n2\n", "README.md", 5, names) == 0
    assert run_block(">>> y = x + 1\n>>> y\n3\n", "README.md", 9, names) == 1
    assert names["y"] == 2


def test_errors_name_the_line_of_the_readme() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        run_block("x = 1\n1 / 0\n", "README.md", 6, {})
    assert raised.traceback[-1].lineno == 7  # counted from 0: the eighth line


def test_a_readme_that_does_not_say_what_to_install_is_refused() -> None:
    with pytest.raises(ValueError, match="pip install"):
        installed("Ricci's trees.")


def write_wheel(dist: Path, package: str, *declared: str) -> None:
    lines = "".join(f"Requires-Dist: {line}\n" for line in declared)
    with zipfile.ZipFile(wheel(package, dist), "w") as archive:
        archive.writestr("x.dist-info/METADATA", f"Metadata-Version: 2.4\n{lines}")


def test_extras_bring_what_they_declare(tmp_path: Path) -> None:
    write_wheel(tmp_path, "ir", "numpy>=2.0")
    write_wheel(tmp_path, "xla", "ricci-ir==1", "jaxlib", "plugin; extra == 'cuda'")
    write_wheel(tmp_path, "numpy", "ricci-ir==1", "ricci-xla[cuda]==1; extra == 'gpu'")
    wheels, elsewhere = closure(["numpy"], tmp_path)
    assert wheels == [wheel("ir", tmp_path), wheel("numpy", tmp_path)]
    assert elsewhere == ["numpy>=2.0"]
    wheels, elsewhere = closure(["numpy"], tmp_path, {"numpy": ["gpu"]})
    assert wheel("xla", tmp_path) in wheels
    assert elsewhere == ["jaxlib", "numpy>=2.0", "plugin"]


def test_an_example_sees_only_what_its_package_brings(tmp_path: Path) -> None:
    write_wheel(tmp_path, "pytree")
    beside = modules_beside(["pytree"], tmp_path, {}, "rich>=13")
    assert {"ricci_xla", "ricci_ir", "jaxlib", "scipy", "numpy", "jax"} <= set(beside)
    assert not {"ricci_pytree", "rich"} & set(beside)
    assert "scipy" not in modules_beside(["pytree"], tmp_path, {}, "jaxlib>=0.11")


def test_a_module_that_is_left_out_is_not_found(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("```python\n>>> import json\n\n```\n")
    command = [sys.executable, str(ROOT / "tools" / "readme_examples.py"), str(file)]
    assert subprocess.run(command, capture_output=True).returncode == 0
    without = subprocess.run([*command, "--without", "json"], capture_output=True, text=True)
    assert without.returncode == 1 and "import of json halted" in without.stdout
