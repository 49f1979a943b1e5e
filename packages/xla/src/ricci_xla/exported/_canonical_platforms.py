"""The names that exports have for platforms: GPUs are called by their runtime."""

from ricci_xla.devices._runtime_types import Device

__all__ = [
    "canonical_platform",
]


def canonical_platform(device: Device) -> str:
    """The platform of a device, as exports name it."""
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"
