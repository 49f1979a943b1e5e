"""Descriptions of the environment for reports of defects, and the check of a Colab notebook."""

import os
import platform
import subprocess
import sys

from ._client import get_backend
from ._listing import devices, local_devices, process_count

__all__ = ["print_environment_info", "setup_tpu"]

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


# The variable that Colab sets in a notebook's environment.
_COLAB = "COLAB_RELEASE_TAG"
# The variable that it set when the TPU was on another machine.
_REMOTE = "COLAB_TPU_ADDR"


def setup_tpu(tpu_driver_version: str | None = None) -> None:
    """Check that a notebook on Google Colab has a TPU; there is nothing to set up for it.

    The first notebooks reached a TPU on another machine, to which this function connected. Today's
    runtimes run on the machine of the TPU, whose devices are listed like any others.

    Args:
      tpu_driver_version: the driver of those days; has no effect.

    Raises:
      RuntimeError: outside Colab, or if the notebook's runtime has no TPU.

    Example:
      >>> from ricci.tools.colab_tpu import setup_tpu
      >>> setup_tpu()
      Traceback (most recent call last):
      RuntimeError: setup_tpu() is for notebooks on Google Colab, but ...
    """
    if _COLAB not in os.environ and _REMOTE not in os.environ:
        raise RuntimeError(
            "setup_tpu() is for notebooks on Google Colab, but this program does not run there.\n"
            "It is not needed elsewhere: with libtpu installed, "
            """devices("tpu") lists this machine's TPUs."""
        )
    try:
        get_backend("tpu")
    except RuntimeError as error:
        raise RuntimeError(
            "setup_tpu(): this notebook's runtime has no TPU that can be used. Choose a TPU under "
            "Runtime > Change runtime type, and install libtpu.\n"
            f"{error}"
        ) from None
