"""Operations that XLA does not divide by itself: it asks Python for the program of a part."""

import itertools
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ricci_ir import Jaxpr, TupleRecord
from ricci_stablehlo import Module, lower_jaxpr
from ricci_xla.devices._jaxlib import runtime, xla_client
from ricci_xla.devices._runtime_types import Device, DeviceList, JaxRuntimeError
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import (
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    Sharding,
)
from ricci_xla.meshes._spec import PartitionSpec
from ricci_xla.meshes._tiles import named_by_tiles

from ._inspection import mesh_of_module

__all__ = ["Division", "Partitioner"]

_TARGET = "CustomSPMDPartitioning"


class Division(TupleRecord):
    """How an operation is divided.

    Attributes:
      jaxpr: the program of one device's part.
      mesh: the mesh whose axes that program may refer to.
      arg_shardings, result_shardings: how operands and results are divided.
    """

    jaxpr: Jaxpr
    mesh: Mesh
    arg_shardings: Sequence[Sharding]
    result_shardings: Sequence[Sharding]


# Given the mesh, the shardings of operands and then results, by tiles and by name, and the number
# of operands.
type Divide = Callable[[Mesh, Sequence[Sharding], Sequence[Sharding], int], Division]


class Partitioner:
    """Divides one operation of a module; it must be kept alive until the module is compiled.

    Args:
      module: the module that is being written.
      name: the operation's name, for messages.
      in_avals, out_avals: the types of operands and results.
      divide: says how the operation is divided.

    Attributes:
      target: the name of the custom call by which the module has the operation.
      number: what the custom call has as its configuration.
    """

    target: str = _TARGET

    def __init__(
        self,
        module: Module,
        name: str,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        divide: Divide,
    ):
        self.name = name
        self.number: int = next(_numbers)
        self.error: Exception | None = None
        self._platform = module.platform
        self._devices: tuple[Device, ...] = tuple(module.devices)
        self._meshes: Mapping[Any, str] = module.meshes  # more may be declared later
        self._avals = [*in_avals, *out_avals]
        self._count = len(in_avals)
        self._divide = divide
        if self._devices:
            _register(self._devices[0].platform)
        _partitioners[self.number] = self

    @property
    def mesh(self) -> Mesh:
        """The program's mesh; one axis over all of its devices, if it has none."""
        found = mesh_of_module(self._meshes, self._devices)
        return found or Mesh(np.array(self._devices, object), ("devices",))

    def answer(
        self, arguments: Sequence[HloSharding], result: HloSharding, result_shape: object
    ) -> tuple[bytes, list[HloSharding], HloSharding]:
        """The program of a part, and the shardings of operands and results, as XLA wants them."""
        results = [result] if len(self._avals) == self._count + 1 else result.tuple_elements()
        where = DeviceList(self._devices)
        tiled = [GSPMDSharding(where, tiles) for tiles in (*arguments, *results)]
        mesh = self.mesh
        named = [
            _of_rank(named_by_tiles(sharding, mesh, aval.ndim), aval.ndim)
            for sharding, aval in zip(tiled, self._avals, strict=True)
        ]
        found = self._divide(mesh, tiled, named, self._count)
        text = lower_jaxpr(
            found.jaxpr,
            self.name,
            platform=self._platform,
            axis_sizes=found.mesh.shape,
            num_partitions=len(self._devices),
            embed_constants=True,
        )
        shardings = [
            sharding._to_xla_hlo_sharding(aval.ndim)
            for sharding, aval in zip(
                (*found.arg_shardings, *found.result_shardings), self._avals, strict=True
            )
        ]
        outs = shardings[self._count :]
        one = outs[0] if len(outs) == 1 else HloSharding.tuple_sharding(result_shape, outs)
        return text.encode(), shardings[: self._count], one


def _of_rank(sharding: Sharding, ndim: int) -> Sharding:
    """A sharding whose spec has a part for each dimension, so that functions can take one."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    spec = sharding.spec
    return sharding.update(spec=PartitionSpec(*spec, *[None] * (ndim - len(spec))))


_numbers = itertools.count(1)
_partitioners: weakref.WeakValueDictionary[int, Partitioner] = weakref.WeakValueDictionary()


def _partition(
    arg_shapes: Sequence[Any],
    arg_shardings: Sequence[HloSharding],
    result_shape: object,
    result_sharding: HloSharding,
    config: bytes,
) -> tuple[bytes, list[HloSharding], HloSharding]:
    partitioner = _partitioners[int(config)]
    try:
        return partitioner.answer(arg_shardings, result_sharding, result_shape)
    except Exception as error:
        partitioner.error = error
        raise


def _not_asked(*args: object) -> NoReturn:
    raise NotImplementedError("sharding rules say how shardings pass through the operation")


@cache
def _register(platform: str) -> None:
    """Tell the compiler of a platform whom to ask; plugins have compilers of their own."""
    plugin = None if platform == "cpu" else runtime.get_pjrt_plugin(platform)
    xla_client.register_custom_call_partitioner(
        _TARGET,
        _not_asked,
        _partition,
        _not_asked,
        can_side_effecting_have_replicated_sharding=True,
        c_api=plugin,
    )


def partition_error(text: str) -> JaxRuntimeError | None:
    """The error by which compiling a module failed, if an operation of it could not be divided.

    Args:
      text: the module.
    """
    if _TARGET not in text:
        return None
    for number in re.findall(r'backend_config = "(\d+)"', text):
        partitioner = _partitioners.get(int(number))
        if partitioner is not None and partitioner.error is not None:
            cause, partitioner.error = partitioner.error, None
            error = JaxRuntimeError(
                f"custom_partitioning: {partitioner.name} could not be divided over "
                f"{len(partitioner._devices)} devices. {type(cause).__name__}: {cause}"
            )
            error.__cause__ = cause
            return error
    return None
