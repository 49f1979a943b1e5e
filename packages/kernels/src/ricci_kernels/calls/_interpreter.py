"""A kernel call as a function of arrays: a loop over the grid of the discharged kernel.

Inputs that no step writes are constants of the loop; outputs, scratch buffers and written inputs
are its carry, which XLA updates in place. So a step costs its blocks, not the arrays.

A grid of many steps of a small kernel is a loop over rows: the steps along its last axis are
unrolled. Then the position along that axis is a constant, XLA removes the branches that test it,
and a block that is the same along the row is read and written once.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping, index_of
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.blocks._programs import with_positions
from ricci_kernels.blocks._specs import Element
from ricci_kernels.primitives._remote_copies import check_lockstep, mesh_axes

_LEAST_STEPS = 4096  # of grids whose rows are unrolled
_MOST_EQUATIONS = 512  # of an unrolled row


def uninitialized(aval: ir.ShapedArray) -> ir.Array:
    """Return an array of the values of memory that nothing was written to.

    They are those of JAX's interpreter: NaN, the least integer of a signed type but int16, else 0.
    """
    return lax.full(aval.shape, filler(aval.dtype), aval.dtype)


def varying_aval(aval: ir.ShapedArray, axes: frozenset[Any]) -> ir.ShapedArray:
    """The type of values that vary along manual axes."""
    if not axes:
        return aval
    sharding = ir.make_type_sharding(None, ((),) * aval.ndim, axes)
    return ir.ShapedArray(aval.shape, aval.dtype, sharding=sharding)


def varying_ref(ref: ir.AbstractRef, axes: frozenset[Any]) -> ir.AbstractRef:
    """The type of references to values that vary along manual axes."""
    return ref.update(varying_aval(ref.inner_aval, axes)) if axes else ref


def initial_value(ref: Any) -> ir.Array:
    """The first value of a buffer that a kernel allocates: semaphores begin at 0."""
    if ref.memory_space is TPUMemorySpace.SEMAPHORE:
        return lax.full(ref.shape, 0, ref.dtype)
    return uninitialized(ref.inner_aval)


def filler(dtype: np.dtype) -> float:
    if ir.issubdtype(dtype, np.inexact):
        return float("nan")
    if ir.issubdtype(dtype, np.signedinteger) and dtype != np.int16:
        return int(ir.iinfo(dtype).min)
    return 0


def interpreted(
    jaxpr: ir.Jaxpr,
    mapping: GridMapping,
    aliases: tuple[tuple[int, int], ...],
    out_avals: Sequence[ir.ShapedArray],
) -> ir.Jaxpr:
    """The jaxpr of arrays of a kernel call; cached on the kernel's jaxpr.

    Args:
      jaxpr: the kernel's, whose arguments are references.
      mapping: its grid.
      aliases: pairs of an operand, without the sizes of the grid, and the output that is its
        buffer.
      out_avals: the types of the results.
    """
    key = ("interpreted", mapping, aliases, tuple(out_avals))

    def trace() -> ir.Jaxpr:
        # A call may be lowered outside of its ``shard_map``; casts to varying values need names.
        axes = ir.varying(out_avals[0]) if out_avals else ()
        unbound = {name: 1 for name in axes if name not in ir.axis_sizes.value}
        communicating = mesh_axes(jaxpr)
        if communicating:
            check_lockstep(jaxpr)
            unbound |= dict(communicating)
        with ir.extend_axes(unbound.items()):
            return _Call(jaxpr, mapping, aliases, out_avals).trace()

    return jaxpr.derived(key, trace)


def checked_outputs(
    params: Mapping[str, Any], first: int, operands: Sequence[ir.Array]
) -> tuple[list[Any], list[Any]]:
    """Interpret a kernel call whose last references hold errors.

    Args:
      params: the parameters of the call, with the checked kernel.
      first: the number of the first of those references.
      operands: the operands of the call.

    Returns:
      The values of those references after the last step, and the results of the call.
    """
    call = _Call(
        params["jaxpr"], params["grid_mapping"], params["input_output_aliases"], params["out_avals"]
    )
    buffers = call.final_buffers(*operands)
    return buffers[first:], call.results(buffers)


def final_values(
    params: Mapping[str, Any], operands: Sequence[ir.Array], numbers: Sequence[int]
) -> list[ir.Array]:
    """Interpret a kernel call, and return the values of some references after the last step.

    Args:
      params: the parameters of the call.
      operands: its operands.
      numbers: the positions of the references.
    """
    call = _Call(
        params["jaxpr"], params["grid_mapping"], params["input_output_aliases"], params["out_avals"]
    )
    buffers = call.final_buffers(*operands)
    return [buffers[i] for i in numbers]


class _Call:
    """A kernel call that is being interpreted."""

    def __init__(
        self,
        jaxpr: ir.Jaxpr,
        mapping: GridMapping,
        aliases: tuple[tuple[int, int], ...],
        out_avals: Sequence[ir.ShapedArray],
    ):
        self.mapping = mapping
        self.out_avals = out_avals
        self.scalar_count = mapping.num_index_operands
        # The alias of an output, among the blocks: inputs, then outputs.
        self.aliased = {out: operand - self.scalar_count for operand, out in aliases}
        rank, dynamic = len(mapping.grid), mapping.dynamic_axes
        kernel = with_positions(jaxpr, mapping.vmapped, rank, dynamic)
        self.before = rank + len(dynamic)  # the kernel's arguments that are not references
        self.kernel = ir.discharged(kernel)
        written = [i - self.before for i in self.kernel.written]
        first = 0 if mapping.persistent_scalars else self.scalar_count
        self.written = [i for i in written if i >= first]
        self.refs: list[Any] = jaxpr.in_avals
        # The manual axes of an enclosing ``shard_map`` along which all operands and results vary.
        self.varying = ir.varying(out_avals[0]) if out_avals else frozenset()
        self.debug_info = jaxpr.debug_info

    def trace(self) -> ir.Jaxpr:
        """The jaxpr of the whole call."""
        mapping = self.mapping
        sizes: list[Any] = [ir.ShapedArray((), np.dtype("int32"))]
        sizes *= mapping.num_dynamic_grid_bounds
        inputs = [m.array_aval for m in mapping.block_mappings[: mapping.num_inputs]]
        scalars = [ref.inner_aval for ref in self.refs[: self.scalar_count]]
        avals = [varying_aval(a, self.varying) for a in (*sizes, *scalars, *inputs)]
        return ir.trace_to_jaxpr(self.run, avals, self.debug_info)

    def run(self, *args: ir.Array) -> list[Any]:
        """Run all steps, and return the outputs."""
        return self.results(self.final_buffers(*args))

    def results(self, buffers: Sequence[Any]) -> list[Any]:
        """The outputs among the buffers."""
        start = self.scalar_count + self.mapping.num_inputs
        outputs = range(self.mapping.num_outputs)
        return [self.result(i, buffers[self.owner(start + i)]) for i in outputs]

    def final_buffers(self, *args: ir.Array) -> list[Any]:
        """Run all steps, and return the buffers of all references."""
        mapping, scalars = self.mapping, self.scalar_count
        count = mapping.num_dynamic_grid_bounds
        sizes = iter(args[:count])
        grid = [next(sizes) if size is None else size for size in mapping.grid]
        buffers: list[Any] = [*args[count : count + scalars], *self.padded(args[count + scalars :])]
        first_scratch = scalars + mapping.num_inputs + mapping.num_outputs
        buffers += [self.cast(initial_value(ref)) for ref in self.refs[first_scratch:]]
        carried = sorted({self.owner(i) for i in self.written})

        def run_steps(run: Callable[[list[Any]], None], values: Sequence[Any]) -> list[Any]:
            current = list(buffers)
            for i, value in zip(carried, values, strict=True):
                current[i] = value
            run(current)
            return [current[i] for i in carried]

        def step(positions: Sequence[Any], values: Sequence[Any]) -> list[Any]:
            return run_steps(partial(self.step, positions, args[:count]), values)

        def row(positions: Sequence[Any], values: Sequence[Any]) -> list[Any]:
            return run_steps(partial(self.row, positions, args[:count]), values)

        first = [buffers[i] for i in carried]
        final = (
            _over_grid(grid[:-1], row, first) if self.unrolls() else _over_grid(grid, step, first)
        )
        for i, value in zip(carried, final, strict=True):
            buffers[i] = value
        return buffers

    def owner(self, operand: int) -> int:
        """The operand whose buffer one has: an aliased output is in the buffer of its input."""
        start = self.scalar_count + self.mapping.num_inputs
        alias = self.aliased.get(operand - start)
        return operand if alias is None else self.scalar_count + alias

    def padded(self, inputs: Sequence[ir.Array]) -> list[Any]:
        """The inputs and outputs, with room for blocks that reach over the end."""
        mapping = self.mapping
        mappings = mapping.block_mappings
        pads = [m.padding for m in mappings]
        for out, operand in self.aliased.items():
            both = zip(pads[operand], pads[mapping.num_inputs + out], strict=True)
            pads[operand] = tuple([(max(a, c), max(b, d)) for (a, b), (c, d) in both])
        blocks: list[Any] = [_pad(x, p) for x, p in zip(inputs, pads, strict=False)]
        for i, m in enumerate(mappings[mapping.num_inputs :]):
            if i in self.aliased:
                blocks.append(None)
                continue
            aval = m.array_aval
            added = [low + n + high for n, (low, high) in zip(aval.shape, m.padding, strict=True)]
            blocks.append(self.cast(uninitialized(ir.ShapedArray(tuple(added), aval.dtype))))
        return blocks

    def cast(self, x: ir.Array) -> Any:
        """Cast a new buffer to the type of values that vary as the operands do."""
        return ir.cast_varying(x, self.varying) if self.varying else x

    def result(self, i: int, buffer: ir.Array) -> ir.Array:
        """An output without its padding."""
        shape = self.out_avals[i].shape
        if buffer.shape == shape:
            return buffer
        place = self.mapping.num_inputs + i
        starts = [low for low, _ in self.mapping.block_mappings[place].padding]
        ends = [low + n for low, n in zip(starts, shape, strict=True)]
        return lax.slice(buffer, starts, ends)

    def unrolls(self) -> bool:
        """Whether the steps along the last axis of the grid are unrolled."""
        grid = self.mapping.grid
        if len(grid) < 2 or None in grid or prod(size or 0 for size in grid) < _LEAST_STEPS:
            return False
        # Index maps would read the scalars of the first step of a row.
        if any(i < self.scalar_count for i in self.written):
            return False
        return (grid[-1] or 0) * ir.count_equations(self.kernel.jaxpr.eqns) <= _MOST_EQUATIONS

    def row(self, positions: Sequence[Any], sizes: Sequence[Any], buffers: list[Any]) -> None:
        """Run the steps along the last axis of the grid; replaces the buffers that they write."""
        mapping, scalars = self.mapping, self.scalar_count
        blocks: dict[int, Any] = {}
        starts: dict[int, Any] = {}
        first = [*positions, np.int32(0)]
        for i, m in enumerate(mapping.block_mappings, scalars):
            # An operand that shares its buffer with another one may read what that writes.
            if not self.aliased and buffers[i].shape != m.sizes and _is_fixed_in_rows(m):
                starts[i] = _starts(m, index_of(m, first, buffers[:scalars]))
                blocks[i] = lax.dynamic_slice(buffers[i], starts[i], m.sizes)
        for last in range(mapping.grid[-1] or 0):
            self.step([*positions, np.int32(last)], sizes, buffers, blocks)
        for i in self.written:
            if i in blocks:
                buffers[i] = lax.dynamic_update_slice(buffers[i], blocks[i], starts[i])

    def step(
        self,
        positions: Sequence[Any],
        sizes: Sequence[Any],
        buffers: list[Any],
        blocks: dict[int, Any] | None = None,
    ) -> None:
        """Run one step; replaces the buffers that it writes.

        ``blocks`` are the blocks of some operands in place of their buffers; those that the step
        writes are replaced.
        """
        mapping, scalars = self.mapping, self.scalar_count
        blocks = {} if blocks is None else blocks
        values = list(buffers)
        starts: dict[int, Any] = {}
        for i, m in enumerate(mapping.block_mappings, scalars):
            buffer = blocks[i] if i in blocks else buffers[self.owner(i)]
            # A block that is the whole array needs no index: the kernel gets the buffer itself.
            if buffer.shape != m.sizes:
                starts[i] = _starts(m, index_of(m, positions, buffers[:scalars]))
                buffer = lax.dynamic_slice(buffer, starts[i], m.sizes)
            values[i] = lax.squeeze(buffer, m.squeezed_dims) if m.squeezed_dims else buffer
        program = self.kernel.jaxpr
        outs = ir.eval_jaxpr(program, program.consts, *positions, *sizes, *values)
        # A discharged jaxpr returns the values of written references behind its own results.
        outs = outs[len(outs) - len(self.written) :]
        for i, value in zip(self.written, outs, strict=True):
            place = self.owner(i)
            if scalars <= i < scalars + len(mapping.block_mappings):
                m = mapping.block_mappings[i - scalars]
                value = lax.expand_dims(value, m.squeezed_dims) if m.squeezed_dims else value
                if i in starts:
                    value = lax.dynamic_update_slice(buffers[place], value, starts[i])
            if i in blocks:
                blocks[i] = value
            else:
                buffers[place] = value


def _is_fixed_in_rows(mapping: BlockMapping) -> bool:
    """Whether the index of a block does not depend on the position along the grid's last axis."""
    jaxpr = mapping.index_map_jaxpr
    positions = [v for v in jaxpr.invars if not isinstance(v.aval, ir.AbstractRef)]
    used = {id(v) for eqn in jaxpr.eqns for v in eqn.invars} | {id(v) for v in jaxpr.outvars}
    return id(positions[-1]) not in used


def _starts(mapping: BlockMapping, index: Sequence[Any]) -> list[Any]:
    """The first element of a block along each dimension."""
    return [
        i if isinstance(dim, Element) or size == 1 else lax.mul(i, np.int32(size))
        for i, size, dim in zip(index, mapping.sizes, mapping.block_shape, strict=True)
    ]


def _pad(x: ir.Array, padding: Sequence[tuple[int, int]]) -> ir.Array:
    if not any(low or high for low, high in padding):
        return x
    fill = np.asarray(filler(x.dtype), x.dtype)
    return lax.pad(x, fill, [(low, high, 0) for low, high in padding])


def _over_grid(grid: Sequence[Any], step: Callable[..., list[Any]], values: list[Any]) -> list[Any]:
    """Run a step for each position in a grid, the last axis fastest."""
    static = all(isinstance(size, int) for size in grid)
    if static and (prod(grid) <= 0 or any(size <= 0 for size in grid)):
        return values
    if static and prod(grid) == 1:
        return step([np.int32(0)] * len(grid), values)
    # One loop over the linear number of a step, taken apart into positions, the last axis fastest.
    total = prod(grid) if static else _product(grid)

    def body(linear: Any, carry: list[Any]) -> list[Any]:
        positions = []
        linear = _int32(linear)  # a loop of static bounds counts in the default integer type
        for size in reversed(grid):
            positions.insert(0, lax.rem(linear, _int32(size)) if len(grid) > 1 else linear)
            linear = lax.div(linear, _int32(size)) if len(grid) > 1 else linear
        return step(positions, carry)

    return lax.fori_loop(np.int32(0), _int32(total), body, values)


def _int32(x: Any) -> Any:
    return np.int32(x) if isinstance(x, int) else lax.convert_element_type(x, np.int32)


def _product(grid: Sequence[Any]) -> ir.Array:
    total: Any = np.int32(1)
    for size in grid:
        total = lax.mul(total, lax.max(_int32(size), np.int32(0)))
    return total
