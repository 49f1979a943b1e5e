"""Custom calls on batches, which the compiler shards along the batch dimensions."""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from ricci_ir import ShapedArray, is_static_shape

__all__ = ["batch_annotations", "batch_partitionable"]

# Targets that may be sharded along the batch; runtimes add them.
batch_partitionable: set[str] = set()


def batch_annotations(
    ins: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch_rank: int
) -> dict[str, Any]:
    """Return the arguments of ``custom_call`` by which the compiler shards a call on a batch.

    Args:
      ins, outs: the types of operands and results. Those of at least ``batch_rank`` dimensions
        have the batch dimensions first.
      batch_rank: the number of batch dimensions.
    """
    is_static = all(is_static_shape(x.shape) for x in (*ins, *outs))  # the rule contains sizes
    rule = f"sdy.sharding_rule = {_sharding_rule(ins, outs, batch_rank)}" if is_static else ""
    return {"metadata": (("num_batch_dims", str(batch_rank)),), "annotations": rule}


def _sharding_rule(ins: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch_rank: int) -> str:
    """Return the Shardy rule of the call, which shards batch dimensions only."""
    sizes: list[int] = []

    def factor(size: int) -> str:
        sizes.append(size)
        return _factor_name(len(sizes) - 1)

    batch = [factor(size) for size in (ins[0] if ins else outs[0]).shape[:batch_rank]]
    shared = lambda aval: batch if len(aval.shape) >= batch_rank else []
    dims = lambda aval: f"[{', '.join([*shared(aval), *map(factor, aval.shape[batch_rank:])])}]"
    operands, results = (", ".join(map(dims, avals)) for avals in (ins, outs))
    factors = ", ".join(f"{_factor_name(i)}={size}" for i, size in enumerate(sizes))
    return f"#sdy.op_sharding_rule<({operands})->({results}) {{{factors}}}, custom>"


def _factor_name(i: int) -> str:
    """Return the name of a factor: i, j, … z, then z_1, z_2, …"""
    letters = ascii_lowercase[8:]
    return letters[i] if i < len(letters) else f"z_{i - len(letters) + 1}"
