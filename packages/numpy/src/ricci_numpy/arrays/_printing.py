"""Print options of arrays."""

from typing import Any

import numpy as np

__all__ = ["set_printoptions"]


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Set print options, which apply to NumPy's arrays, too.

    Args:
      args, kwargs: those of ``numpy.set_printoptions``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.set_printoptions(precision=8)

    Source: numpy.set_printoptions.
    """
    np.set_printoptions(*args, **kwargs)
