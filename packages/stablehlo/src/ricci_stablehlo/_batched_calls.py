"""Custom calls on batches, which the compiler divides over devices along the batch."""

from collections.abc import Sequence
from string import ascii_lowercase

from ricci_ir import ShapedArray, is_static_shape

# The targets of which a runtime knows that they may be divided so; it adds them.
batch_partitionable: set[str] = set()


def batch_annotations(
    ins: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch_rank: int
) -> str:
    """The attributes by which the compiler divides a call on a batch.

    Args:
      ins, outs: the types of operands and results. Those of at least ``batch_rank`` dimensions
        have the batch's dimensions first.
      batch_rank: the number of the batch's dimensions.
    """
    note = f'mhlo.frontend_attributes = {{num_batch_dims = "{batch_rank}"}}'
    if not all(is_static_shape(x.shape) for x in (*ins, *outs)):  # the rule holds sizes
        return note
    return f"{note}, sdy.sharding_rule = {_sharding_rule(ins, outs, batch_rank)}"


def _sharding_rule(ins: Sequence[ShapedArray], outs: Sequence[ShapedArray], batch_rank: int) -> str:
    """How the call may be divided over devices: along the batch only."""
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
    """Shardy names factors i, j, … z, then z_1, z_2, …"""
    letters = ascii_lowercase[8:]
    return letters[i] if i < len(letters) else f"z_{i - len(letters) + 1}"
