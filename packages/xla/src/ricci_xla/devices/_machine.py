"""The kind of machine that a client compiles for."""

import os
import re
import weakref
from math import prod
from typing import Any

from ._jaxlib import runtime
from ._runtime_types import Client, Device, JaxRuntimeError

__all__ = ["machine_of", "processor_flags"]

# The description of each client's machine.
_machines: "weakref.WeakKeyDictionary[Client, str]" = weakref.WeakKeyDictionary()


def machine_of(client: Client) -> str:
    """Describe the kind of machine that a client compiles for."""
    machine = _machines.get(client)
    if machine is None:
        machine = _machines[client] = _describe_machine(client)
    return machine


def _describe_machine(client: Client) -> str:
    device: Any = client.devices()[0]
    try:
        data: bytes = runtime.get_topology_for_devices([device]).serialize()
    except (JaxRuntimeError, NotImplementedError):  # some plugins describe no topology
        return f"compute capability {getattr(device, 'compute_capability', 'unknown')}"
    if device.platform != "cpu":
        import hashlib  # noqa: PLC0415 - lazy: it takes 3 ms

        return hashlib.sha256(data).hexdigest()
    # For CPUs the topology also has the number of devices, which must not matter. The processor's
    # name and features are the strings in it.
    texts = [text.decode("ascii") for text in re.findall(rb"[\x20-\x7e]{4,}", data)]
    return " ".join(text for text in texts if not text.startswith("(type.googleapis.com"))


# Of processors from Ice Lake and Zen 4 on, whose clock does not slow down for 64 bytes at once. XLA
# takes 32: functions that compute much per byte are up to 1.5 times as fast by 64.
_FEATURE_OF_WIDE_VECTORS = "+avx512vbmi2"
_WIDTH = "xla_cpu_prefer_vector_width"

# By 32 bytes at once, arrays beyond the caches are read and written up to a tenth faster. Costly
# operations are functions of more than some instructions, quotients, and random bits; loops may
# compute with small arrays.
_LEAST_BYTES = 6 << 20
_COSTLY = (
    r"chlo\.|stablehlo\.(?:exponential|log|tan|sine|cosine|atan2|power|cbrt|r?sqrt|divide|remainder"
    r"|xor|shift|rng|composite|custom_call|while)"
)
_ARRAY = r"tensor<([\dx]+)x(?:complex<)?[a-z]+(\d+)"


def processor_flags(device: Device, text: str | bytes | None = None) -> dict[str, int]:
    """Return the flags of XLA that suit a device's processor, unless ``XLA_FLAGS`` sets them.

    Args:
      device: the device.
      text: the module to compile, if it is known; the flags suit what it computes.
    """
    if device.platform != "cpu" or _WIDTH in os.environ.get("XLA_FLAGS", ""):
        return {}
    wide = _FEATURE_OF_WIDE_VECTORS in machine_of(device.client)
    return {_WIDTH: 512} if wide and not _is_bound_by_memory(text) else {}


def _is_bound_by_memory(text: str | bytes | None) -> bool:
    """Whether a module has large arguments and results, and computes little of each element."""
    if not isinstance(text, str):
        return False
    start = text.find("@main(")
    bits = 0
    for sizes, width in re.findall(_ARRAY, text[start : text.find("\n", start)]):
        bits += prod(map(int, sizes.split("x"))) * int(width)
    return bits >= 8 * _LEAST_BYTES and re.search(_COSTLY, text) is None
