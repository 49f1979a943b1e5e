"""``inspect_array_sharding``: report the sharding of an array, which XLA chooses inside ``jit``."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import Tape
from ricci_batching import Axis
from ricci_lax import DebugEffect
from ricci_pytree import tree_leaves
from ricci_stablehlo import Lowering, Value
from ricci_xla import Sharding, ShardingInspector, undivided

__all__ = ["inspect_array_sharding", "inspect_sharding_p"]

type _Callback = Callable[[Sharding], None]

_effects: frozenset[ir.Effect] = frozenset({DebugEffect()})
# jaxlib calls an inspector when the module is compiled, but holds no reference to it until then.
_inspectors: dict[_Callback, list[ShardingInspector]] = {}


def _jvp(
    primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: object
) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*primals, **params)
    return [], []


def _linearize(
    tape: Tape, primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: object
) -> tuple[list[Any], list[Any]]:
    return _jvp(primals, tangents, **params)


def _batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: object
) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*args, **params)
    return [], []


def _lower(ctx: Lowering, x: Value, *, callback: _Callback) -> list[Value]:
    module = ctx.module
    if not module.devices:  # the module will not be compiled: only its text was asked for
        return []
    if module.num_partitions == 1:
        callback(undivided(module))
        return []
    inspector = ShardingInspector(module, ir.physical_aval(x.aval).ndim, callback)
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


def _inspect_now(x: ir.ArrayLike, *, callback: _Callback) -> list[Any]:
    callback(ir.as_array(x).sharding)
    return []


inspect_sharding_p: ir.Primitive = ir.define(
    "inspect_sharding",
    sharding=ir.by_program,
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


@ir.api_boundary
def inspect_array_sharding(value: ir.PyTree, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of each array; inside ``jit``, when it is compiled.

    Args:
      value: a pytree of arrays.
      callback: takes a sharding.

    Raises:
      TypeError: if ``callback`` is not callable.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import debug
      >>> debug.inspect_array_sharding(jnp.arange(3), callback=lambda s: print(s.num_devices))
      1
    """
    if not callable(callback):
        raise TypeError(
            "debug.inspect_array_sharding: callback must be a function of a sharding, got "
            f"{callback!r:.60} of type {type(callback).__name__}."
        )
    for leaf in tree_leaves(value):
        inspect_sharding_p.bind(leaf, callback=callback)
