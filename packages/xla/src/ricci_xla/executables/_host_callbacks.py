"""Python functions that programs call, as jaxlib is given them."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import AbstractToken, ensure_compile_time_eval
from ricci_stablehlo import HostCallback
from ricci_xla.arrays._placement import array_from_host
from ricci_xla.arrays._sharding import single_device_sharding
from ricci_xla.devices._client import get_backend
from ricci_xla.devices._guards import explicit_transfer
from ricci_xla.devices._jaxlib import load_mlir

from ._effects import runtime_tokens


@functools.cache
def _mlir() -> tuple[Any, Any]:
    return load_mlir()


def parse_module(text: str | bytes) -> Any:
    """An MLIR module: what jaxlib compiles together with callbacks."""
    ir, context = _mlir()
    with context:
        return ir.Module.parse(text)


def host_function(callback: HostCallback) -> Callable[..., tuple]:
    """What jaxlib calls: from NumPy arrays to NumPy arrays, with ``None`` for tokens.

    The function itself is given arrays on the host's first device, and may compute with them.
    """
    fun, in_avals, out_avals = callback
    tokens = sum(isinstance(aval, AbstractToken) for aval in out_avals)
    taken = sum(isinstance(aval, AbstractToken) for aval in in_avals)
    avals: tuple[Any, ...] = in_avals[taken:]

    @explicit_transfer("explicit_device_put")
    def call(*values: Any) -> tuple:
        # jaxlib may call on the thread of a caller that is in the middle of a trace.
        with ensure_compile_time_eval(), runtime_tokens.inside_callback():
            sharding = single_device_sharding(get_backend("cpu").local_devices()[0])
            # A partitioned call is given parts: of the dtype, but not of the shape.
            arrays = [
                array_from_host(value, aval.update(shape=value.shape), sharding, committed=False)
                for value, aval in zip(map(np.asarray, values[taken:]), avals, strict=True)
            ]
            return (*(None,) * tokens, *map(np.asarray, fun(*arrays)))

    return call


def host_functions(callbacks: Sequence[HostCallback]) -> list[Callable[..., tuple]]:
    """What jaxlib is given for the Python functions that a module calls."""
    return [host_function(callback) for callback in callbacks]
