"""Custom-call kernels that must be initialized before an executable that calls them runs."""

from ._jaxlib import lapack


def prepare_kernels(text: str | bytes, platform: str) -> None:
    """Initialize the kernels that a module calls; without this its executable would crash.

    Nothing is done for other modules, since initializing imports SciPy.

    Args:
      text: the module, as StableHLO or HLO.
      platform: the platform that it is to run on.
    """
    if _mentions("lapack_", text):
        lapack.prepare_lapack_call("getrf", "float32")
    if platform != "cpu" and _mentions("hybrid", text):
        from jaxlib import gpu_solver  # noqa: PLC0415 - lazy: it imports SciPy

        gpu_solver.initialize_hybrid_kernels()


def _mentions(kernel: str, text: str | bytes) -> bool:
    return kernel in text if isinstance(text, str) else kernel.encode() in text
