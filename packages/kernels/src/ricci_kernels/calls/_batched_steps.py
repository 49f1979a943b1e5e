"""Steps of a kernel's grid that are independent, interpreted as one batch.

Where steps along an axis write blocks of their own (see ``_partitioning``), the call of one
device's share, mapped by ``vmap`` over all shares, is the whole call with fewer and larger steps:
for a product of matrices, one product of a column of blocks with a block.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import vmap
from ricci_kernels.blocks._grid_mapping import GridMapping
from ricci_kernels.primitives._remote_copies import mesh_axes

from ._interpreter import interpreted
from ._partitioning import BlockAxes, call_on_device, grid_partition

__all__: list[str] = []

_LEAST_STEPS = 256  # of grids whose steps are batched
_MOST_ELEMENTS = 1 << 20  # of the blocks and buffers of a batch of steps


def batched_steps(params: Mapping[str, Any]) -> ir.Jaxpr | None:
    """Return the jaxpr of an interpreted call with batched steps, or None for few or large steps.

    Args:
      params: the parameters of ``pallas_call``.
    """
    counts = _batch_sizes(params)
    if not counts:
        return None
    names = ("grid_mapping", "input_output_aliases", "out_avals", "compiler_params")
    key = ("batched steps", tuple(counts.items()), *(params[name] for name in names))
    return params["jaxpr"].derived(key, lambda: _trace(params, counts))


def _batch_sizes(params: Mapping[str, Any]) -> dict[int, int]:
    """The number of steps of a batch along axes of the grid."""
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    if None in mapping.grid or prod(mapping.grid) < _LEAST_STEPS:
        return {}
    if any(ir.varying(aval) for aval in params["out_avals"]) or mesh_axes(jaxpr):
        return {}
    partition = grid_partition(params)
    # A branch on a position of a batch would run for all its steps.
    axes = [axis for axis in partition.axes if axis not in partition.positions]
    if not axes or _branches_on_data(jaxpr, set(jaxpr.invars)):
        return {}
    scratch = jaxpr.in_avals[mapping.num_index_operands + len(mapping.block_mappings) :]
    elements = sum(prod(m.sizes) for m in mapping.block_mappings) + sum(x.size for x in scratch)
    counts: dict[int, int] = {}
    for axis in axes:
        most = _MOST_ELEMENTS // max(1, elements * prod(counts.values()))
        size = mapping.grid[axis]
        # The most steps at once that divide the axis and whose blocks fit, given the axes before.
        count = max(n for n in range(1, max(2, min(size, most) + 1)) if size % n == 0)
        if count > 1:
            counts[axis] = count
    return counts


def _branches_on_data(jaxpr: ir.Jaxpr, data: set[ir.Var]) -> bool:
    """Whether a branch is chosen, or a loop ended, by a value that depends on some arguments."""
    for eqn in jaxpr.eqns:
        if not any(type(x) is ir.Var and x in data for x in eqn.invars):
            continue
        # A variable that depends on data is among ``data`` before the equations that read it.
        data |= set(eqn.outvars)
        if eqn.primitive is lax.while_p:
            return True
        inner: Sequence[ir.Jaxpr] = list(ir.jaxprs_in_params(eqn.params))
        if eqn.primitive is lax.cond_p:
            if type(eqn.invars[0]) is ir.Var and eqn.invars[0] in data:
                return True
            passed = [type(x) is ir.Var and x in data for x in eqn.invars[1:]]
            arguments = [{v for v, p in zip(b.invars, passed, strict=True) if p} for b in inner]
        else:
            arguments = [set(b.invars) for b in inner]
        if any(_branches_on_data(b, values) for b, values in zip(inner, arguments, strict=True)):
            return True
    return False


def _trace(params: Mapping[str, Any], counts: Mapping[int, int]) -> ir.Jaxpr:
    mapping: GridMapping = params["grid_mapping"]
    partition = grid_partition(params)
    local = call_on_device(params, partition, counts)
    names = ("jaxpr", "grid_mapping", "input_output_aliases", "out_avals")
    program = interpreted(*[local[name] for name in names])
    scalars = [ref.inner_aval for ref in params["jaxpr"].in_avals[: mapping.num_index_operands]]
    inputs = [m.array_aval for m in mapping.block_mappings[: mapping.num_inputs]]
    dims = [*[(None,) * x.ndim for x in scalars], *partition.block_axes]
    run: Callable[..., list[Any]] = lambda *xs: _of_share(params, program, xs)
    for axis, count in counts.items():
        run = _over_shares(run, axis, count, dims[: len(scalars) + len(inputs)], dims)
    return ir.trace_to_jaxpr(run, [*scalars, *inputs], params["jaxpr"].debug_info)


def _of_share(
    params: Mapping[str, Any], program: ir.Jaxpr, operands: Sequence[ir.Array]
) -> list[Any]:
    """Run the call of one share; positions that are read are those along axes without batches."""
    mapping: GridMapping = params["grid_mapping"]
    count = mapping.num_index_operands
    axes = grid_partition(params).positions
    positions = [np.arange(mapping.grid[axis] or 0, dtype=np.int32) for axis in axes]
    return ir.eval_jaxpr(program, program.consts, *operands[:count], *positions, *operands[count:])


def _over_shares(
    run: Callable[..., list[Any]],
    axis: int,
    count: int,
    operand_dims: Sequence[BlockAxes],
    dims: Sequence[BlockAxes],
) -> Callable[..., list[Any]]:
    """Map a call over the shares of its operands along an axis of the grid."""
    place = lambda axes: axes.index(axis) if axis in axes else None
    in_axes = tuple([place(axes) for axes in operand_dims])
    out_axes = [place(axes) for axes in dims[len(operand_dims) :]]

    def whole(*operands: ir.Array) -> list[ir.Array]:
        shares = [
            x if d is None else lax.reshape(x, _split(x.shape, d, count))
            for x, d in zip(operands, in_axes, strict=True)
        ]
        mapped = vmap(run, in_axes=in_axes, out_axes=out_axes, axis_size=count)
        outs = mapped(*shares)
        return [
            x if d is None else lax.reshape(x, _merged(x.shape, d))
            for x, d in zip(outs, out_axes, strict=True)
        ]

    return whole


def _split(shape: Sequence[int], dim: int, count: int) -> tuple[int, ...]:
    return (*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :])


def _merged(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])
