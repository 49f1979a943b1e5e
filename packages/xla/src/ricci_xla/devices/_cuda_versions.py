"""Check of the versions of CUDA's libraries, before a client for NVIDIA GPUs is created.

A library that is missing or too old would let a program fail later, far from the cause.
"""

import importlib
import os
from types import ModuleType

from ricci_ir import TupleRecord

SKIP_VARIABLES = ("RICCI_SKIP_CUDA_CONSTRAINTS_CHECK", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK")


class _Library(TupleRecord):
    """A library of CUDA that the plugin loads.

    Attributes:
      name: its name.
      prefix: the prefix of the plugin's functions for its versions.
      minimum: the oldest version that works, as the library's own number.
      minor: if not 0, at least the minor version that the plugin was built with is needed; a
        version is divided by this to leave out the patch.
    """

    name: str
    prefix: str
    minimum: int = 0
    minor: int = 0


_LIBRARIES = (
    _Library("CUDA runtime", "cuda_runtime", 12010),
    _Library("cuBLAS", "cublas", 120100),
    # XLA refuses convolutions with an older minor version than its own.
    _Library("cuDNN", "cudnn", minor=100),
    _Library("cuFFT", "cufft", 120),
    _Library("cuPTI", "cupti", 18),
    _Library("cuSPARSE", "cusparse", 12100),
)


def check_cuda_versions(package: str) -> None:
    """Check the versions of the libraries that the plugin loads.

    Nothing is checked without a driver, of which the client tells, or if an environment variable of
    ``SKIP_VARIABLES`` is set.

    Args:
      package: the package with the plugin's kernels.

    Raises:
      RuntimeError: if a library is missing or too old.
    """
    if any(os.environ.get(name) for name in SKIP_VARIABLES):
        return
    versions = importlib.import_module(f"{package}._versions")
    if not versions.cuda_driver_get_version():
        return
    problems = [p for p in (_problem(versions, library) for library in _LIBRARIES) if p]
    if problems:
        major = versions.cuda_runtime_build_version() // 1000
        raise RuntimeError(
            "\n".join(
                [
                    "The libraries of CUDA do not fit the plugin:",
                    *(f"- {problem}" for problem in problems),
                    f"Install them with `pip install 'jax-cuda{major}-plugin[with-cuda]'`, and "
                    "remove older ones from LD_LIBRARY_PATH. "
                    f"{SKIP_VARIABLES[0]}=1 leaves out this check.",
                ]
            )
        )


def _problem(versions: ModuleType, library: _Library) -> str | None:
    built = getattr(versions, f"{library.prefix}_build_version")()
    try:
        installed = getattr(versions, f"{library.prefix}_get_version")()
    except RuntimeError as error:
        return f"{library.name} cannot be loaded: {error}"
    needed = built // library.minor * library.minor if library.minor else library.minimum
    if installed >= needed:
        return None
    return (
        f"{library.name} {installed} is installed, but {needed} or newer is needed; the plugin was "
        f"built with {built}"
    )
