"""Functions registered with packages that cannot import them: placement, and reports.

``lax`` uses them to put new arrays on devices, ``jit`` for the arguments and results of calls
inside of traced functions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_xla as xla
from ricci_ir import Array, ArrayMove, Jaxpr, Tracer, array_moves, context, eval_trace
from ricci_lax.authoring import (
    checked_out_sharding,
    constrain_to_place,
    create_at_place,
    put_at_place,
)
from ricci_xla import Traced, devices_of, is_spread, jit, memory_report

from ._device_put import device_put
from ._reshard import as_out_sharding, reshard
from ._sharding_constraint import constrain, is_typed


@constrain_to_place.provide
def _constrained(x: Array, place: xla.Device | xla.Sharding | xla.PartitionSpec) -> Array:
    """Constrain a value to the place that a user specifies."""
    if isinstance(place, xla.PartitionSpec):
        place = xla.sharding_in_program(place, "out_sharding")
    if not isinstance(place, xla.NamedSharding):
        return constrain(x, xla.as_sharding(place))
    if not place.mesh.axis_names:
        return x
    return reshard(x, place) if is_typed(place) else constrain(x, place)


@create_at_place.provide
def _created(x: Array, place: xla.Device | xla.Sharding | xla.PartitionSpec) -> Array:
    """Put a new array at a place."""
    if isinstance(place, xla.PartitionSpec):
        place = xla.sharding_in_program(place, "out_sharding")
    if not isinstance(place, xla.NamedSharding):
        return device_put(x, place)
    if context.trace is eval_trace and not isinstance(x, Tracer) and place.mesh.axis_names:
        # Its operands, such as the fill value, may be committed elsewhere.
        return device_put(x, place)
    return _constrained(x, place)


@xla.constrain_inner.provide
def _within(x: Array, sharding: xla.Sharding) -> Array:
    """Constrain an argument or result of an inner ``jit`` to its sharding.

    Explicit axes are dropped from the constraint: the value's type already has them.
    """
    if not isinstance(sharding, xla.NamedSharding) or not is_typed(sharding):
        return constrain(x, sharding)
    auto = frozenset(sharding.mesh.abstract_mesh.auto_axes)
    parts = [_among(part, auto) for part in sharding.spec.partitions]
    if not any(part is xla.UNCONSTRAINED or part for part in parts):
        return x
    return constrain(x, sharding.update(spec=xla.PartitionSpec(*parts)))


def _among(part: object, axes: frozenset[Any]) -> Any:
    """Restrict an entry of a spec to some mesh axes."""
    if isinstance(part, tuple):
        return tuple(name for name in part if name in axes) or None
    return part if part is xla.UNCONSTRAINED or part in axes else None


put_at_place.provide(device_put)
checked_out_sharding.provide(as_out_sharding)

_ROWS = 6


@memory_report.provide
def explain(program: Any, leaves: Sequence[Any], options: Any) -> str:
    """Return the first lines of an executable's memory plan."""
    from .planning import plan_of  # noqa: PLC0415 - lazy: few programs need it

    lines = plan_of(Traced(program, leaves, options)).head(_ROWS)
    return "\n".join([*lines, _ADVICE])


_ADVICE = (
    "ricci.memory_plan(f, *args) shows all of it, and what checkpoint would save. Or take smaller "
    "batches, or donate arguments that are not needed again."
)


@array_moves.provide
def find_moves(
    jaxpr: Jaxpr, fun: Callable[..., Any], arrays: Sequence[Any], traced: Traced | None
) -> Sequence[ArrayMove]:
    """Return the involuntary collectives of a call. One device has none."""
    from .reports import communication_of  # noqa: PLC0415 - lazy: few programs need it

    if traced is None and is_spread(jaxpr, arrays):
        traced = jit(fun).trace(*arrays)
    if traced is None or len(devices_of(traced)) == 1:
        return ()
    return communication_of(traced).involuntary
