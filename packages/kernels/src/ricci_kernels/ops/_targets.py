"""The devices that a kernel is written for, and the sizes of blocks that suit them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._integers import next_power_of_2

# The least block of a GPU's tensor cores.
_LEAST = 16


class Target(ir.TupleRecord):
    """A kind of device.

    Attributes:
      is_gpu: whether the steps of a grid run at the same time and arrays have sizes that are powers
        of 2, as on NVIDIA GPUs. On others the steps of the last axis run in order.
      interpret: whether kernels are interpreted.
    """

    is_gpu: bool
    interpret: Any = False

    def block(self, size: int, preferred: int) -> int:
        """The size of a block along a dimension of several blocks.

        Args:
          size: the number of elements.
          preferred: the size for long dimensions.
        """
        if self.is_gpu:
            return max(_LEAST, next_power_of_2(min(size, preferred)))
        return min(size, preferred)

    def width(self, size: int) -> int:
        """The size of a block that contains a whole dimension."""
        return max(_LEAST, next_power_of_2(size)) if self.is_gpu else size


def varying_alike(*arrays: ir.Array | None) -> list[Any]:
    """Cast arrays to vary along the manual axes along which one of them varies.

    The cotangent of one that does not is then a sum over these axes.
    """
    present = [x for x in arrays if x is not None]
    axes = frozenset[Any]().union(*[ir.varying(ir.get_aval(x)) for x in present])
    return [x if x is None or not axes else ir.cast_varying(x, axes) for x in arrays]


def on_device(
    function: Callable[..., Any], interpret: bool | Target | None, *args: ir.PyTree
) -> ir.PyTree:
    """Apply a function for the device that a program is compiled for.

    Args:
      function: its arguments are the target, then ``args``.
      interpret: ``True`` interprets its kernels on any device, ``False`` compiles them on any, and
        ``None`` interprets them where no compiler of kernels exists. Or the target itself.
      args: pytrees of arrays.
    """
    if isinstance(interpret, Target):
        return function(interpret, *args)
    # Interpreted kernels take the form of a TPU's: an interpreter runs steps in order, and takes
    # blocks of any size.
    if interpret:
        return function(Target(False, interpret), *args)
    tpu, gpu = partial(function, Target(False)), partial(function, Target(True))
    default = tpu if interpret is False else partial(function, Target(False, True))
    return lax.platform_dependent(*args, cuda=gpu, tpu=tpu, default=default)
