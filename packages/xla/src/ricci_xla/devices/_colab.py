"""The TPUs of a notebook on Google Colab."""

import os

from ._client import get_backend

__all__ = ["setup_tpu"]

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
