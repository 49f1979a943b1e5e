"""The version of the distribution; in a separate module, since the query takes 90 ms.

A checkout on the path is not installed: there the file ``VERSION`` at its root has it.
"""

from importlib import metadata
from pathlib import Path


def _version() -> str:
    try:
        return metadata.version("ricci")
    except metadata.PackageNotFoundError:
        file = Path(__file__).resolve().parents[4] / "VERSION"
        if not file.is_file():
            raise
        return file.read_text().strip()


__version__: str = _version()
