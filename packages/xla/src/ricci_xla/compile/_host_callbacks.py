"""Host callbacks: Python functions that executables call, wrapped for jaxlib."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import AbstractToken, ensure_compile_time_eval
from ricci_stablehlo import HostCallback
from ricci_xla.arrays._placement import array_from_host
from ricci_xla.devices._client import get_backend
from ricci_xla.devices._guards import explicit_transfer
from ricci_xla.devices._jaxlib import load_mlir
from ricci_xla.meshes._sharding import single_device_sharding

from ._effects import runtime_tokens


def parse_module(text: str | bytes) -> Any:
    """Parse a module into an MLIR object; jaxlib compiles no text together with callbacks."""
    ir, context = load_mlir()
    with context:
        return ir.Module.parse(text)


def host_function(callback: HostCallback) -> Callable[..., tuple[Any, ...]]:
    """Wrap a callback for jaxlib, which passes and expects NumPy arrays, with ``None`` for tokens.

    The user's function is called with arrays on the first CPU device, and may compute with them.
    """
    fun, in_avals, out_avals = callback
    num_out_tokens = sum(isinstance(aval, AbstractToken) for aval in out_avals)
    num_in_tokens = sum(isinstance(aval, AbstractToken) for aval in in_avals)
    avals: tuple[Any, ...] = in_avals[num_in_tokens:]

    @explicit_transfer("explicit_device_put")
    def call(*values: object) -> tuple[Any, ...]:
        # jaxlib may make this call on a thread that is tracing; the function must not join in.
        with ensure_compile_time_eval(), runtime_tokens.inside_callback():
            sharding = single_device_sharding(get_backend("cpu").local_devices()[0])
            # In a partitioned module the values are shards: their shapes differ from the types'.
            arrays = [
                array_from_host(value, aval.update(shape=value.shape), sharding, committed=False)
                for value, aval in zip(map(np.asarray, values[num_in_tokens:]), avals, strict=True)
            ]
            return (*(None,) * num_out_tokens, *map(np.asarray, fun(*arrays)))

    return call


def without_callers(message: str) -> str:
    """Remove from a callback's error message the frames that led to the callback.

    jaxlib writes all frames into it, from the script's first to the callback's last.
    """
    start, heading, traceback = message.partition(_TRACEBACK)
    lines = traceback.splitlines()
    last = max((i for i, line in enumerate(lines) if _FILE in line), default=None)
    if not heading or last is None:
        return message
    frames = [x for x in lines[last + 1 :] if not (x.startswith("  File ") and "/ricci_" in x)]
    head = start + heading if any(x.startswith("  File ") for x in frames) else start.rstrip()
    return "\n".join([head, *frames])


_TRACEBACK = "Traceback (most recent call last):"
_FILE = f'File "{__file__}"'


def host_functions(callbacks: Sequence[HostCallback]) -> list[Callable[..., tuple[Any, ...]]]:
    """Wrap all callbacks of a module for jaxlib."""
    return [host_function(callback) for callback in callbacks]
