"""``serialize`` and ``deserialize_and_load``: a compiled function as bytes, without pickles.

The record of an executable has its code, and the types and shardings of arguments and results.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ricci_ir import no_effects
from ricci_pytree import PyTreeDef
from ricci_xla import files
from ricci_xla.arrays import ArrayImpl, array_from_host
from ricci_xla.calls._compiled import Compiled
from ricci_xla.compile import Executable, compile_options
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._place import Options
from ricci_xla.devices import Client, Device, DeviceList, JaxRuntimeError, get_backend, machine_of
from ricci_xla.devices._jaxlib import jaxlib_version
from ricci_xla.devices._native import missing_native_kernels
from ricci_xla.devices._registration import prepare_kernels
from ricci_xla.files._shardings import ArrayRecord, encode_array
from ricci_xla.tracing._program import Program

__all__ = ["Serialized", "deserialize_and_load", "serialize"]

_target = re.compile(r'custom_call_target="([^"]+)"')


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
    in_types: list[files.TypeRecord]
    out_types: list[files.TypeRecord]
    in_shardings: list[files.ShardingRecord]
    out_shardings: list[files.ShardingRecord]
    kept_args: list[bool] = msgspec.field(name="kept")
    committed: bool
    consts: list[ArrayRecord]
    donated: list[bool]
    targets: list[str]
    code: bytes


EXECUTABLE_KIND: files.FileKind[ExecutableRecord] = files.FileKind(
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
    # Targets of custom calls are in the optimized module: kernels to initialize before the code
    # runs, and calls of Python functions, which are addresses in this process.
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
            [files.encode_type(aval) for aval in executable.in_avals],
            [files.encode_type(aval) for aval in executable.out_avals],
            [files.encode_sharding(s, devices) for s in executable.in_shardings],
            [files.encode_sharding(s, devices) for s in executable.out_shardings],
            executable.used_arguments,
            executable.committed,
            [encode_array(const, devices) for const in executable.consts],
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
        # A process has the code of its devices alone.
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
    if missing_native_kernels(record.targets):
        raise files.FileError(
            f"{record.name} calls kernels of ricci-native that are not installed here. Install the "
            "version that it was compiled with, or compile it again with RICCI_NATIVE=0."
        )
    prepare_kernels(" ".join(record.targets), devices[0].platform)
    try:
        loaded = devices[0].client.deserialize_executable(
            record.code, DeviceList(tuple(devices)), options
        )
    except JaxRuntimeError as error:
        raise files.FileError(f"the runtime cannot load {record.name}: {error}") from error
    # The runtime does not check these numbers: a record that contradicts itself would crash it.
    counts = len(record.in_types), len(record.in_shardings), len(record.kept_args)
    if len(set(counts)) != 1 or len(record.out_types) != len(record.out_shardings):
        raise files.FileError(
            f"the record of {record.name} has types and shardings that do not match"
        )
    return Executable(
        loaded,
        [files.decode_type(r) for r in record.in_types],
        [files.decode_type(r) for r in record.out_types],
        in_shardings=[files.decode_sharding(r, devices) for r in record.in_shardings],
        out_shardings=[files.decode_sharding(r, devices) for r in record.out_shardings],
        used_arguments=record.kept_args,
        committed=record.committed,
        consts=[_decode_array(r, devices) for r in record.consts],
        effects=no_effects,
    )


def _decode_array(record: ArrayRecord, devices: Sequence[Device]) -> ArrayImpl:
    aval: Any = files.decode_type(record.type)
    try:
        values = np.frombuffer(record.data, aval.dtype).reshape(aval.shape)
    except ValueError as error:
        raise files.FileError(f"an array has another size than its type {aval}: {error}") from error
    return array_from_host(values, aval, files.decode_sharding(record.sharding, devices))


_WHERE = "the serialized executable"


class Serialized(NamedTuple):
    """A compiled function, as ``deserialize_and_load`` takes it.

    Attributes:
      serialized: the executable.
      in_tree, out_tree: the structures of ``(args, kwargs)`` and of the result.
    """

    serialized: bytes
    in_tree: PyTreeDef
    out_tree: PyTreeDef


def _environment(device: Device) -> dict[str, str]:
    """The environment that machine code depends on, by topic."""
    return {
        "platform": f"{device.platform}: {device.device_kind}",
        "version of jaxlib": jaxlib_version,
        "version of the runtime": device.client.platform_version,
        "kind of machine": machine_of(device.client),
    }


def serialize(compiled: Compiled) -> Serialized:
    """Serialize a compiled function to bytes and the structures of its arguments and results.

    The bytes can be loaded by another process with the same version of jaxlib, on a machine of the
    same kind. They include the arrays that the function closes over, and no pickles.

    Args:
      compiled: ``jit(f).lower(*args).compile()``.

    Returns:
      The arguments of ``deserialize_and_load``: ``(serialized, in_tree, out_tree)``.

    Raises:
      TypeError: if it is not a compiled function.
      ValueError: if another process could not run it, as it calls Python functions, has side
        effects, has arguments with custom layouts, or runs on devices of several processes.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.serialize_executable import deserialize_and_load, serialize
      >>> compiled = ricci.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
      >>> serialized, in_tree, out_tree = serialize(compiled)
      >>> deserialize_and_load(serialized, in_tree, out_tree)(jnp.arange(3.0)).tolist()
      [0.0, 2.0, 4.0]
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"serialize takes the result of jit(f).lower(*args).compile(), got {compiled!r} of "
            f"type {type(compiled).__name__}"
        )
    program, executable = compiled._program, compiled._compiled.executable
    donated = compiled._options.donated
    environment: dict[str, str] = {}
    if executable.is_loaded:
        environment = _environment(executable.loaded.local_devices()[0])
    record = encode_executable(executable, program.name, program.arg_names, donated, environment)
    return Serialized(files.write_file(EXECUTABLE_KIND, record), program.in_tree, program.out_tree)


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | Client | None = None,
    execution_devices: Sequence[Device] | None = None,
) -> Compiled:
    """Load a compiled function that ``serialize`` wrote.

    Args:
      serialized, in_tree, out_tree: the results of ``serialize``.
      backend: the platform to run on, or its client; by default the default one.
      execution_devices: the devices to run on, as many as it was compiled for; by default those
        with the same ids, or else the first ones.

    Returns:
      The function, which takes arguments of the types that it was compiled for.

    Raises:
      FileError: if the bytes are not a serialized executable, were altered, or are of another
        version of Ricci, jaxlib or the runtime, or of another kind of machine.
      ValueError: if there are fewer devices, or ``execution_devices`` has another number.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.serialize_executable import deserialize_and_load, serialize
      >>> parts = serialize(ricci.jit(lambda x: x + 1).lower(jnp.ones(2)).compile())
      >>> deserialize_and_load(*parts)(jnp.zeros(2)).tolist()
      [1.0, 1.0]
    """
    record = files.read_file(EXECUTABLE_KIND, serialized, _WHERE)
    count = len(record.devices)
    if execution_devices is not None:
        devices = list(execution_devices)
        if len(devices) != count:
            raise ValueError(
                f"execution_devices has {len(devices)} devices, but {record.name} was compiled for "
                f"{count}."
            )
    else:
        # The devices of the same numbers, or else the first ones.
        local = get_backend(backend).local_devices()
        by_id = {device.id: device for device in local}
        devices = [by_id[i] for i in record.devices if i in by_id]
        if len(devices) != count:
            devices = local[:count]
        if len(devices) < count:
            raise ValueError(
                f"{record.name} runs on {count} devices, but this process has {len(local)}."
            )
    # Compared before the code is loaded: machine code of another machine may crash the process.
    environment = _environment(devices[0])
    for topic in environment:
        if record.environment.get(topic) != environment[topic]:
            raise files.FileError(
                f"{_WHERE} of {record.name} is for another {topic}: expected "
                f"{environment[topic]!r}, found {record.environment.get(topic)!r}. Compile and "
                "serialize it again."
            )
    executable = decode_executable(record, devices)
    if in_tree.num_leaves != len(executable.in_avals):
        raise ValueError(
            f"in_tree has {in_tree.num_leaves} leaves, but {record.name} takes "
            f"{len(executable.in_avals)} arguments. Pass the structures that serialize returned."
        )
    if out_tree.num_leaves != len(executable.out_avals):
        raise ValueError(
            f"out_tree has {out_tree.num_leaves} leaves, but {record.name} has "
            f"{len(executable.out_avals)} results. Pass the structures that serialize returned."
        )
    program = Program.of_executable(
        executable.in_avals, in_tree, out_tree, record.name, tuple(record.arg_names)
    )
    options = Options(donated=tuple(record.donated))
    compiled = CompiledProgram(program, executable)
    return Compiled(program, (), options, compiled)
