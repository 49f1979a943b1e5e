"""The command and the environment variables of the processes."""

import os
import random
import socket
import sys
from collections.abc import Mapping

from ._options import Options, refuse

# Above the ports that Linux and macOS use for outgoing connections, so that none is taken by
# chance between this choice and the start of process 0.
_PORTS = range(61440, 65536)
# Variables of an outer job or launcher. The first name of a pair would win over the second.
_OUTER = ("COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID", "LOCAL_DEVICE_IDS")
_VIRTUAL = "--xla_force_host_platform_device_count"


def coordinator(options: Options) -> str:
    """Return the address at which process 0 will listen."""
    port = options.port
    if port is None:
        port = next(filter(_is_free, random.SystemRandom().sample(_PORTS, len(_PORTS))), None)
    elif not _is_free(port):
        refuse(f"--port {port}: another process listens there.")
    if port is None:
        refuse(f"no port from {_PORTS.start} to {_PORTS.stop - 1} is free; choose one with --port.")
    return f"127.0.0.1:{port}"


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("", port))
        except OSError:
            return False
    return True


def command(options: Options) -> list[str]:
    """Return the command of each process. Its output is unbuffered, so that lines come at once.

    A missing program is refused once, before processes start.
    """
    if not options.module and not os.path.exists(options.program):
        refuse(f"no such file: {options.program!r}.")
    program = ["-m", options.program] if options.module else [options.program]
    return [sys.executable, "-u", *program, *options.arguments]


def environment(
    rank: int, address: str, options: Options, outer: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment variables of one process.

    Args:
      rank: its number, from 0.
      address: that of the coordinator.
      options: the command line.
      outer: the launcher's own variables.
    """
    outside = {f"{prefix}_{name}" for prefix in ("RICCI", "JAX") for name in _OUTER}
    variables = {name: value for name, value in outer.items() if name not in outside}
    variables["RICCI_COORDINATOR_ADDRESS"] = address
    variables["RICCI_NUM_PROCESSES"] = str(options.processes)
    variables["RICCI_PROCESS_ID"] = str(rank)
    if options.devices_per_process is not None:
        first = rank * options.devices_per_process
        ids = range(first, first + options.devices_per_process)
        variables["RICCI_LOCAL_DEVICE_IDS"] = ",".join(map(str, ids))
    if options.virtual_devices is not None:
        flags = [f for f in variables.get("XLA_FLAGS", "").split() if not f.startswith(_VIRTUAL)]
        variables["XLA_FLAGS"] = " ".join(flags)
        variables["RICCI_NUM_CPU_DEVICES"] = str(options.virtual_devices)
        variables["RICCI_PLATFORMS"] = "cpu"
    return variables
