"""The workspace: its packages, its version, the wheels built from it."""

import email
import os
import re
import shutil
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(file.parent.name for file in ROOT.glob("packages/*/pyproject.toml"))
INSTALL = re.compile(r"pip install (?:--find-links \S+ )?['\"]?([\w-]+)(?:\[([\w,-]+)\])?")
# Dependencies of other distributions that packages of the workspace name, too.
BROUGHT_BY = {"jaxlib": {"numpy", "ml_dtypes", "scipy"}}  # whose LAPACK kernels are SciPy's
# Files with examples that run: docstrings and documents.
EXAMPLES = (
    *(f"packages/{package}/src" for package in PACKAGES),
    *(f"packages/{package}/README.md" for package in PACKAGES),
    "README.md",
    "docs",
    "tools/workspace.py",
    "tools/package_metadata.py",
    "tools/project_forms.py",
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
    """Read the pyproject.toml of a folder of packages/."""
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
    compiled = (ROOT.glob("packages/*/hatch_build.py"), ROOT.glob("packages/*/cpp/*"))
    return sorted(chain(ROOT.glob("packages/*/pyproject.toml"), *compiled))


def is_compiled(package: str) -> bool:
    """Tell whether a package has a part that a C++ compiler compiles.

    >>> is_compiled("native"), is_compiled("ir")
    (True, False)
    """
    return (ROOT / "packages" / package / "hatch_build.py").is_file()


def has_compiler() -> bool:
    """Tell whether there is a C++ compiler, by the rule of `packages/native/hatch_build.py`."""
    return bool(os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++"))))


def buildable() -> list[str]:
    """Return the packages that can be built here: all, where there is a C++ compiler."""
    return [package for package in PACKAGES if has_compiler() or not is_compiled(package)]


def _stem(package: str) -> str:
    project = settings(package)["project"]
    return f"{project['name'].replace('-', '_')}-{project['version']}"


def wheel(package: str, dist: Path) -> Path:
    """Return the built wheel of a package, of the present version and, if compiled, for here."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return dist / f"{_stem(package)}-py3-none-{platform if is_compiled(package) else 'any'}.whl"


def sdist(package: str, dist: Path) -> Path:
    """Return the built sdist of a package, of the present version."""
    return dist / f"{_stem(package)}.tar.gz"


def requirements(wheel: Path, extras: Iterable[str] = ()) -> list[Requirement]:
    """Return what a wheel declares to need, alone and with extras."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    declared = map(Requirement, metadata.get_all("Requires-Dist") or [])
    asked = ["", *extras]
    return [
        r
        for r in declared
        if r.marker is None or any(r.marker.evaluate({"extra": extra}) for extra in asked)
    ]


def closure(
    packages: Iterable[str], dist: Path, extras: Mapping[str, Iterable[str]] | None = None
) -> tuple[list[Path], list[str]]:
    """Follow what the packages' wheels declare.

    Args:
        packages: folder names under packages/.
        dist: the folder of built wheels.
        extras: the extras that are asked of some of the packages.

    Returns:
        The wheels of the packages and of every sibling they need, and the requirements on
        distributions from elsewhere.
    """
    siblings = {distribution(package): package for package in PACKAGES}
    wheels: dict[str, Path] = {}
    elsewhere: set[str] = set()
    asked = extras or {}
    todo = [(package, frozenset(asked.get(package, ()))) for package in packages]
    done: set[tuple[str, frozenset[str]]] = set()
    while todo:
        package, extra = item = todo.pop()
        if item in done:
            continue
        done.add(item)
        wheels[package] = wheel(package, dist)
        for requirement in requirements(wheels[package], extra):
            if requirement.name in siblings:
                todo.append((siblings[requirement.name], frozenset(requirement.extras)))
            else:
                requirement.marker = None  # it held, and the extra that it may name is not pip's
                elsewhere.add(str(requirement))
    return sorted(wheels.values()), sorted(elsewhere)


def module_name(requirement: str) -> str:
    """Return the module that a requirement brings.

    >>> module_name("ricci-xla[cuda]==0.1.0"), module_name("opt_einsum>=3.4")
    ('ricci_xla', 'opt_einsum')
    """
    return Requirement(requirement).name.replace("-", "_")


def installed(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the distribution and the extras that a README tells users to install.

    >>> installed("Its examples need a backend: `pip install 'ricci-nn[reference]'`.")
    ('ricci-nn', ('reference',))
    >>> installed("`pip install ricci-pytree`")
    ('ricci-pytree', ())

    Raises:
        ValueError: if it does not say.
    """
    match = INSTALL.search(text)
    if match is None:
        raise ValueError("no line says what to install: `pip install ...`")
    return match[1], tuple(match[2].split(",")) if match[2] else ()


def readme_extras(package: str) -> tuple[str, ...]:
    """Return the extras that a package's README tells users to install."""
    file = ROOT / "packages" / package / "README.md"
    return installed(file.read_text(encoding="utf-8"))[1]


def modules_beside(
    packages: Iterable[str], dist: Path, extras: Mapping[str, Iterable[str]], *others: str
) -> list[str]:
    """Return what any package of the workspace brings, and these do not.

    Args:
        packages: folder names under packages/.
        dist: the folder of built wheels.
        extras: the extras that are asked of some of the packages.
        others: further requirements that are there.
    """
    wheels, elsewhere = closure(packages, dist, extras)
    brought = {file.name.partition("-")[0] for file in wheels}
    brought.update(map(module_name, [*elsewhere, *others]))
    brought |= {name for module in brought for name in BROUGHT_BY.get(module, ())}
    every = {distribution(name).replace("-", "_") for name in PACKAGES}
    for name in PACKAGES:
        project = settings(name)["project"]
        optional = project.get("optional-dependencies", {}).values()
        every |= set(map(module_name, chain(project["dependencies"], *optional)))
    return sorted(every - brought)
