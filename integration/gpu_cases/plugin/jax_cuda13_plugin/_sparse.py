"""Descriptions of calls of cuSPARSE."""

from collections.abc import Callable
from typing import Any


def registrations() -> dict[str, Any]:
    """Return the kernels by target: none."""
    return {}


def _descriptor(name: str) -> Callable[..., tuple[int, bytes]]:
    def describe(*arguments: object) -> tuple[int, bytes]:
        text = f"{name}({', '.join(map(str, arguments))})"
        return len(text), text.encode()

    return describe


build_coo_matmat_descriptor = _descriptor("coo_matmat")
build_coo_matvec_descriptor = _descriptor("coo_matvec")
build_csr_matmat_descriptor = _descriptor("csr_matmat")
build_csr_matvec_descriptor = _descriptor("csr_matvec")
