"""The batch of a kernel call: a leading axis of its grid."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import Axis
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping
from ricci_kernels.blocks._programs import program_id_p
from ricci_kernels.blocks._specs import squeezed
from ricci_lax.refs import get_p

from ._interpreter import varying_aval

__all__: list[str] = []


def batched(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], params: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The operands and the parameters of a batch of kernel calls; its results lead with the batch.

    Args:
      axis: the mapped axis.
      args: the operands.
      dims: the dimension of each that is mapped, or ``None``.
      params: the parameters of the call.
    """
    mapping: GridMapping = params["grid_mapping"]
    bounds, scalars = mapping.num_dynamic_grid_bounds, mapping.num_index_operands
    if any(d is not None for d in dims[:bounds]):
        raise NotImplementedError(
            "vmap of a kernel call whose grid differs between examples is not supported. Map over "
            "its other operands, or make the grid as large as the largest."
        )
    operands, places = list(args), list(dims)
    # An output in an input's buffer has the batch first, so that the input must have it there, too;
    # and if it is not mapped, each example writes to a copy.
    for operand, _ in params["input_output_aliases"]:
        i = bounds + operand
        if places[i] is None:
            x = operands[i]
            operands[i] = lax.broadcast(x, (axis.size,))
        elif places[i] != 0:
            order = [places[i], *(d for d in range(operands[i].ndim) if d != places[i])]
            operands[i] = lax.transpose(operands[i], order)
        places[i] = 0
    # Scalars that steps write differ between examples.
    written = written_scalars(params["jaxpr"], mapping) if params["interpret"] else []
    for i in written:
        if places[bounds + i] is None:
            operands[bounds + i] = lax.broadcast(operands[bounds + i], (axis.size,))
            places[bounds + i] = 0
    # Scalars are not in blocks: the kernel and the index maps select those of their example,
    # ``ref[example]``.
    scalar_dims = places[bounds : bounds + scalars]
    for i in range(bounds, bounds + scalars):
        if places[i]:
            order = [places[i], *(d for d in range(operands[i].ndim) if d != places[i])]
            operands[i] = lax.transpose(operands[i], order)
    selected = [d is not None for d in scalar_dims]
    block_dims = [*places[bounds + scalars :], *[0] * mapping.num_outputs]
    blocks = tuple(
        [
            _with_dim(m, d, axis.size, selected)
            for m, d in zip(mapping.block_mappings, block_dims, strict=True)
        ]
    )
    names = mapping.grid_names
    changed = mapping._replace(
        grid=(axis.size, *mapping.grid),
        grid_names=None if names is None else (None, *names),
        block_mappings=blocks,
        vmapped=mapping.vmapped + 1,
    )
    jaxpr: ir.Jaxpr = params["jaxpr"]
    if any(selected):
        jaxpr = _kernel_of_batch(jaxpr, selected, axis.size, changed.vmapped, written)
    out_avals = tuple(
        [
            varying_aval(ir.ShapedArray((axis.size, *a.shape), a.dtype), ir.varying(a))
            for a in params["out_avals"]
        ]
    )
    return operands, {**params, "grid_mapping": changed, "jaxpr": jaxpr, "out_avals": out_avals}


def _with_dim(
    mapping: BlockMapping, dim: int | None, size: int, selected: Sequence[bool]
) -> BlockMapping:
    """The blocks of an operand with a mapped dimension: one example in each step."""
    jaxpr = mapping.index_map_jaxpr
    scalars = len(selected)
    rank = len(jaxpr.in_avals) - scalars

    def index_map(example: Any, *args: Any) -> list[Any]:
        refs = _selected(args[rank:], selected, example)
        index = ir.eval_jaxpr(jaxpr, jaxpr.consts, *args[:rank], *refs)
        # An operand that is not mapped has the same block in the steps of all examples.
        return index if dim is None else [*index[:dim], example, *index[dim:]]

    avals = [*jaxpr.in_avals[:1]] if rank else []
    example_aval = avals[0] if avals else ir.ShapedArray((), "int32")
    inner = [example_aval, *jaxpr.in_avals[:rank]]
    inner += _batched_refs(jaxpr.in_avals[rank:], selected, size)
    changed = mapping._replace(
        index_map_jaxpr=ir.trace_to_jaxpr(index_map, inner, jaxpr.debug_info)
    )
    if dim is None:
        return changed
    shape = mapping.array_aval.shape
    aval = ir.ShapedArray((*shape[:dim], size, *shape[dim:]), mapping.array_aval.dtype)
    dims = mapping.block_shape
    return changed._replace(array_aval=aval, block_shape=(*dims[:dim], squeezed, *dims[dim:]))


def _batched_refs(refs: Sequence[Any], selected: Sequence[bool], size: int) -> list[Any]:
    """The types of references to the scalars of all examples."""
    return [
        ref.update(
            varying_aval(ir.ShapedArray((size, *ref.shape), ref.dtype), ir.varying(ref.inner_aval))
        )
        if mapped
        else ref
        for ref, mapped in zip(refs, selected, strict=True)
    ]


def _example_aval(ref: ir.AbstractRef, example: ir.ShapedArray) -> ir.AbstractRef:
    inner = ref.inner_aval
    row = ir.ShapedArray(inner.shape[1:], inner.dtype)
    return ref.update(varying_aval(row, ir.varying(inner)))


def _example_discharge(ref: ir.Ref, example: ir.Array) -> ir.Ref:
    row = ref[example]
    return ir.Ref(ref.aval.update(ir.get_aval(row)), row)


_inside = ir.unsupported("rows of scalars exist in kernels only; discharge the jaxpr first")

# From a reference to the scalars of all examples, and a position, one to those of an example.
# A compiler of kernels gives a part of the memory; an interpreter a buffer that lives for a step.
example_ref_p: ir.Primitive = ir.define(
    "example_ref",
    abstract_eval=_example_aval,
    effects=lambda params: frozenset({ir.read_effect, ir.inside_effect}),
    discharge=_example_discharge,
    sharding=ir.by_program,
    jvp=_inside,
    transpose=_inside,
    batch=_inside,
    lower=_inside,
)


def _selected(refs: Sequence[Any], selected: Sequence[bool], example: ir.Array) -> list[Any]:
    """References to the scalars of one example."""
    return [
        example_ref_p.bind(ref, example) if mapped else ref
        for ref, mapped in zip(refs, selected, strict=True)
    ]


def written_scalars(jaxpr: ir.Jaxpr, mapping: GridMapping) -> list[int]:
    """The numbers of the scalars that a step writes, and later ones read.

    Args:
      jaxpr: the kernel's.
      mapping: its grid.
    """
    if not mapping.persistent_scalars:
        return []
    return [i for i in ir.discharged(jaxpr).written if i < mapping.num_index_operands]


def _kernel_of_batch(
    jaxpr: ir.Jaxpr, selected: Sequence[bool], size: int, vmapped: int, written: Sequence[int]
) -> ir.Jaxpr:
    """The jaxpr of a kernel that gets the scalars of all examples."""
    count = len(selected)

    def kernel(*refs: Any) -> list[Any]:
        # Axes that ``vmap`` adds are numbered from −1 downwards, so that axes of the user's grid
        # keep their numbers. This one is the newest, and the outermost.
        example = program_id_p.bind(axis=-vmapped)
        scalars = _selected(refs[:count], selected, example)
        results = ir.eval_jaxpr(jaxpr, jaxpr.consts, *scalars, *refs[count:])
        for i in written:
            refs[i][example] = get_p.bind(scalars[i], transforms=())
        return results

    avals = [*_batched_refs(jaxpr.in_avals[:count], selected, size), *jaxpr.in_avals[count:]]
    return ir.trace_to_jaxpr(kernel, avals, jaxpr.debug_info)
