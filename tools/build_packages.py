"""Build the sdist of every package into dist/, and its wheel from that sdist.

Building the wheel from the sdist proves each time that the sdist is whole: nothing of the
repository is at hand then. hatchling must be importable.
"""

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import hatchling.build

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
    """Build every package of the workspace into an empty dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for settings in sorted(ROOT.glob("packages/*/pyproject.toml")):
        for file in build(settings.parent, DIST):
            print(f"{file.name}  {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
