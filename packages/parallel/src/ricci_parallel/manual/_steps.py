"""Evaluation of ``shard_map`` without its executable: step by step, or as nested ``vmap``.

Every operation is run on one device after the other, but a collective once, for all devices.

Step by step it finds the operation that makes a NaN. Backends without devices evaluate it as one
``vmap`` for each mesh axis; compiled functions never do.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_batching import named_axes, vmap
from ricci_ir import Array, AxisNames, Jaxpr, eval_jaxpr, get_aval
from ricci_lax import index_in_dim, reshape, transpose
from ricci_xla import Mesh, PartitionSpec

from ._specs import AnyMesh, Specs, named_axes_of, spec_axes

# A value on each device, in the order of the mesh.
type _PerDevice = list[Any]

# The type of ``shard_map_call``, which runs a function on shards.
type _Call = Callable[..., list[ir.Array]]


def run_in_steps(
    steps: ir.Steps,
    operands: Sequence[ir.ArrayLike],
    avals: Sequence[ir.ShapedArray],
    call: _Call,
    params: dict[str, Any],
) -> list[ir.Array]:
    """Evaluate ``shard_map``, whose results have the types ``avals``, step by step."""
    mesh = params["mesh"]
    shards = [
        _split(steps, x, mesh, spec) for x, spec in zip(operands, params["in_specs"], strict=True)
    ]
    results = _lockstep(steps, params["jaxpr"], shards, mesh, call)
    return [
        _join(steps, xs, aval, mesh, spec)
        for xs, aval, spec in zip(results, avals, params["out_specs"], strict=True)
    ]


def _lockstep(
    steps: ir.Steps, jaxpr: ir.Jaxpr, args: Sequence[_PerDevice], mesh: Mesh, call: _Call
) -> list[_PerDevice]:
    """Evaluate a jaxpr on all devices, equation by equation."""
    count = mesh.devices.size
    env = {id(v): [c] * count for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
    env.update((id(v), xs) for v, xs in zip(jaxpr.invars, args, strict=True))

    def read(atom: ir.Atom) -> _PerDevice:
        return [atom.operand()] * count if isinstance(atom, ir.Literal) else env[id(atom)]

    for eqn in jaxpr.eqns:
        operands = list(map(read, eqn.invars))
        program = ir.program_rules.get(eqn.primitive)
        # An operation without named axes does not communicate, so it runs on each device
        # separately. A call that contains collectives is entered, until only the collective itself
        # is left, which needs the operands of all devices at once.
        if not named_axes(eqn.primitive, eqn.params):
            each = [
                steps.step(eqn, [xs[d] for xs in operands], f"device {d}") for d in range(count)
            ]
            results = [list(xs) for xs in zip(*each, strict=True)]
        elif program is not None:
            results = _lockstep(steps, program(**eqn.params)[0], operands, mesh, call)
        else:
            results = _evaluate_collective(eqn, operands, mesh, call)
            for d in range(count):
                steps.computed(eqn, sum(operands, []), [xs[d] for xs in results], f"device {d}")
        env.update((id(v), xs) for v, xs in zip(eqn.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


def _evaluate_collective(
    eqn: ir.JaxprEqn, operands: Sequence[_PerDevice], mesh: Mesh, call: _Call
) -> list[_PerDevice]:
    """Evaluate an equation on all devices at once."""
    split = PartitionSpec(tuple(mesh.axis_names))
    # Stacked along a leading dimension that is sharded over all axes, each device's operand is its
    # shard.
    whole = [np.stack(list(map(np.asarray, xs))) for xs in operands]

    def fun(*shards: ir.Array) -> list[ir.Array]:
        local = [reshape(x, aval.shape[1:]) for x, aval in _typed(shards)]
        out = eqn.primitive.bind(*local, **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        return [reshape(x, (1, *aval.shape)) for x, aval in _typed(outs)]

    outs = call(
        fun,
        mesh,
        [split] * len(whole),
        lambda: [split] * len(eqn.outvars),
        whole,
        ir.DebugInfo("steps", eqn.primitive.name),
    )
    return [[ir.as_array(row) for row in np.asarray(x)] for x in outs]


def _typed(arrays: Sequence[ir.Array]) -> list[tuple[ir.Array, Any]]:
    return [(x, ir.get_aval(x)) for x in arrays]


def _block(shape: ir.Shape, mesh: Mesh, spec: PartitionSpec, device: int) -> tuple[slice, ...]:
    """Return the index of a device's shard of an array: a slice for each dimension."""
    place = dict(zip(mesh.axis_names, np.unravel_index(device, mesh.devices.shape), strict=True))
    slices = [slice(None)] * len(shape)
    for dim, part in enumerate(spec):
        index, parts = 0, 1
        for name in spec_axes(part):
            # The index of the block is a number in mixed radix, with the first axis as the major
            # digit.
            index = index * mesh.shape[name] + int(place[name])
            parts *= mesh.shape[name]
        size = shape[dim] // parts
        slices[dim] = slice(index * size, (index + 1) * size)
    return tuple(slices)


def _split(steps: ir.Steps, x: ir.ArrayLike, mesh: Mesh, spec: PartitionSpec) -> _PerDevice:
    """Return the shards of an array."""
    values = np.asarray(x)
    blocks = [_block(values.shape, mesh, spec, d) for d in range(mesh.devices.size)]
    return [
        steps.made(ir.as_array(values[block]), lambda i, block=block: (0, _shifted(i, block)), x)
        for block in blocks
    ]


def _join(
    steps: ir.Steps, xs: _PerDevice, aval: ir.ShapedArray, mesh: Mesh, spec: PartitionSpec
) -> ir.Array:
    """Return the array that has these shards."""
    values = np.empty(aval.shape, aval.dtype)
    blocks = [_block(aval.shape, mesh, spec, d) for d in range(len(xs))]
    for block, x in zip(blocks, xs, strict=True):
        values[block] = np.asarray(x)

    starts = np.array([[part.start or 0 for part in block] for block in blocks], int)

    def element(index: Any) -> tuple[Any, Any]:
        owner = np.intp(0)
        for d, block in enumerate(blocks):
            owner = np.where(_holds(block, index), d, owner)
        return owner, tuple(i - starts[owner, dim] for dim, i in enumerate(index))

    return steps.made(ir.as_array(values), element, *xs)


def _shifted(index: Sequence[Any], block: tuple[slice, ...]) -> tuple[Any, ...]:
    return tuple(i + (part.start or 0) for i, part in zip(index, block, strict=True))


def _holds(block: tuple[slice, ...], index: Sequence[Any]) -> np.ndarray | np.bool_:
    """Whether a shard has an element of the whole array, for each index."""
    inside: np.ndarray | np.bool_ = np.True_
    for i, part in zip(index, block, strict=True):
        if part.start is not None:
            inside = inside & (part.start <= i) & (i < part.stop)
    return inside


def as_batch(
    *operands: Array,
    in_specs: Specs,
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    newly_manual_axes: AxisNames,
    out_specs: Specs,
    **params: object,
) -> list[Array]:
    """Compute the results of ``shard_map`` on whole arrays; the parameters are the primitive's."""
    sizes = {name: n for name, n in mesh.shape.items() if name in newly_manual_axes}
    fun: Callable[..., Sequence[Array]] = lambda *xs: eval_jaxpr(jaxpr, jaxpr.consts, *xs)
    # The last axis becomes the innermost vmap, so that the leading dimensions are in the mesh's
    # order. An argument that an axis does not shard is not mapped by its vmap.
    for name, size in reversed(sizes.items()):
        dims = tuple(0 if name in named_axes_of(spec) else None for spec in in_specs)
        fun = vmap(fun, dims, axis_name=name, axis_size=size)
    pairs = zip(operands, in_specs, strict=True)
    shards = [_shards_of(x, spec, sizes) for x, spec in pairs]
    return [_joined(x, spec, sizes) for x, spec in zip(fun(*shards), out_specs, strict=True)]


def _shards_of(x: Array, spec: PartitionSpec, sizes: dict[Hashable, int]) -> Array:
    """Return an array's shards along a leading dimension for each axis that its spec names."""
    shape: list[int] = []
    place: dict[Hashable, int] = {}
    trailing = []
    for size, part in zip(_shape(x), _padded(spec, len(_shape(x))), strict=True):
        for name in spec_axes(part):
            place[name] = len(shape)
            shape.append(sizes[name])
            # A sharded dimension is split into the mesh axes, major first, and the size of a shard.
            size //= sizes[name]
        trailing.append(len(shape))
        shape.append(size)
    leading = [place[name] for name in sizes if name in place]
    return transpose(reshape(x, shape), (*leading, *trailing))


def _joined(x: Array, spec: PartitionSpec, sizes: dict[Hashable, int]) -> Array:
    """Join shards that lie along a leading dimension for each axis."""
    named = [name for name in sizes if name in named_axes_of(spec)]
    for i, name in reversed(list(enumerate(sizes))):
        if name not in named:  # replicated along this axis
            x = index_in_dim(x, 0, i, keepdims=False)
    rank = len(_shape(x)) - len(named)
    order: list[int] = []
    shape: list[int] = []
    for dim, part in enumerate(_padded(spec, rank)):
        places = [*(named.index(name) for name in spec_axes(part)), len(named) + dim]
        order += places
        size = 1
        for place in places:
            size *= _shape(x)[place]
        shape.append(size)
    return reshape(transpose(x, order), shape)


def _padded(spec: PartitionSpec, rank: int) -> Sequence[Any]:
    return (*spec, *(None,) * (rank - len(spec)))


def _shape(x: Array) -> tuple[int, ...]:
    return get_aval(x).shape
