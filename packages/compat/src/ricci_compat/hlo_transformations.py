"""User-defined transformations of HLO modules while XLA compiles them: ``jax.extend.xla``."""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from ricci_xla import backends, get_backend
from ricci_xla.authoring import module_transformations, runtime


class PipelineStage(IntEnum):
    """When a module is transformed: before or after XLA schedules its instructions."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Register a function that transforms the HLO modules that XLA compiles from now on.

    Existing executables do not change: call ``clear_caches`` to compile them again.

    Args:
      callback: takes an ``HloModuleProto`` as bytes, and returns another one, or ``None`` to leave
        it unchanged. Its errors make the compilation fail.
      name: a name to clear it by; replaces the transformation of this name on the platform.
      stage: when it is called.
      platforms: the platforms that it is for, by default all with attached devices.

    Raises:
      JaxRuntimeError: if a platform is not available.

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
      name, stage: as registered.
      platforms: the platforms, by default all with attached devices.

    Returns:
      Whether there was such a function.
    """
    existed = False
    for platform in _platforms(platforms):
        if platform == "cpu":
            existed |= _transforms().clear_xla_transform(name, int(stage))
        else:
            api = runtime.get_pjrt_plugin(platform)
            existed |= _transforms().clear_xla_transform_c_api(api, name, int(stage))
        module_transformations.discard((platform, name, int(stage)))
    return existed


def _platforms(platforms: Sequence[str] | str | None) -> list[str]:
    if platforms is None:
        return list(backends())
    names = [platforms] if isinstance(platforms, str) else platforms
    return [get_backend(name).platform if name == "gpu" else name for name in names]


def _transforms() -> Any:
    from jaxlib import _xla  # noqa: PLC0415  # pyright: ignore - lazy: rarely used

    return _xla
