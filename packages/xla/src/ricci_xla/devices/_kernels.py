"""Custom-call kernels that must be initialized before a program that calls them runs."""

import importlib

from ._jaxlib import lapack


def prepare_kernels(text: str | bytes, platform: str) -> None:
    """Initialize the kernels that a program calls; without this the program would crash.

    Programs that call no such kernel are left alone, since initializing imports SciPy.

    Args:
      text: the program, as StableHLO or HLO.
      platform: the platform that it is to run on.
    """
    if _names("lapack_", text):
        lapack.prepare_lapack_call("getrf", "float32")
    if platform != "cpu" and _names("hybrid", text):
        importlib.import_module("jaxlib.gpu_solver").initialize_hybrid_kernels()


def _names(kernel: str, text: str | bytes) -> bool:
    return kernel in text if isinstance(text, str) else kernel.encode() in text
