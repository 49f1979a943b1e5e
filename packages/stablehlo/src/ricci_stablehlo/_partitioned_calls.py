"""Operations that their own rule partitions over devices, not the compiler."""

from collections.abc import Callable, Hashable, Mapping, Sequence

import ricci_ir as ir

from ._lowering import Lowering
from ._values import Value

__all__ = ["Partitioning", "partitioned_call"]

# For each operand and result, and each of its dimensions, the mesh axes that shard it.
type ShardedDims = Sequence[ir.Parts]


class Partitioning(ir.TupleRecord):
    """The partitioning of an operation over devices.

    Attributes:
      name: the operation's name, for messages.
      owner: a jaxpr that lives at least as long as the module.
      factors: for each operand and result, and each of its dimensions, the factors that make it up,
        the major one first. Dimensions that share a factor are sharded alike.
      sizes: the size of each factor.
      replicated: the factors that are never sharded.
      partition: from the sizes of the mesh's axes and the proposed shardings to the jaxpr of one
        device, and the shardings of its operands and results.
    """

    name: str
    owner: ir.Jaxpr
    factors: Sequence[Sequence[Sequence[Hashable]]]
    sizes: Mapping[Hashable, int]
    replicated: frozenset[Hashable]
    partition: Callable[[Mapping[Hashable, int], ShardedDims], tuple[ir.Jaxpr, ShardedDims]]

    def rule(self, operand_count: int) -> str:
        """The attribute ``sdy.op_sharding_rule`` of the operation.

        Args:
          operand_count: the number of operands; the others are results.
        """
        # Shardy's factors are called i, j, …, z, z_1, z_2, ….
        letter = lambda i: chr(ord("i") + i) if i < 18 else f"z_{i - 17}"
        letters = {factor: letter(i) for i, factor in enumerate(self.sizes)}
        texts = [
            f"[{', '.join(''.join(letters[f] for f in dim) for dim in dims)}]"
            for dims in self.factors
        ]
        sizes = ", ".join(f"{letters[f]}={size}" for f, size in self.sizes.items())
        fixed = ", ".join(letters[f] for f in self.sizes if f in self.replicated)
        sides = f"({', '.join(texts[:operand_count])})->({', '.join(texts[operand_count:])})"
        kinds = f" need_replication={{{fixed}}}" if fixed else ""
        return f"#sdy.op_sharding_rule<{sides}{f' {{{sizes}}}' if sizes else ''}{kinds}, custom>"


# Writes an operation that is partitioned; its results have the types ``ctx.outs``.
partitioned_call: ir.Hook[Callable[[Lowering, Sequence[Value], Partitioning], list[Value]]] = (
    ir.Hook("partitioned calls", provided_by="ricci_xla")
)
