"""The kernel calls that a function makes, with the scalars that their index maps read."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_batching import vmap
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping, index_of, kernel_name
from ricci_kernels.blocks._specs import Element
from ricci_pytree import tree_flatten, tree_unflatten

from ._primitive import pallas_call_p

__all__: list[str] = []


_behavior = ir.config.state("jax_error_checking_behavior_oob")


class RecordedCall(ir.TupleRecord):
    """A kernel call of a function.

    Attributes:
      params: its parameters.
      scalars: the operands that index maps read; ``None`` for one whose value is unknown.
      sizes: the sizes of the grid's dynamic axes; likewise.
      operands: all operands, or ``None`` if the value of one is unknown.
    """

    params: dict[str, Any]
    scalars: list[Any]
    sizes: list[Any]
    operands: list[Any] | None

    @property
    def mapping(self) -> GridMapping:
        """The grid, and the blocks of inputs and outputs."""
        return self.params["grid_mapping"]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return kernel_name(self.params)


def recorded_calls(fun: Callable[..., Any], args: Sequence[Any]) -> list[RecordedCall]:
    """Trace a function, and return the kernel calls that it makes.

    Args:
      fun: the function.
      args: its arguments: arrays, or ``ShapeDtypeStruct`` for those that no index map reads.
    """
    leaves, tree = tree_flatten(tuple(args))
    flat = lambda *xs: tree_flatten(fun(*tree_unflatten(tree, xs)))[0]
    avals = [ir.argument_aval(x) for x in leaves]
    name = getattr(fun, "__name__", "function")
    # Mistakes are found, not raised.
    with _behavior("ignore"):
        jaxpr = ir.trace_to_jaxpr(flat, avals, ir.DebugInfo("kernels", name))
    values = [None if isinstance(x, ir.ShapeDtypeStruct) else x for x in leaves]
    return list(_calls(jaxpr, dict(zip(jaxpr.invars, values, strict=True))))


def _calls(jaxpr: ir.Jaxpr, constants: dict[Any, Any]) -> Iterator[RecordedCall]:
    constants.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for eqn in jaxpr.eqns:
        values = [x.val if type(x) is ir.Literal else constants.get(x) for x in eqn.invars]
        if eqn.primitive is pallas_call_p:
            yield recorded_call(eqn, values)
            continue
        for inner in ir.jaxprs_in_params(eqn.params):
            # The operands of a call are the arguments of its jaxpr. Those of a loop's body change
            # from step to step, and are unknown.
            is_call = eqn.primitive is ir.staged_call.call
            yield from _calls(
                inner, dict(zip(inner.invars, values, strict=True)) if is_call else {}
            )


def recorded_call(eqn: ir.JaxprEqn, values: Sequence[Any]) -> RecordedCall:
    """Return the kernel call of an equation.

    Args:
      eqn: the equation.
      values: the values of its operands; ``None`` for unknown ones.
    """
    mapping: GridMapping = eqn.params["grid_mapping"]
    sizes = mapping.num_dynamic_grid_bounds
    scalars = list(values[sizes : sizes + mapping.num_index_operands])
    operands = None if any(x is None for x in values) else list(values)
    return RecordedCall(eqn.params, scalars, list(values[:sizes]), operands)


def is_computable(call: RecordedCall, mapping: BlockMapping) -> bool:
    """Whether the blocks of an input or output depend on known values alone."""
    references = mapping.index_map_jaxpr.invars[len(call.mapping.grid) :]
    read = _read_references(mapping)
    unknown = [r for r, x in zip(references, call.scalars, strict=True) if x is None]
    return None not in call.sizes and read.isdisjoint(unknown)


def _read_references(mapping: BlockMapping) -> set[Any]:
    return {eqn.invars[0] for eqn in mapping.index_map_jaxpr.eqns if eqn.invars}


def grid_sizes(call: RecordedCall) -> tuple[int, ...]:
    """The number of steps along each axis of a grid.

    Raises:
      ValueError: if one is an operand of unknown value.
    """
    dynamic = iter(call.sizes)
    sizes = [next(dynamic) if size is None else size for size in call.mapping.grid]
    if any(size is None for size in sizes):
        raise ValueError(
            f"the kernel {call.name} has a grid whose sizes are computed. Pass the sizes as Python "
            "numbers or arrays."
        )
    return tuple(map(int, sizes))


def block_starts(call: RecordedCall, mapping: BlockMapping) -> np.ndarray:
    """The first element of a block along each dimension, for each step in order.

    Args:
      call: the call.
      mapping: the block of one of its inputs or outputs.

    Returns:
      An array of shape ``(steps, dimensions)``.

    Raises:
      ValueError: if the index map reads scalars of unknown value.
    """
    grid = grid_sizes(call)
    steps = int(np.prod(grid))
    positions = [p.ravel() for p in np.indices(grid, np.int32)]
    read = _read_references(mapping)
    references = mapping.index_map_jaxpr.invars[len(grid) :]
    for ref, value in zip(references, call.scalars, strict=True):
        if value is None and ref in read:
            raise ValueError(
                f"the index map of {mapping.origin} of the kernel {call.name} reads a scalar of "
                "unknown value. Pass the array itself, not its type."
            )
    scalars = [
        np.zeros(ref.aval.shape, ref.aval.dtype) if value is None else np.asarray(value)  # pyright: ignore
        for ref, value in zip(references, call.scalars, strict=True)
    ]
    rank = len(mapping.block_shape)
    if not steps or not rank:
        return np.zeros((steps, rank), int)
    index = partial(_index, mapping, scalars)
    if grid:
        columns = vmap(index)(*positions)
    else:
        columns = [[x] for x in index()]
    # An index counts blocks, or elements in an ``Element``.
    counts = [
        1 if isinstance(d, Element) else n
        for d, n in zip(mapping.block_shape, mapping.sizes, strict=True)
    ]
    return np.stack([np.broadcast_to(np.asarray(c), steps) for c in columns], 1) * np.array(counts)


def _index(mapping: BlockMapping, scalars: Sequence[Any], *position: ir.Array) -> list[Any]:
    return index_of(mapping, position, scalars)


@ir.kernel_use.provide
def _kernel_use(jaxpr: ir.Jaxpr) -> ir.KernelUse | None:
    calls = list(_calls(jaxpr, {}))
    if not calls:
        return None
    # An axis whose size depends on data counts as one step, as it does for transfers.
    steps = sum([prod([n or 1 for n in call.mapping.grid]) for call in calls])
    is_interpreted = any(call.params["interpret"] for call in calls)
    return ir.KernelUse(sum(map(transfers, calls)), steps, is_interpreted)


def transfers(call: RecordedCall) -> int:
    """The bytes of blocks that the grid of a call moves between memories.

    A block that consecutive steps visit is moved once. Where an index map or the grid depends on
    data, each step is assumed to move the block, of a grid with one step along such axes.

    Args:
      call: the call.
    """
    total = 0
    for mapping in call.mapping.block_mappings:
        # A block of keys is one of their words.
        block = ir.physical_aval(ir.ShapedArray(mapping.sizes, mapping.array_aval.dtype))
        bits = block.size * ir.itemsize_bits(block.dtype)
        if None in call.mapping.grid or any(x is None for x in call.scalars):
            moves = int(np.prod([n or 1 for n in call.mapping.grid]))
        else:
            # A block is moved in the first step and wherever its start changes; a pipeline does not
            # fetch it again as long as it stays the same.
            starts = block_starts(call, mapping)
            moves = 1 + int((starts[1:] != starts[:-1]).any(1).sum()) if len(starts) else 0
        total += moves * bits
    return total // 8
