"""The modules of the CUDA plugin that describe calls of cuSPARSE and cuDNN."""

import importlib
from functools import cache
from types import ModuleType

from ricci_stablehlo import kernel_descriptors

from ._plugins import cuda_kernels_package

__all__: list[str] = []


@kernel_descriptors.provide
@cache
def plugin_descriptors(platform: str, library: str) -> ModuleType | None:
    """Return the module for a library, or None without the plugin or without a GPU's driver."""
    package = cuda_kernels_package() if platform == "cuda" else ""
    if not package:
        return None
    versions = importlib.import_module(f"{package}._versions")
    # 0 without a driver. Other questions are errors there.
    if not versions.cuda_driver_get_version():
        return None
    return importlib.import_module(f"{package}._{library}")
