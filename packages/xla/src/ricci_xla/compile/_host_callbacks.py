"""Host callbacks: the Python functions that programs call, in the form that jaxlib takes."""

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
    """Parse a module into an MLIR object, which is what jaxlib compiles together with callbacks."""
    ir, context = load_mlir()
    with context:
        return ir.Module.parse(text)


def host_function(callback: HostCallback) -> Callable[..., tuple[Any, ...]]:
    """The function that jaxlib calls: it takes and returns NumPy arrays, with ``None`` for tokens.

    The user's function is given arrays on the first CPU device, and may compute with them.
    """
    fun, in_avals, out_avals = callback
    tokens = sum(isinstance(aval, AbstractToken) for aval in out_avals)
    taken = sum(isinstance(aval, AbstractToken) for aval in in_avals)
    avals: tuple[Any, ...] = in_avals[taken:]

    @explicit_transfer("explicit_device_put")
    def call(*values: object) -> tuple[Any, ...]:
        # jaxlib may make this call on a thread that is tracing; the function must not join in.
        with ensure_compile_time_eval(), runtime_tokens.inside_callback():
            sharding = single_device_sharding(get_backend("cpu").local_devices()[0])
            # In a partitioned program the values are parts: their shape differs from the type's.
            arrays = [
                array_from_host(value, aval.update(shape=value.shape), sharding, committed=False)
                for value, aval in zip(map(np.asarray, values[taken:]), avals, strict=True)
            ]
            return (*(None,) * tokens, *map(np.asarray, fun(*arrays)))

    return call


def without_callers(message: str) -> str:
    """The message of an error that a callback raised, without the frames that led to the callback.

    jaxlib writes all frames into it, from the program's first to the callback's last. The first
    ones are those of the error itself.
    """
    start, found, rest = message.partition(_TRACEBACK)
    lines = rest.splitlines()
    last = max((i for i, line in enumerate(lines) if _FILE in line), default=None)
    if not found or last is None:
        return message
    kept = [x for x in lines[last + 1 :] if not (x.startswith("  File ") and "/ricci_" in x)]
    head = start + found if any(x.startswith("  File ") for x in kept) else start.rstrip()
    return "\n".join([head, *kept])


_TRACEBACK = "Traceback (most recent call last):"
_FILE = f'File "{__file__}"'


def host_functions(callbacks: Sequence[HostCallback]) -> list[Callable[..., tuple[Any, ...]]]:
    """The functions that jaxlib calls, for all callbacks of a module."""
    return [host_function(callback) for callback in callbacks]
