"""Functions of the user's that change programs while XLA compiles them."""

import importlib
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from ricci_xla.devices._client import backends, get_backend
from ricci_xla.devices._jaxlib import runtime

from ._compiler import module_transformations

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]


class PipelineStage(IntEnum):
    """When a program is changed: before or after XLA has put its operations in order."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Have a function change the programs that XLA compiles from now on.

    What is compiled already stays as it is: call ``clear_caches`` to have it compiled again.

    Args:
      callback: takes an ``HloModuleProto`` as bytes, and returns another one, or ``None`` to leave
        it as it is. An error that it raises is the compilation's.
      name: a name to clear it by; what has this name on the platform is replaced.
      stage: when it is called.
      platforms: the platforms that it is for, by default all that have devices here.

    Raises:
      JaxRuntimeError: if a platform is not here.

    Example:
      >>> from ricci.extend.xla import clear_hlo_module_transformation
      >>> from ricci.extend.xla import register_hlo_module_transformation
      >>> sizes: list[int] = []
      >>> register_hlo_module_transformation(lambda m: sizes.append(len(m)), name="size")
      >>> clear_hlo_module_transformation("size")
      True
    """
    for platform in _platforms(platforms):
        if platform == "cpu":
            _transforms().register_xla_transform(name, int(stage), callback)
        else:
            api = runtime.get_pjrt_plugin(platform)
            _transforms().register_xla_transform_c_api(api, name, int(stage), callback)
        module_transformations.add((platform, name, int(stage)))


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Undo ``register_hlo_module_transformation``.

    Args:
      name, stage: those that it was given.
      platforms: the platforms, by default all that have devices here.

    Returns:
      Whether there was such a function.
    """
    found = False
    for platform in _platforms(platforms):
        if platform == "cpu":
            found |= _transforms().clear_xla_transform(name, int(stage))
        else:
            api = runtime.get_pjrt_plugin(platform)
            found |= _transforms().clear_xla_transform_c_api(api, name, int(stage))
        module_transformations.discard((platform, name, int(stage)))
    return found


def _platforms(given: Sequence[str] | str | None) -> list[str]:
    if given is None:
        return list(backends())
    names = [given] if isinstance(given, str) else given
    return [get_backend(name).platform if name == "gpu" else name for name in names]


def _transforms() -> Any:
    return importlib.import_module("jaxlib._xla")  # few programs need it
