"""Build the sdist of every package into dist/, and its wheel from that sdist.

Building the wheel from the sdist proves each time that the sdist is whole: nothing of the
repository is at hand then. hatchling must be importable, and jaxlib, whose headers the compiled
package includes; that one is left out where there is no C++ compiler.
"""

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import hatchling.build
from workspace import PACKAGES, buildable

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def build(package: Path, dist: Path) -> list[Path]:
    """Build the sdist of the package in a folder, then the wheel from it; return both."""
    os.chdir(package)
    sdist = dist / hatchling.build.build_sdist(str(dist))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        os.chdir(next(Path(folder).iterdir()))
        wheel = dist / hatchling.build.build_wheel(str(dist))
        os.chdir(ROOT)
    return [sdist, wheel]


def main() -> None:
    """Build every package of the workspace that can be built here into an empty dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    packages = buildable()
    for package in packages:
        for file in build(ROOT / "packages" / package, DIST):
            print(f"{file.name}  {file.stat().st_size} bytes")
    if missing := sorted(set(PACKAGES).difference(packages)):
        print(f"not built, since there is no C++ compiler: {', '.join(missing)}")


if __name__ == "__main__":
    main()
