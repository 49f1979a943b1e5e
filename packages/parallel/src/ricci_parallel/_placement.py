"""Where a new array goes when it is asked for on a device or with a sharding."""

from typing import Any

from ricci_ir import Tracer, context, eval_trace
from ricci_lax import placement
from ricci_xla import device_put


def _constrain(x: Any, sharding: Any) -> Any:
    if context.trace is not eval_trace or isinstance(x, Tracer):
        raise NotImplementedError(
            f"an array inside a traced function cannot be given the sharding {sharding}: only the "
            "compiled function as a whole can. Give jit out_shardings, or place the result with "
            "device_put."
        )
    return device_put(x, sharding)


placement.register(_constrain)
