"""The ``checkify`` rule of ``shard_map``."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_lax import reshape
from ricci_xla import PartitionSpec


def check_shards(
    log: Any, primitive: ir.Primitive, operands: Sequence[ir.ArrayLike], params: dict[str, Any]
) -> list[ir.Array]:
    """The checkify rule of ``shard_map``: each device reports its own errors.

    Args:
      log: collects the errors.
      primitive, operands, params: the operation.
    """
    jaxpr, mesh = params["jaxpr"], params["mesh"]
    with ir.extend_axes(mesh.shape.items()):
        checked = log.checked(jaxpr)
        count = checked.leaf_count
        batched_errors = checked.jaxpr.derived(
            ("errors of shards", count), lambda: _with_axis(checked.jaxpr, count)
        )
    spec = PartitionSpec(tuple(mesh.axis_names))
    changed = {
        **params,
        "jaxpr": batched_errors if count else checked.jaxpr,
        "out_specs": (*(spec,) * count, *params["out_specs"]),
    }
    return log.absorb(checked, primitive.bind(*operands, **changed))


def _with_axis(jaxpr: ir.Jaxpr, count: int) -> ir.Jaxpr:
    """Add a leading axis, sharded over the devices, to the first results of a jaxpr."""

    def fun(*args: ir.Array) -> list[ir.Array]:
        outs = ir.eval_jaxpr(jaxpr, jaxpr.consts, *args)
        errors = [reshape(x, (1, *ir.get_aval(x).shape)) for x in outs[:count]]  # pyright: ignore
        return [*errors, *outs[count:]]

    return ir.trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info)
