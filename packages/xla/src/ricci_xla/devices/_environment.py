"""A description of the machine and the installation, for reports of defects."""

import os
import platform
import subprocess
import sys

from ._listing import devices, local_devices, process_count

__all__ = ["print_environment_info"]

_DISTRIBUTIONS = ("ricci", "jaxlib", "numpy")
_PREFIXES = ("JAX_", "XLA_", "RICCI_", "TF_CPP_")


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and settings, for reports of defects.

    Args:
      return_string: whether the text is returned instead of being printed.

    Returns:
      The text, or ``None`` if it is printed.

    Example:
      >>> import ricci
      >>> "jaxlib" in ricci.print_environment_info(return_string=True)
      True
    """
    lines = [f"{name}: {_version(name)}" for name in _DISTRIBUTIONS]
    all_devices = devices()
    kinds = sorted({device.device_kind for device in all_devices})
    local = len(local_devices())
    lines += [
        f"python: {sys.version}",
        f"device info: {'-'.join(kinds)}-{len(all_devices)}, {local} local devices",
        f"process_count: {process_count()}",
        f"platform: {platform.uname()}",
    ]
    settings = sorted(name for name in os.environ if name.startswith(_PREFIXES))
    lines += [f"{name}={os.environ[name]}" for name in settings]
    if any(device.platform == "gpu" for device in all_devices):
        lines += _driver_table()
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _driver_table() -> list[str]:
    """The output of ``nvidia-smi``, if it is installed."""
    try:
        process = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return [process.stdout]


def _version(distribution: str) -> str:
    from importlib import metadata  # noqa: PLC0415 - lazy: it takes long, and is rarely needed

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
