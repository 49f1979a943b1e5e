"""Python functions that XLA calls as it partitions: custom partitioning, and inspection."""

import itertools
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ricci_ir import Jaxpr, Parts, TupleRecord
from ricci_stablehlo import Lowering, Module, Partitioning, Value, lower_jaxpr, partitioned_call
from ricci_xla.devices._jaxlib import load_xla_client, runtime
from ricci_xla.devices._runtime_types import Device, DeviceList, JaxRuntimeError
from ricci_xla.meshes._encodings import named_by_tiles
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import (
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from ricci_xla.meshes._spec import PartitionSpec

__all__ = ["Division", "Partitioner", "ShardingInspector", "undivided"]


class ShardingInspector:
    """Calls a function with the sharding of a value, once XLA has chosen it.

    The inspector must stay alive until the module is compiled.

    Args:
      module: the module that is being written.
      ndim: the rank of the value's buffers.
      callback: called with the sharding.
    """

    __slots__ = ("config", "handler")

    def __init__(self, module: Module, ndim: int, callback: Callable[[Sharding], None]):
        devices = tuple(module.devices)
        mesh = mesh_of_module(module.meshes, devices)

        def handler(tiles: HloSharding) -> None:
            callback(named_by_tiles(GSPMDSharding(DeviceList(devices), tiles), mesh, ndim))

        self.handler: Callable[[HloSharding], None] = handler
        self.config: bytes = runtime.encode_inspect_sharding_callback(handler)


def mesh_of_module(meshes: Mapping[Any, str], devices: Sequence[Device]) -> Mesh | None:
    """Return a module's mesh over all of its devices, if it has one.

    Args:
      meshes: the axes of the meshes that the module declares.
      devices: its devices.
    """
    for axes in meshes:
        sizes = [size for _, size in axes]
        if axes and np.prod(sizes) == len(devices):
            return Mesh(np.array(devices, object).reshape(sizes), tuple(n for n, _ in axes))
    return None


def undivided(module: Module) -> SingleDeviceSharding:
    """Return the sharding of all values in a module for one device."""
    return single_device_sharding(module.devices[0])


_TARGET = "CustomSPMDPartitioning"


class Division(TupleRecord):
    """The partitioning of an operation.

    Attributes:
      jaxpr: the computation on one device's shards.
      mesh: the mesh whose axes the jaxpr may refer to.
      arg_shardings, result_shardings: the shardings of operands and results.
    """

    jaxpr: Jaxpr
    mesh: Mesh
    arg_shardings: Sequence[Sharding]
    result_shardings: Sequence[Sharding]


# Its arguments: the mesh; the shardings of operands and then results, first as tiles, then by mesh
# axes; the number of operands.
type Divide = Callable[[Mesh, Sequence[Sharding], Sequence[Sharding], int], Division]


class Partitioner:
    """Partitions one operation of a module; must stay alive until the module is compiled.

    Args:
      module: the module that is being written.
      name: the operation's name, for messages.
      in_avals, out_avals: the types of operands and results.
      divide: returns the partitioning for given shardings.

    Attributes:
      target: the target of the custom call that represents the operation in the module.
      number: the configuration of the custom call, which identifies the partitioner.
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
        """The module's mesh, else one with a single axis over all devices."""
        mesh = mesh_of_module(self._meshes, self._devices)
        return mesh or Mesh(np.array(self._devices, object), ("devices",))

    def partition(
        self, arguments: Sequence[HloSharding], result: HloSharding, result_shape: object
    ) -> tuple[bytes, list[HloSharding], HloSharding]:
        """Return the module of a shard, and the shardings of operands and results, for XLA."""
        # XLA gives one sharding for all results, a tuple if there are several.
        results = [result] if len(self._avals) == self._count + 1 else result.tuple_elements()
        device_list = DeviceList(self._devices)
        tiled = [GSPMDSharding(device_list, tiles) for tiles in (*arguments, *results)]
        mesh = self.mesh
        named = [
            _of_rank(named_by_tiles(sharding, mesh, aval.ndim), aval.ndim)
            for sharding, aval in zip(tiled, self._avals, strict=True)
        ]
        division = self._divide(mesh, tiled, named, self._count)
        text = lower_jaxpr(
            division.jaxpr,
            self.name,
            platform=self._platform,
            axis_sizes=division.mesh.shape,
            num_partitions=len(self._devices),
            embed_constants=True,
            manual=True,
        )
        shardings = [
            sharding._to_xla_hlo_sharding(aval.ndim)
            for sharding, aval in zip(
                (*division.arg_shardings, *division.result_shardings), self._avals, strict=True
            )
        ]
        outs = shardings[self._count :]
        one = outs[0] if len(outs) == 1 else HloSharding.tuple_sharding(result_shape, outs)
        return text.encode(), shardings[: self._count], one


@partitioned_call.provide
def _partitioned_call(
    ctx: Lowering, operands: Sequence[Value], partitioning: Partitioning
) -> list[Value]:
    """Write an operation that is partitioned by mesh axes; see ``Partitioning``."""

    def divide(
        mesh: Mesh, tiled: Sequence[Sharding], named: Sequence[Sharding], count: int
    ) -> Division:
        ranks = [*(x.aval.ndim for x in operands), *(aval.ndim for aval in outs)]
        proposed = [_parts(sharding, rank) for sharding, rank in zip(named, ranks, strict=True)]
        jaxpr, parts = partitioning.partition(mesh.shape, proposed)
        shardings = [
            NamedSharding(mesh, PartitionSpec(*(p or None for p in dims))) for dims in parts
        ]
        return Division(jaxpr, mesh, shardings[:count], shardings[count:])

    outs = list(ctx.outs)
    avals = [x.aval for x in operands]
    partitioner = Partitioner(ctx.module, partitioning.name, avals, outs, divide)
    key = ("partitioner", partitioner.number)
    partitioning.owner.derived(key, lambda: partitioner)  # lives as long
    return ctx.custom_call(
        partitioner.target,
        operands,
        outs,
        api_version=2,
        extra=f'backend_config = "{partitioner.number}"',
        annotations=f"sdy.sharding_rule = {partitioning.rule(len(operands))}",
    )


def _parts(sharding: Sharding, ndim: int) -> Parts:
    """The mesh axes that shard each dimension; none of a sharding that has no names for them."""
    if not isinstance(sharding, NamedSharding):
        return ((),) * ndim
    each = [() if p is None else p if isinstance(p, tuple) else (p,) for p in sharding.spec]
    return (*each, *[()] * (ndim - len(each)))


def _of_rank(sharding: Sharding, ndim: int) -> Sharding:
    """Pad a sharding's spec to one entry for each dimension."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    spec = sharding.spec
    return sharding.update(spec=PartitionSpec(*spec, *[None] * (ndim - len(spec))))


_numbers = itertools.count(1)
# XLA calls one function for all partitioners; the configuration of the custom call tells which.
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
        return partitioner.partition(arg_shardings, result_sharding, result_shape)
    except Exception as error:
        partitioner.error = error
        raise


def _unreachable(*args: object) -> NoReturn:
    raise NotImplementedError("shardings propagate by the operation's sharding rule")


@cache
def _register(platform: str) -> None:
    """Register the callback with the compiler of a platform; each plugin has a separate one."""
    plugin = None if platform == "cpu" else runtime.get_pjrt_plugin(platform)
    load_xla_client().register_custom_call_partitioner(
        _TARGET,
        _unreachable,
        _partition,
        _unreachable,
        can_side_effecting_have_replicated_sharding=True,
        c_api=plugin,
    )


def partition_error(text: str) -> JaxRuntimeError | None:
    """Return the error that made a compilation fail, if it came from a partitioner.

    Args:
      text: the module.
    """
    if _TARGET not in text:
        return None
    for number in re.findall(r'backend_config = "(\d+)"', text):
        partitioner = _partitioners.get(int(number))
        if partitioner is not None and partitioner.error is not None:
            # An exception of a callback reaches Python as the text of XLA's error only. The
            # partitioner has stored it, so that the user sees the original one as the cause.
            cause, partitioner.error = partitioner.error, None
            error = JaxRuntimeError(
                f"custom_partitioning: {partitioner.name} could not be partitioned over "
                f"{len(partitioner._devices)} devices. {type(cause).__name__}: {cause}"
            )
            error.__cause__ = cause
            return error
    return None
