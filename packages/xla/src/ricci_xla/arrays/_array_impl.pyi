"""What jaxlib's arrays have beyond the interface of ``Array``.

``packages/xla/tests/test_stubs.py`` compares this with the class.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import Array, ShapedArray
from ricci_xla.meshes._sharding_types import Sharding

__all__ = ["ArrayImpl"]

class ArrayImpl(Array):
    """An array on devices.

    Args:
      aval: the array's type.
      sharding: how it is divided.
      arrays: the parts, on the devices of this process.
      committed: whether computing with it must take place there.
    """

    aval: ShapedArray
    _npy_value: np.ndarray | None

    def __init__(
        self, aval: ShapedArray, sharding: Sharding, arrays: Sequence[Any], committed: bool
    ) -> None: ...
    @property
    def _arrays(self) -> list[ArrayImpl]: ...
    @property
    def _committed(self) -> bool: ...
    @property
    def _pjrt_layout(self) -> Any: ...
    @property
    def _sharding(self) -> Sharding: ...
    @property
    def _value(self) -> np.ndarray: ...
    def _fully_replicated_shard(self) -> ArrayImpl: ...
    def _rewrap_with_aval_and_sharding(
        self, aval: ShapedArray, sharding: Sharding, /
    ) -> ArrayImpl: ...
    def _to_np_array_did_copy(self) -> tuple[np.ndarray, bool]: ...
    @property
    def sharding(self) -> Sharding:
        """How the array is divided over devices."""
