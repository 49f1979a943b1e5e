"""The record of an executable: its code, and the types and shardings of arguments and results."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ricci_ir import Array, no_effects
from ricci_xla.arrays._array_impl import ArrayImpl
from ricci_xla.arrays._placement import array_from_host
from ricci_xla.compile._compiler import compile_options
from ricci_xla.compile._executable import Executable
from ricci_xla.devices._kernels import prepare_kernels
from ricci_xla.devices._runtime_types import Device, DeviceList, JaxRuntimeError
from ricci_xla.files import (
    FileError,
    FileKind,
    ShardingRecord,
    TypeRecord,
    decode_sharding,
    decode_type,
    encode_sharding,
    encode_type,
)

__all__ = ["decode_executable", "encode_executable", "EXECUTABLE_KIND", "ExecutableRecord"]

_target = re.compile(r'custom_call_target="([^"]+)"')


class ArrayRecord(msgspec.Struct, frozen=True):
    """A constant of an executable."""

    type: TypeRecord
    sharding: ShardingRecord
    data: bytes


class ExecutableRecord(msgspec.Struct, frozen=True):
    """A compiled function.

    Attributes:
      name, arg_names: the function's name, and those of its arguments' leaves.
      environment: the environment that the code depends on, by topic.
      devices: the ids of the devices that it ran on, in their order.
      in_types, out_types, in_shardings, out_shardings, committed, consts: those of ``Executable``.
      kept_args: whether the code takes each argument, or it is dropped as unused.
      donated: whether each argument is donated; empty for none.
      targets: the kernels that it calls.
      code: the executable as the runtime serializes it.
    """

    name: str
    arg_names: list[str]
    environment: dict[str, str] = msgspec.field(name="made_for")
    devices: list[int]
    in_types: list[TypeRecord]
    out_types: list[TypeRecord]
    in_shardings: list[ShardingRecord]
    out_shardings: list[ShardingRecord]
    kept_args: list[bool] = msgspec.field(name="kept")
    committed: bool
    consts: list[ArrayRecord]
    donated: list[bool]
    targets: list[str]
    code: bytes


EXECUTABLE_KIND: FileKind[ExecutableRecord] = FileKind(
    "executable", 1, ExecutableRecord, "a serialized executable"
)


def encode_executable(
    executable: Executable,
    name: str,
    arg_names: Sequence[str],
    donated: Sequence[bool],
    environment: dict[str, str],
) -> ExecutableRecord:
    """The record of an executable.

    Raises:
      ValueError: if another process could not run it.
    """
    if not executable.is_loaded:
        raise ValueError(f"{name} is compiled for a topology: its devices are not attached")
    if executable.effects:
        effects = ", ".join(sorted(map(str, executable.effects)))
        raise ValueError(f"{name} has side effects ({effects}), which need this process")
    if any(layout is not None for layout in executable.in_layouts):
        raise ValueError(f"arguments of {name} have custom layouts")
    loaded = executable.loaded
    devices = _devices(executable)
    text = loaded.get_hlo_text()
    targets = sorted(set(_target.findall(text)))
    calls = [target for target in targets if "python" in target]
    if calls:
        raise ValueError(f"{name} calls Python functions, which are in this process alone")
    try:
        return ExecutableRecord(
            name,
            list(arg_names),
            environment,
            [device.id for device in devices],
            [encode_type(aval) for aval in executable.in_avals],
            [encode_type(aval) for aval in executable.out_avals],
            [encode_sharding(s, devices) for s in executable.in_shardings],
            [encode_sharding(s, devices) for s in executable.out_shardings],
            executable.used_arguments,
            executable.committed,
            [_encode_array(const, devices) for const in executable.consts],
            list(donated),
            targets,
            executable.serialize(),
        )
    except (TypeError, JaxRuntimeError) as error:
        raise ValueError(f"{name} cannot be serialized: {error}") from error


def _devices(executable: Executable) -> list[Device]:
    """The devices of an executable, in the order of its partitions."""
    shardings = (*executable.in_shardings, *executable.out_shardings)
    for sharding in shardings:
        devices = list(sharding._device_assignment)
        if any(device.process_index != devices[0].client.process_index() for device in devices):
            raise ValueError("the program runs on devices of several processes")
        return devices
    return executable.loaded.local_devices()


def decode_executable(record: ExecutableRecord, devices: Sequence[Device]) -> Executable:
    """Load the executable of a record onto devices.

    Args:
      record: the record.
      devices: as many devices as it was compiled for.

    Raises:
      FileError: if the record is not consistent, or the runtime cannot load the code.
    """
    devices = list(devices)
    options = compile_options(devices, num_partitions=len(devices))
    prepare_kernels(" ".join(record.targets), devices[0].platform)
    try:
        loaded = devices[0].client.deserialize_executable(
            record.code, DeviceList(tuple(devices)), options
        )
    except JaxRuntimeError as error:
        raise FileError(f"the runtime cannot load {record.name}: {error}") from error
    counts = len(record.in_types), len(record.in_shardings), len(record.kept_args)
    if len(set(counts)) != 1 or len(record.out_types) != len(record.out_shardings):
        raise FileError(f"the record of {record.name} has types and shardings that do not match")
    return Executable(
        loaded,
        [decode_type(r) for r in record.in_types],
        [decode_type(r) for r in record.out_types],
        in_shardings=[decode_sharding(r, devices) for r in record.in_shardings],
        out_shardings=[decode_sharding(r, devices) for r in record.out_shardings],
        used_arguments=record.kept_args,
        committed=record.committed,
        consts=[_decode_array(r, devices) for r in record.consts],
        effects=no_effects,
    )


def _encode_array(array: Array, devices: Sequence[Device]) -> ArrayRecord:
    data = np.ascontiguousarray(np.asarray(array)).tobytes()
    return ArrayRecord(encode_type(array.aval), encode_sharding(array.sharding, devices), data)


def _decode_array(record: ArrayRecord, devices: Sequence[Device]) -> ArrayImpl:
    aval: Any = decode_type(record.type)
    try:
        values = np.frombuffer(record.data, aval.dtype).reshape(aval.shape)
    except ValueError as error:
        raise FileError(f"an array has another size than its type {aval}: {error}") from error
    return array_from_host(values, aval, decode_sharding(record.sharding, devices))
