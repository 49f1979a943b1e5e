"""Partitioning of a kernel call over devices along axes of its grid.

An axis can be sharded if each step along it writes the blocks at its own position: then each
device runs the steps of its blocks. Inputs whose blocks are at the same position are sharded with
it, others are replicated. A device's steps have the positions of the whole grid, which are an
operand.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping, kernel_name
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace
from ricci_kernels.blocks._programs import num_programs_p, program_id_p, with_positions
from ricci_kernels.blocks._specs import Blocked, Squeezed
from ricci_kernels.blocks._tpu_parameters import GridDimensionSemantics
from ricci_stablehlo import Lowering, Partitioning, Value, axes_left, on_shards, partitioned_call

from ._carried_scratch import is_carried

__all__: list[str] = []

# The axis of the grid whose position is the block's index along each dimension of an operand.
type BlockAxes = tuple[int | None, ...]

_parallel = ("parallel", "core_parallel", "subcore_parallel")


class GridPartition(ir.TupleRecord):
    """The axes of a grid that can be sharded.

    Attributes:
      axes: the axes.
      block_axes: for each input and output, the axis that shards each dimension.
      positions: the axes among them whose position is read otherwise.
    """

    axes: tuple[int, ...]
    block_axes: tuple[BlockAxes, ...]
    positions: tuple[int, ...]


def grid_partition(params: Mapping[str, Any]) -> GridPartition:
    """The axes of the grid of a ``pallas_call`` that can be sharded; cached on its jaxpr.

    Args:
      params: the call's parameters.
    """
    mapping, aliases = params["grid_mapping"], params["input_output_aliases"]
    semantics = getattr(params["compiler_params"], "dimension_semantics", None)
    key = ("grid partition", mapping, aliases, semantics)
    return params["jaxpr"].derived(
        key, lambda: _grid_partition(params["jaxpr"], mapping, aliases, semantics)
    )


def _grid_partition(
    jaxpr: ir.Jaxpr,
    mapping: GridMapping,
    aliases: Sequence[tuple[int, int]],
    semantics: Sequence[Any] | None,
) -> GridPartition:
    rank, inputs, scalars = len(mapping.grid), mapping.num_inputs, mapping.num_index_operands
    blocks = mapping.block_mappings
    block_axes = [_block_axes(m, mapping.grid) for m in blocks]
    kernel = with_positions(jaxpr, mapping.vmapped, rank, mapping.dynamic_axes)
    # Prints and other effects are in the order of the grid, which devices that share it do not
    # follow.
    if any(not isinstance(e, ir.ReferenceEffect) for e in jaxpr.effects):
        return GridPartition((), tuple([(None,) * len(dims) for dims in block_axes]), ())
    first = rank + mapping.num_dynamic_grid_bounds + scalars
    written = [i - first for i in ir.discharged(kernel).written]
    carriers = list(kernel.invars[first + len(blocks) :])
    if mapping.persistent_scalars:
        carriers += [kernel.invars[first + i] for i in written if -scalars <= i < 0]

    def is_sharded(axis: int) -> bool:
        outputs = range(inputs, len(blocks))
        # Other steps along the axis must not see what a step writes.
        private = {*outputs, *(i for i in written if 0 <= i < len(blocks))}
        for i in private:
            dims = block_axes[i]
            if dims.count(axis) != 1 or axis in _read_axes(blocks[i], dims):
                return False
        for operand, out in aliases:
            if block_axes[operand - scalars] != block_axes[inputs + out]:
                return False
        if axis < mapping.vmapped or _is_parallel(semantics, axis - mapping.vmapped):
            return True
        # A step that is the first along the inner axes begins a run of steps that one device
        # executes as a whole. If scratch buffers and scalars are overwritten before they are read
        # from there on, they carry nothing across the axis.
        starts = {kernel.invars[a]: np.int32(0) for a in range(axis + 1, rank)}
        return not is_carried(kernel, starts, carriers)

    axes = tuple([a for a, size in enumerate(mapping.grid) if (size or 0) > 1 and is_sharded(a)])
    sharded = [_sharding_axes(dims, axes) for dims in block_axes]
    read = _used(kernel, range(rank))
    for m, dims in zip(blocks, sharded, strict=True):
        read |= _read_axes(m, dims)
    return GridPartition(axes, tuple(sharded), tuple([a for a in axes if a in read]))


def _is_parallel(semantics: Sequence[Any] | None, axis: int) -> bool:
    if semantics is None or axis >= len(semantics):
        return False
    kind = semantics[axis]
    return (kind.value if isinstance(kind, GridDimensionSemantics) else kind) in _parallel


def _block_axes(mapping: BlockMapping, grid: Sequence[int | None]) -> BlockAxes:
    """The axis whose blocks cover each dimension, one after the other."""
    jaxpr = mapping.index_map_jaxpr
    positions: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars[: len(grid)])}
    axes = []
    for dim, size, length, atom in zip(
        mapping.block_shape, mapping.sizes, mapping.array_aval.shape, jaxpr.outvars, strict=True
    ):
        axis = positions.get(atom) if type(atom) is ir.Var else None
        is_covered = axis is not None and size * (grid[axis] or 0) == length
        axes.append(axis if is_covered and isinstance(dim, Blocked | Squeezed) else None)
    return tuple(axes)


def _sharding_axes(dims: BlockAxes, axes: Sequence[int]) -> BlockAxes:
    """The axes that shard the dimensions: each the only one that it is the index of."""
    return tuple([a if a in axes and dims.count(a) == 1 else None for a in dims])


def _read_axes(mapping: BlockMapping, dims: BlockAxes) -> set[int]:
    """The axes that the index of the dimensions depends on that they do not shard."""
    jaxpr = mapping.index_map_jaxpr
    others = [atom for atom, axis in zip(jaxpr.outvars, dims, strict=True) if axis is None]
    return _used(jaxpr, range(len(jaxpr.invars)), others)


def _used(jaxpr: ir.Jaxpr, places: range, outs: Sequence[ir.Atom] = ()) -> set[int]:
    """The arguments that some results of a jaxpr, or its effects, depend on."""
    needed = {x for x in outs if type(x) is ir.Var}
    # Backwards: an equation is reached after all equations that use its results.
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            needed |= {x for x in eqn.invars if type(x) is ir.Var}
    return {i for i in places if jaxpr.invars[i] in needed}


def call_on_device(
    params: Mapping[str, Any], partition: GridPartition, parts: Mapping[int, int]
) -> dict[str, Any]:
    """The parameters of the call on one device.

    Its operands are those of the whole call, sharded, with the positions of its steps along each
    axis of ``partition.positions`` after the scalars that index maps read.

    Args:
      params: the parameters of the whole call.
      partition: the axes of its grid that can be sharded.
      parts: the number of devices along each of them.
    """
    mapping: GridMapping = params["grid_mapping"]
    # Axes of dynamic sizes are never among those that can be sharded.
    counts = {axis: (mapping.grid[axis] or 0) // parts.get(axis, 1) for axis in partition.axes}
    refs = [
        ir.AbstractRef(ir.ShapedArray((counts[a],), np.dtype("int32")), TPUMemorySpace.SMEM)
        for a in partition.positions
    ]
    blocks = tuple(
        [
            _block_on_device(m, dims, parts, mapping, partition.positions, refs)
            for m, dims in zip(mapping.block_mappings, partition.block_axes, strict=True)
        ]
    )
    changed = mapping._replace(
        grid=tuple([counts.get(axis, size) for axis, size in enumerate(mapping.grid)]),
        block_mappings=blocks,
        num_index_operands=mapping.num_index_operands + len(refs),
        checked=True,
    )
    aliases = params["input_output_aliases"]
    return {
        **params,
        "grid_mapping": changed,
        "input_output_aliases": tuple([(operand + len(refs), out) for operand, out in aliases]),
        "jaxpr": _kernel_on_device(params["jaxpr"], mapping, partition.positions, refs),
        "out_avals": tuple([m.array_aval for m in blocks[mapping.num_inputs :]]),
    }


def _block_on_device(
    mapping: BlockMapping,
    dims: BlockAxes,
    parts: Mapping[int, int],
    grid: GridMapping,
    axes: Sequence[int],
    refs: Sequence[ir.AbstractRef],
) -> BlockMapping:
    """The blocks of a device's shard, whose index map has the positions of the whole grid."""
    jaxpr, aval = mapping.index_map_jaxpr, mapping.array_aval
    rank, scalars = len(grid.grid), grid.num_index_operands

    def index_map(*args: Any) -> list[Any]:
        position, others, added = args[:rank], args[rank : rank + scalars], args[rank + scalars :]
        whole = list(position)
        for axis, ref in zip(axes, added, strict=True):
            whole[axis] = ref[position[axis]]
        index = ir.eval_jaxpr(jaxpr, jaxpr.consts, *whole, *others)
        # Along a sharded dimension the device has its own blocks only, at its own positions;
        # elsewhere it has all blocks, and the index is that of the whole grid.
        return [i if a is None else position[a] for i, a in zip(index, dims, strict=True)]

    avals = [*jaxpr.in_avals, *refs]
    return mapping._replace(
        index_map_jaxpr=ir.trace_to_jaxpr(index_map, avals, jaxpr.debug_info),
        array_aval=ir.ShapedArray(_shard_shape(aval.shape, dims, parts), aval.dtype),
    )


def _shard_shape(
    shape: Sequence[int], dims: BlockAxes, counts: Mapping[int, int]
) -> tuple[int, ...]:
    """The shape of a device's shard, for the number of devices along each axis of the grid."""
    sizes = zip(shape, dims, strict=True)
    return tuple([n if a is None else n // counts.get(a, 1) for n, a in sizes])


def _parts(dims: BlockAxes, axes: Mapping[int, tuple[Hashable, ...]]) -> ir.Parts:
    """The axes of the mesh that shard each dimension, for those of each axis of the grid."""
    return tuple([() if a is None else axes.get(a, ()) for a in dims])


def _kernel_on_device(
    jaxpr: ir.Jaxpr, mapping: GridMapping, axes: Sequence[int], refs: Sequence[ir.AbstractRef]
) -> ir.Jaxpr:
    """The kernel with references to the positions of a device's steps in the whole grid."""
    if not refs:
        return jaxpr
    rank, scalars, vmapped = len(mapping.grid), mapping.num_index_operands, mapping.vmapped
    kernel = with_positions(jaxpr, vmapped, rank, mapping.dynamic_axes)

    def on_device(*args: Any) -> list[Any]:
        position = [program_id_p.bind(axis=axis - vmapped) for axis in range(rank)]
        sizes = [num_programs_p.bind(axis=axis - vmapped) for axis in mapping.dynamic_axes]
        end = scalars + len(refs)
        for axis, ref in zip(axes, args[scalars:end], strict=True):
            position[axis] = ref[position[axis]]
        others = (*args[:scalars], *args[end:])
        return ir.eval_jaxpr(kernel, kernel.consts, *position, *sizes, *others)

    avals = [*jaxpr.in_avals[:scalars], *refs, *jaxpr.in_avals[scalars:]]
    return ir.trace_to_jaxpr(on_device, avals, jaxpr.debug_info)


def lower_partitioned(
    ctx: Lowering, primitive: ir.Primitive, operands: Sequence[Value], params: dict[str, Any]
) -> list[Value] | None:
    """Write a call whose steps devices share; ``None`` if none of its axes can be sharded.

    Where the types of operands have shardings, each device gets the shards that these say, and a
    kernel that is compiled the whole operands if they say nothing. Else XLA asks when it partitions
    an interpreted kernel; other compilers than the CPU's have not been tried with that.

    Args:
      ctx: the context to write it in.
      primitive: of the call on one device.
      operands: the operands of the whole call.
      params: its parameters.
    """
    module = ctx.module
    if module.num_partitions == 1 or module.manual or (params["interpret"] and not module.shardy):
        return None
    call = _PartitionedCall(ctx, primitive, operands, params)
    if not module.shardy:
        raise NotImplementedError(
            f"the kernel {call.name} is compiled for {module.num_partitions} devices, and the "
            "option jax_use_shardy_partitioner is off, without which it cannot be partitioned."
        )
    if axes_left():
        # A part of the mesh's axes is mapped; along the others all devices run the same steps.
        return None if params["interpret"] else call.on_shards(ir.current_mesh.value.shape, {})
    sharded = _sharded_axes([x.aval for x in operands], params, call.partition)
    if sharded is not None and (sharded.axes or not params["interpret"]):
        return call.on_shards(sharded.mesh.shape, sharded.axes)
    if not params["interpret"]:
        ir.warn_user(
            f"the kernel {call.name} is compiled, and runs whole on each of "
            f"{module.num_partitions} devices. So that they share its steps, give the axes of the "
            "mesh the type Explicit, or call it in a function that shard_map maps."
        )
        return call.on_shards({"devices": module.num_partitions}, {})
    is_asked = ctx.platform == "cpu" and len(module.devices) == module.num_partitions
    # An exported module, the only kind whose large constants are set apart, is compiled by another
    # process, which XLA cannot ask.
    is_asked = is_asked and module.large_constants is None
    return call.as_xla_asks() if is_asked and call.partition.axes else None


class _Sharded(ir.TupleRecord):
    """The axes of a grid that the types of operands shard.

    Attributes:
      mesh: the mesh of the types.
      axes: for axes of the grid, the axes of the mesh.
    """

    mesh: Any
    axes: Mapping[int, tuple[Hashable, ...]]


class _PartitionedCall:
    """A call whose steps devices share."""

    def __init__(
        self,
        ctx: Lowering,
        primitive: ir.Primitive,
        operands: Sequence[Value],
        params: dict[str, Any],
    ):
        mapping: GridMapping = params["grid_mapping"]
        self.ctx, self.primitive, self.params = ctx, primitive, params
        self.name: str = kernel_name(params)
        self.partition = partition = grid_partition(params)
        self.grid: dict[int, int] = {axis: mapping.grid[axis] or 0 for axis in partition.axes}
        first = mapping.num_dynamic_grid_bounds + mapping.num_index_operands
        positions: list[Value] = []
        for axis in partition.positions:
            aval = ir.ShapedArray((self.grid[axis],), np.dtype("int32"))
            positions += ctx.generic("stablehlo.iota", [], [aval], "iota_dimension = 0 : i64")
        self.operands: list[Value] = [*operands[:first], *positions, *operands[first:]]
        # The axis of the grid that shards each dimension of each operand and result.
        self.dims: list[BlockAxes] = [
            *[(None,) * len(x.aval.shape) for x in operands[:first]],
            *[(axis,) for axis in partition.positions],
            *partition.block_axes,
        ]
        shapes = [x.aval.shape for x in self.operands]
        self.shapes = [*shapes, *[aval.shape for aval in params["out_avals"]]]

    def on_device(
        self, axis_sizes: Mapping[Hashable, int], axes: Mapping[int, tuple[Hashable, ...]]
    ) -> tuple[ir.Jaxpr, list[ir.Parts]]:
        """The jaxpr of one device, and the shardings of its operands and results."""
        counts = {axis: prod(axis_sizes[n] for n in names) for axis, names in axes.items()}
        local = call_on_device(self.params, self.partition, counts)
        # The shapes and the axes of the results follow those of the operands, and are not needed
        # here.
        rows = zip(self.operands, self.shapes, self.dims, strict=False)
        avals = [ir.ShapedArray(_shard_shape(n, dims, counts), x.dtype) for x, n, dims in rows]
        run = lambda *args: self.primitive.bind(*args, **local)
        return ir.trace_to_jaxpr(run, avals, self.params["jaxpr"].debug_info), [
            _parts(dims, axes) for dims in self.dims
        ]

    def on_shards(
        self, axis_sizes: Mapping[Hashable, int], axes: Mapping[int, tuple[Hashable, ...]]
    ) -> list[Value]:
        """Write the call for axes of a mesh that shard axes of the grid."""
        jaxpr, parts = self.on_device(axis_sizes, axes)
        return on_shards(self.ctx, axis_sizes, self.operands, list(self.ctx.outs), parts, jaxpr)

    def as_xla_asks(self) -> list[Value]:
        """Write the call with a sharding rule; XLA asks for a device's part."""
        factors, sizes = _factors(self.dims, self.shapes, self.grid)

        def partition(
            axis_sizes: Mapping[Hashable, int], proposed: Sequence[ir.Parts]
        ) -> tuple[ir.Jaxpr, Sequence[ir.Parts]]:
            # The results, which come last, decide.
            proposals = zip(reversed(self.dims), reversed(proposed), strict=True)
            return self.on_device(axis_sizes, _shards(proposals, self.grid, axis_sizes))

        fixed = frozenset(f for f in sizes if f not in self.grid)
        owner = self.params["jaxpr"]
        partitioning = Partitioning(self.name, owner, factors, sizes, fixed, partition)
        return partitioned_call.call(self.ctx, self.operands, partitioning)


def _factors(
    dims: Sequence[BlockAxes], shapes: Sequence[Sequence[int]], grid: Mapping[int, int]
) -> tuple[list[list[tuple[Hashable, ...]]], dict[Hashable, int]]:
    """The factors of each dimension: an axis of the grid, and the elements of a block."""
    sizes: dict[Hashable, int] = {**grid}
    factors: list[list[tuple[Hashable, ...]]] = []
    for value, (axes, shape) in enumerate(zip(dims, shapes, strict=True)):
        each: list[tuple[Hashable, ...]] = []
        for dim, (axis, length) in enumerate(zip(axes, shape, strict=True)):
            inner = ("elements", value, dim)
            size = length if axis is None else length // grid[axis]
            if axis is not None and size == 1:
                each.append((axis,))
            else:
                sizes[inner] = size
                each.append((inner,) if axis is None else (axis, inner))
        factors.append(each)
    return factors, sizes


def _shards(
    proposals: Iterable[tuple[BlockAxes, ir.Parts]],
    grid: Mapping[int, int],
    axis_sizes: Mapping[Hashable, int],
) -> dict[int, tuple[Hashable, ...]]:
    """The axes of the mesh that shard each axis of the grid, by the first proposal for it.

    Axes of the mesh that do not divide the axis, or that shard another, are left out.
    """
    proposed: dict[int, tuple[Hashable, ...]] = {}
    for dims, parts in proposals:
        for axis, part in zip(dims, parts, strict=True):
            if axis is not None and part:
                proposed.setdefault(axis, part)
    used: set[Hashable] = set()
    result = {}
    for axis in sorted(proposed):
        names: list[Hashable] = []
        # From the first axis of the mesh on, as long as they divide the grid: the steps of a device
        # are consecutive then.
        for name in proposed[axis]:
            count = prod(axis_sizes[n] for n in (*names, name))
            if name in used or grid[axis] % count:
                break
            names.append(name)
        used.update(names)
        if names:
            result[axis] = tuple(names)
    return result


def _sharded_axes(
    avals: Sequence[ir.AbstractValue], params: Mapping[str, Any], partition: GridPartition
) -> _Sharded | None:
    """The axes of the grid that types shard; ``None`` if no type has a sharding."""
    shardings = [aval.type_sharding for aval in avals]
    mesh = next((s.mesh for s in shardings if s is not None and s.is_sharded), None)
    if mesh is None:
        return None
    mapping: GridMapping = params["grid_mapping"]
    inputs = shardings[mapping.num_dynamic_grid_bounds + mapping.num_index_operands :]
    pairs = zip(partition.block_axes, inputs, strict=False)
    proposals = [(dims, s.parts) for dims, s in pairs if s is not None]
    grid = {axis: mapping.grid[axis] or 0 for axis in partition.axes}
    return _Sharded(mesh, _shards(proposals, grid, mesh.shape))


def result_shardings(
    avals: Sequence[ir.AbstractValue], results: Sequence[ir.AbstractValue], **params: Any
) -> list[ir.TypeSharding | None]:
    """The shardings of results: along axes of the grid, those of the operands' blocks.

    Args:
      avals: the types of the operands.
      results: the types of the results.
      params: the parameters of the call.
    """
    out_avals: Sequence[ir.ShapedArray] = params["out_avals"]
    partition = grid_partition(params)
    sharded = _sharded_axes(avals, params, partition)
    if sharded is None or not sharded.axes:
        return [aval.type_sharding for aval in out_avals]
    outs = partition.block_axes[params["grid_mapping"].num_inputs :]
    return [
        ir.make_type_sharding(sharded.mesh, _parts(dims, sharded.axes), ir.varying(aval))
        for aval, dims in zip(out_avals, outs, strict=True)
    ]
