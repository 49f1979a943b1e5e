"""Descriptions of calls of a GPU's libraries, which need the libraries to be written."""

from collections.abc import Callable
from types import ModuleType

import ricci_ir as ir

__all__ = ["kernel_descriptors"]


def _without_plugin(platform: str, library: str) -> None:
    return None


# The module of a platform's plugin that describes calls of a library, such as "sparse"; None
# without a device, since buffers have the sizes that the library needs on it.
kernel_descriptors: ir.Hook[Callable[[str, str], ModuleType | None]] = ir.Hook(
    "descriptions of kernels", provided_by="ricci_xla", default=_without_plugin
)
