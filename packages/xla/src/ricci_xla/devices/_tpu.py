"""TPUs of this machine: whether there may be one, and libtpu, the library that drives them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ._packages import package_folder

_GOOGLE_PCI_VENDOR = "0x1ae0"
# Variables that cloud services with TPUs set, and users who partition a machine's TPUs.
_VARIABLES = (
    "CLOUD_TPU_TASK_ID",
    "COLAB_TPU_ADDR",
    "TPU_NAME",
    "TPU_PROCESS_BOUNDS",
    "TPU_TOPOLOGY",
    "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES",
    "TPU_WORKER_ID",
)
# Without a TPU, libtpu would query a metadata server of the cloud for these, for minutes, and let
# only one process load it.
_OFFLINE = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
}


def find_libtpu() -> Path | None:
    """Return the shared object of libtpu: ``TPU_LIBRARY_PATH``, else that of the package."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    if path:
        return Path(path)
    folder = package_folder("libtpu")
    library = folder and folder / "libtpu.so"
    return library if library and library.exists() else None


@cache
def has_tpu() -> bool:
    """Whether a TPU is attached to this machine."""
    nodes = [*Path("/dev").glob("accel[0-9]*"), *Path("/dev/vfio").glob("[0-9]*")]
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    return bool(nodes) and any(f.read_text().strip() == _GOOGLE_PCI_VENDOR for f in vendors)


def may_have_tpu() -> bool:
    """Whether a TPU is attached, or announced by an environment variable."""
    return any(name in os.environ for name in _VARIABLES) or has_tpu()


@contextmanager
def without_metadata_server() -> Iterator[None]:
    """Keep libtpu from querying a metadata server, on a machine that has no TPU."""
    missing = {} if has_tpu() else {k: v for k, v in _OFFLINE.items() if k not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)
