"""Write a release's version and changelog, or check the packages as people would install them.

    python3 tools/release.py 0.3.0      writes the version everywhere, and CHANGELOG.md
    python3 tools/release.py --check    checks what `nox -s build` wrote to dist/
    python3 tools/release.py --check nn pytree

A check looks at the metadata strictly, and installs each wheel from the folder in a new
environment, with the extra that its README names. There it asks pip whether all requirements are
met, imports the package and runs the README's examples, with the repository out of reach.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from set_version import ROOT
from set_version import main as set_version
from workspace import PACKAGES, distribution, installed, sdist, settings, version, wheel

DIST = ROOT / "dist"


def requirement(package: str) -> str:
    """Return what a user asks pip for to run the examples of a package's README.

    >>> requirement("nn").partition("==")[0]
    'ricci-nn[reference]'
    """
    readme = ROOT / "packages" / package / "README.md"
    name, extras = installed(readme.read_text(encoding="utf-8"))
    asked = f"[{','.join(extras)}]" if extras else ""
    return f"{name}{asked}=={settings(package)['project']['version']}"


def distributions(dist: Path) -> list[Path]:
    """Return the sdist and the wheel of every package.

    Raises:
      FileNotFoundError: one is missing, or there are others: of another version, for example.
    """
    expected = {build(package, dist) for package in PACKAGES for build in (wheel, sdist)}
    there = set(dist.glob("*"))
    if expected != there:
        differing = sorted(file.name for file in expected ^ there)
        raise FileNotFoundError(
            f"{dist} does not hold the sdist and the wheel of each package at {version()}: "
            f"{', '.join(differing)}. `nox -s build` writes them."
        )
    return sorted(expected)


def try_package(package: str, dist: Path, folder: Path) -> None:
    """Install a package in a new environment in a folder, import it and run its README.

    Raises:
      subprocess.CalledProcessError: something failed, and has said what.
    """
    venv = folder / "environment"
    create = [sys.executable, "-m", "virtualenv", "--quiet", "--no-periodic-update", str(venv)]
    subprocess.run(create, check=True)
    python = str(venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    arguments = ["--no-compile", "--find-links", str(dist), requirement(package)]
    module = distribution(package).replace("-", "_")
    readme = ROOT / "packages" / package / "README.md"
    for command in (
        [*pip, "install", *arguments],
        [*pip, "check"],
        [python, "-c", f"import {module}"],
        # -P: an example does not import files beside the program.
        [python, "-P", str(ROOT / "tools" / "readme_examples.py"), str(readme)],
    ):
        subprocess.run(command, check=True, cwd=folder)


def check(packages: Sequence[str]) -> int:
    """Check the distributions and try the packages; return the exit status."""
    files = list(map(str, distributions(DIST)))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    failed: list[str] = []
    for package in packages:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                try_package(package, DIST, Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{package}: {error}")
                failed.append(package)
        print(f"{requirement(package):45} {time.perf_counter() - start:6.1f} s", flush=True)
    print(f"{len(packages) - len(failed)} packages work as installed; failed: {failed or 'none'}")
    return 1 if failed else 0


def write(new: str) -> int:
    """Write a version everywhere, and gather the fragments of changelog.d into CHANGELOG.md."""
    set_version(new)
    towncrier = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", new]
    return subprocess.run(towncrier, cwd=ROOT).returncode


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit status."""
    if arguments and arguments[0] == "--check":
        unknown = sorted(set(arguments[1:]) - set(PACKAGES))
        if unknown:
            print(f"no such packages: {', '.join(unknown)}")
            return 2
        return check(arguments[1:] or PACKAGES)
    if len(arguments) == 1 and not arguments[0].startswith("-"):
        return write(arguments[0])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
