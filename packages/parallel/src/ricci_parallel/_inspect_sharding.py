"""Asking how an array is laid out, also inside of programs, where XLA decides."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Effect, api_boundary, as_array, define
from ricci_lax import DebugEffect
from ricci_pytree import tree_leaves
from ricci_stablehlo import Lowering, Value
from ricci_xla import ShardingInspector, undivided

_effects: frozenset[Effect] = frozenset({DebugEffect()})
# jaxlib calls them while it compiles, which is after they are written, and keeps none alive.
_inspectors: dict[Callable[..., None], list[ShardingInspector]] = {}


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list, list]:
    inspect_sharding_p.bind(*primals, **params)
    return [], []


def _linearize(tape: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: Any):
    return _jvp(primals, tangents, **params)


def _batch(axis: Any, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list, list]:
    inspect_sharding_p.bind(*args, **params)
    return [], []


def _lower(ctx: Lowering, x: Value, *, callback: Callable[..., None]) -> list[Value]:
    module = ctx.module
    if not module.devices:  # the text alone is wanted
        return []
    if module.num_partitions == 1:
        callback(undivided(module))
        return []
    inspector = ShardingInspector(module, len(x.shape), callback)
    _inspectors.setdefault(callback, []).append(inspector)
    config = "".join(f"\\{byte:02X}" for byte in inspector.config)
    ctx.custom_call(
        "InspectSharding",
        [x],
        [x.aval],
        api_version=1,
        has_side_effect=True,
        extra=f'backend_config = "{config}"',
    )
    return []


def _inspect_now(x: Any, *, callback: Callable[..., None]) -> list[Any]:
    callback(as_array(x).sharding)
    return []


inspect_sharding_p = define(
    "inspect_sharding",
    abstract_eval=lambda x, *, callback: [],
    multiple_results=True,
    memo=False,
    effects=lambda params: _effects,
    jvp=_jvp,
    linearize=_linearize,
    transpose=lambda cts, x, **params: [None],
    batch=_batch,
    lower=_lower,
    eager=_inspect_now,
)


@api_boundary
def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of an array; inside ``jit``, when that is compiled.

    Args:
      value: a pytree of arrays.
      callback: takes the sharding of each.

    Raises:
      TypeError: if ``callback`` is no function.

    Example:
      >>> from ricci_numpy import arange
      >>> inspect_array_sharding(arange(3), callback=lambda s: print(s.num_devices))
      1
    """
    if not callable(callback):
        raise TypeError(
            "debug.inspect_array_sharding: callback must be a function of a sharding, got "
            f"{callback!r:.60} of type {type(callback).__name__}."
        )
    for leaf in tree_leaves(value):
        inspect_sharding_p.bind(leaf, callback=callback)
