"""Names of platforms: those that users write, those that are requested, and those of rules."""

from ricci_ir import config

from . import _factories as factories
from . import _plugins
from ._runtime_types import Device

__all__ = ["canonical_platform", "platform_alias"]

# Names of platforms that users may write, and the platforms that each selects.
ALIASES: dict[str, tuple[str, ...]] = {
    "gpu": ("cuda", "rocm"),
    "cuda": ("cuda",),
    "rocm": ("rocm",),
}
PLATFORMS = ("cpu", "tpu", *ALIASES)


def requested_platforms() -> list[str] | None:
    """The names in ``jax_platforms``, in order; ``None`` if it is not set."""
    text = config.jax_platforms or config.jax_platform_name
    if not text:
        return None
    return [name for name in (part.strip().lower() for part in text.split(",")) if name]


def is_available(name: str, plugins: dict[str, _plugins.Plugin]) -> bool:
    """Whether a platform needs no module of a plugin."""
    names = ALIASES.get(name, (name,))
    return any(platform in ("cpu", *plugins, *factories.factories) for platform in names)


def not_installed(name: str, plugins: dict[str, _plugins.Plugin]) -> str:
    """The error text for a requested platform that is not installed."""
    package = {"tpu": "libtpu, with ricci[tpu]"}.get(
        name, "the packages jax-cuda13-pjrt and jax-cuda13-plugin, with ricci[cuda]"
    )
    platform = "TPU" if name == "tpu" else "CUDA"
    return "\n".join(
        [
            f"jax_platforms={config.jax_platforms!r} asks for the platform {name!r}, which is not "
            "installed.",
            f"Installed: {', '.join(['cpu', *plugins, *factories.factories])}. A {platform} "
            f"platform comes with {package}.",
            *_plugins.plugin_modules.failed.values(),
        ]
    )


def platform_alias(platform: str) -> str:
    """The name of a platform for users: ``"gpu"`` for CUDA and ROCm, else unchanged."""
    return "gpu" if platform in ALIASES else platform


def canonical_platform(device: Device) -> str:
    """The platform of a device for lowering rules: ``"cuda"`` or ``"rocm"`` for GPUs."""
    if device.platform != "gpu":
        return device.platform
    # jaxlib calls both "gpu"; the version's text tells them apart.
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"
