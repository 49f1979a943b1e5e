"""``serialize`` and ``deserialize_and_load``: a compiled function as bytes, without pickles."""

from collections.abc import Sequence
from typing import NamedTuple

from ricci_pytree import PyTreeDef
from ricci_xla.cache import machine_of
from ricci_xla.calls._stages import Compiled
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._place import Options
from ricci_xla.devices._client import get_backend
from ricci_xla.devices._jaxlib import jaxlib_version
from ricci_xla.devices._runtime_types import Client, Device
from ricci_xla.files import FileError, read_file, write_file
from ricci_xla.tracing._program import Program

from ._record import EXECUTABLE_KIND, decode_executable, encode_executable

__all__ = ["deserialize_and_load", "serialize", "Serialized"]

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
    return Serialized(write_file(EXECUTABLE_KIND, record), program.in_tree, program.out_tree)


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
    record = read_file(EXECUTABLE_KIND, serialized, _WHERE)
    count = len(record.devices)
    if execution_devices is not None:
        devices = list(execution_devices)
        if len(devices) != count:
            raise ValueError(
                f"execution_devices has {len(devices)} devices, but {record.name} was compiled for "
                f"{count}."
            )
    else:
        local = get_backend(backend).local_devices()
        by_id = {device.id: device for device in local}
        devices = [by_id[i] for i in record.devices if i in by_id]
        if len(devices) != count:
            devices = local[:count]
        if len(devices) < count:
            raise ValueError(
                f"{record.name} runs on {count} devices, but this process has {len(local)}."
            )
    environment = _environment(devices[0])
    for topic in environment:
        if record.environment.get(topic) != environment[topic]:
            raise FileError(
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
