"""What the workspace holds: its packages, its version, the wheels built from it."""

import email
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(file.parent.name for file in ROOT.glob("packages/*/pyproject.toml"))
# What holds examples that run: docstrings and documents.
EXAMPLES = (
    *(f"packages/{package}/src" for package in PACKAGES),
    *(f"packages/{package}/README.md" for package in PACKAGES),
    "README.md",
    "docs",
    "tools/workspace.py",
    "tools/set_version.py",
    "tools/check_light.py",
    "tools/surface.py",
    "tools/type_completeness.py",
    "tools/any_annotations.py",
    "tools/typed_programs.py",
)


def version() -> str:
    """Return the one version of every package, of which the drop-in's is only an end."""
    return (ROOT / "VERSION").read_text(encoding="utf-8").strip()


def settings(package: str) -> dict[str, Any]:
    """Return what the pyproject.toml of a folder of packages/ says."""
    file = ROOT / "packages" / package / "pyproject.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def distribution(package: str) -> str:
    """Return the distribution's name of a folder of packages/.

    >>> distribution("ir"), distribution("ricci"), distribution("jax")
    ('ricci-ir', 'ricci', 'jax')
    """
    return package if package in ("ricci", "jax") else f"ricci-{package}"


def dependency_group(name: str) -> list[str]:
    """Return the requirements of a dependency group of the root pyproject.toml."""
    root = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return root["dependency-groups"][name]


def requirements_of_tests(package: str) -> tuple[list[str], list[str]]:
    """Return what only the tests of a package need: folders of packages/, and other requirements.

    It stands in the package's own `[dependency-groups] test`, which may be absent.
    """
    group = settings(package).get("dependency-groups", {}).get("test", [])
    siblings = {distribution(name): name for name in PACKAGES}
    return [siblings[r] for r in group if r in siblings], [r for r in group if r not in siblings]


def recipe_files() -> list[Path]:
    """Return the files that decide what an editable install of the workspace brings."""
    return sorted(ROOT.glob("packages/*/pyproject.toml"))


def wheel(package: str, dist: Path) -> Path:
    """Return the built wheel of a package, of the present version."""
    project = settings(package)["project"]
    name = project["name"].replace("-", "_")
    return dist / f"{name}-{project['version']}-py3-none-any.whl"


def requirements(wheel: Path) -> list[Requirement]:
    """Return what a wheel declares to need, extras left out."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    declared = map(Requirement, metadata.get_all("Requires-Dist") or [])
    return [r for r in declared if r.marker is None or r.marker.evaluate({"extra": ""})]


def closure(packages: Iterable[str], dist: Path) -> tuple[list[Path], list[str]]:
    """Follow what the packages' wheels declare.

    Args:
        packages: folder names under packages/.
        dist: the folder of built wheels.

    Returns:
        The wheels of the packages and of every sibling they need, and the requirements on
        distributions from elsewhere.
    """
    siblings = {distribution(package): package for package in PACKAGES}
    wheels: dict[str, Path] = {}
    elsewhere: set[str] = set()
    todo = list(packages)
    while todo:
        package = todo.pop()
        if package in wheels:
            continue
        wheels[package] = wheel(package, dist)
        for requirement in requirements(wheels[package]):
            if requirement.name in siblings:
                todo.append(siblings[requirement.name])
            else:
                elsewhere.add(str(requirement))
    return sorted(wheels.values()), sorted(elsewhere)
