"""A kernel call as XLA's custom call of a Mosaic module, for TPUs."""

import base64
import json
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_kernels.blocks._specs import Element
from ricci_kernels.blocks._tpu_parameters import CompilerParams, SideEffectType
from ricci_kernels.calls._compiled_calls import KernelCall
from ricci_kernels.primitives._remote_copies import mesh_axes
from ricci_stablehlo import Lowering, string
from ricci_stablehlo import Value as HloValue

from ._blocks import (
    block_space,
    buffer_count,
    check_blocks,
    is_sliced,
    is_windowed,
    kind_of_devices,
    whole_block,
)
from ._devices import add_axis_rule
from ._references import View, part_reference
from ._writer import INT32, VERSION, Reference, Value, Writer, space_name

_position = ir.ShapedArray((), INT32)
# MLIR's mark of a size that is known when the kernel runs.
_DYNAMIC = -(2**63)


def compile_kernel(ctx: Lowering, call: KernelCall, operands: Sequence[HloValue]) -> list[HloValue]:
    """Write the custom call of a kernel: the compiler of a platform (see ``kernel_compilers``).

    Raises:
      ValueError: for blocks that the device does not support.
      NotImplementedError: for operations or dtypes that it does not.
    """
    check_blocks(call, ctx.module.devices)
    params = call.compiler_params
    options = params if isinstance(params, CompilerParams) else CompilerParams()
    kind = kind_of_devices(ctx.module.devices)
    body = module_text(call, options, ctx.module.axis_sizes, kind)
    _check_collective(call, options, body)
    # Booleans are int32 in the device's memory: they are converted before and after the call.
    outs = [_stored(aval) for aval in call.out_avals]
    arguments = [_converted(ctx, x, np.dtype("int32")) for x in operands]
    ranks = [len(ir.physical_aval(x.aval).shape) for x in arguments]
    sizes = call.mapping.num_dynamic_grid_bounds
    name = f"kernel_name = {string(call.name)}"
    if call.metadata is not None:
        text = json.dumps(dict(call.metadata))
        name += f", mhlo.frontend_attributes = {{kernel_metadata = {string(text)}}}"
    results = ctx.custom_call(
        "tpu_custom_call",
        arguments,
        outs,
        backend_config=json.dumps(_config(call, options, body)),
        api_version=1,
        has_side_effect=options.has_side_effects not in (False, SideEffectType.PURE),
        # The kernel's blocks assume row-major arrays: the last dimension is the one of lanes.
        operand_layouts=[range(rank)[::-1] for rank in ranks],
        result_layouts=[range(len(x.shape))[::-1] for x in outs],
        output_operand_aliases={out: sizes + operand for operand, out in call.aliases},
        extra=name,
    )
    return [
        _converted(ctx, x, np.dtype("bool"), only=aval.dtype)
        for x, aval in zip(results, call.out_avals, strict=True)
    ]


def _check_collective(call: KernelCall, options: CompilerParams, body: str) -> None:
    """Check that a kernel has a barrier and a number for it, or neither.

    Raises:
      ValueError: if one of them is missing. libtpu ends the process without the number.
    """
    has_barrier = '"stable_mosaic.tpu.sem_barrier"' in body
    if has_barrier and options.collective_id is None:
        raise ValueError(
            f"the kernel {call.name} calls pltpu.get_barrier_semaphore, and has no collective_id, "
            "by which its devices find the semaphore. Pass compiler_params="
            "pltpu.CompilerParams(collective_id=0), with the same number on all devices, and "
            "another one for each kernel that may run at the same time."
        )
    needs_barrier = not options.allow_collective_id_without_custom_barrier
    if options.collective_id is not None and not has_barrier and needs_barrier:
        raise ValueError(
            f"the kernel {call.name} has collective_id={options.collective_id}, and does not call "
            "pltpu.get_barrier_semaphore. Leave out collective_id, or wait for the other devices "
            "at the beginning of the kernel."
        )


def _stored(aval: ir.ShapedArray) -> ir.ShapedArray:
    """The type of an array in memory: booleans are int32."""
    return aval.update(dtype=INT32) if aval.dtype == np.bool_ else aval


def _converted(
    ctx: Lowering, x: HloValue, dtype: np.dtype, only: np.dtype | None = None
) -> HloValue:
    is_changed = x.aval.dtype == np.bool_ if only is None else only == np.bool_
    return ctx.emit("stablehlo.convert", [x], x.aval.update(dtype=dtype)) if is_changed else x


def _config(call: KernelCall, options: CompilerParams, body: str) -> dict[str, Any]:
    """The configuration of the custom call; only fields that are set."""
    config: dict[str, Any] = {
        "body": base64.b64encode(body.encode()).decode(),
        "serialization_format": 1,
        "needs_layout_passes": options.needs_layout_passes,
    }
    cost = call.cost_estimate
    if cost is not None:
        names = ("flops", "transcendentals", "bytes_accessed", "remote_bytes_transferred")
        config["cost_estimate"] = {name: getattr(cost, name) for name in names}
    if options.internal_scratch_in_bytes is not None:
        config["internal_scratch_in_bytes"] = options.internal_scratch_in_bytes
    if mesh_axes(call.jaxpr):
        config["has_communication"] = True
    if options.collective_id is not None:
        config["collective_id"] = options.collective_id
    if options.allow_input_fusion is not None:
        config["allow_input_fusion"] = list(options.allow_input_fusion)
    for name in ("disable_bounds_checks", "disable_semaphore_checks", "skip_device_barrier"):
        if getattr(options, name):
            config[name] = True
    if not options.shape_invariant_numerics:
        config["shape_invariant_numerics"] = False
    whole: dict[str, Any] = {"custom_call_config": config}
    if options.vmem_limit_bytes is not None:
        limit = {"memory_space": 1, "offset": 0, "size": options.vmem_limit_bytes}
        whole["scoped_memory_configs"] = [limit]
    if options.flags:
        whole["flag_configs"] = [
            {"flag_type": name, "value": {_flag_kind(value): value}}
            for name, value in options.flags.items()
        ]
    return whole


def _flag_kind(value: object) -> str:
    return "boolean_value" if isinstance(value, bool) else "integer_value"


def module_text(
    call: KernelCall,
    options: CompilerParams,
    mesh: Mapping[Hashable, int] | None = None,
    device_kind: str = "",
) -> str:
    """The module of a kernel: its function, and one for the index map of each block.

    Args:
      call: the call.
      options: the parameters of the compiler.
      mesh: the sizes of the axes of the mesh whose devices run the kernel.
      device_kind: the kind of the devices; empty if it is unknown.
    """
    add_axis_rule()
    writer = Writer(mesh=mesh, device_kind=device_kind)
    # Without a grid and with whole arrays as blocks there is nothing to be fetched block by block,
    # and the function gets the arrays without windows.
    is_plain = not call.grid and all(_is_whole(m) for m in call.blocks)
    grid = call.grid or (() if is_plain else (1,))
    positions = [Value(writer.new_name(), _position) for _ in grid]
    scalars = [
        Reference(writer.new_name(), ref.shape, ref.dtype, space_name(ref.memory_space, "smem"))
        for ref in call.scalars
    ]
    windows = [whole_block(m) if is_sliced(m) else m for m in call.blocks]
    blocks = [_block_reference(writer, m) for m in windows]
    scratch = [scratch_reference(writer.new_name(), ref) for ref in call.scratch]
    arguments = [*positions, *scalars, *blocks, *scratch]

    def run(inner: Writer) -> Sequence[Any]:
        sizes = [
            inner.emit("tpu.iteration_bound", [], _position, f"dim = {axis} : i32")
            for axis in call.mapping.dynamic_axes
        ]
        # A call without a grid may have a grid of one step for its windows, which its kernel does
        # not see.
        seen = positions[: len(call.grid)]
        parts = [
            _array_part(inner, m, block, seen, scalars) if is_sliced(m) else block
            for m, block in zip(call.blocks, blocks, strict=True)
        ]
        inner.apply(call.jaxpr, [*seen, *sizes, *scalars, *parts, *scratch])
        return []

    functions, window_params = [], []
    for i, m in enumerate(windows):
        if is_plain:
            break
        fields = []
        if is_windowed(m):
            symbol = f"transform_{i}"
            functions.append(_index_map(symbol, m, len(grid), len(call.grid), scalars))
            # With one buffer, a block is fetched after the computation with the one before it.
            if buffer_count(m, call.num_steps if call.grid else 1) == 1:
                fields.append("pipeline_mode = #tpu.pipeline_mode<synchronous>")
            fields.append(f"transform_indices = @{symbol}")
            stored = ir.physical_aval(ir.ShapedArray(m.sizes, m.array_aval.dtype))
            fields.append(f"window_bounds = array<i64: {_list(stored.shape)}>")
            if _counts_elements(m):
                paddings = [getattr(d, "padding", (0, 0)) for d in m.block_shape]
                low, high = ([p[side] for p in paddings] for side in (0, 1))
                fields.append(f"window_kind = #tpu.element_window<[{_list(low)}], [{_list(high)}]>")
        window_params.append(f"{{{', '.join(fields)}}}")
    attributes = [f"dimension_semantics = [{', '.join(_semantics(call, options, len(grid)))}]"]
    attributes.append(f"function_type = ({', '.join([x.type for x in arguments])}) -> ()")
    if not is_plain:
        bounds = [_DYNAMIC if size is None else size for size in grid]
        attributes.append(f"iteration_bounds = array<i64: {_list(bounds)}>")
    attributes += [
        f"scalar_prefetch = {len(scalars)} : i64",
        f"scratch_operands = {len(scratch)} : i64",
        f'sym_name = "{re.sub(r"[^A-Za-z0-9_]", "_", call.name)}"',
        "tpu.core_type = #tpu.core_type<tc>",
    ]
    if not is_plain:
        attributes.append(f"window_params = [{', '.join(window_params)}]")
    writer.eqn, writer.outs = None, ()
    main = writer.block(arguments, run, "func.return")
    text = f'"stable_mosaic.func.func"() ({main}) {{{", ".join(attributes)}}} : () -> ()'
    head = f"module attributes {{stable_mosaic.version = {VERSION} : i64}} {{"
    return "\n".join([head, text, *functions, "}"])


def _list(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _is_whole(mapping: BlockMapping) -> bool:
    return mapping.sizes == mapping.array_aval.shape and not _counts_elements(mapping)


def _counts_elements(mapping: BlockMapping) -> bool:
    return any(isinstance(dim, Element) for dim in mapping.block_shape)


def _block_reference(writer: Writer, m: BlockMapping) -> Reference:
    seen = tuple(i for i in range(len(m.sizes)) if i not in m.squeezed_dims)
    return Reference(writer.new_name(), m.sizes, m.array_aval.dtype, block_space(m), seen)


def _array_part(
    writer: Writer,
    m: BlockMapping,
    array: Reference,
    positions: Sequence[Value],
    scalars: Sequence[Reference],
) -> Reference:
    """Write the reference to the part of an array that is in a block."""
    starts = _first_elements(writer, m, positions, scalars)
    steps = (1,) * len(starts)
    seen = tuple([d for d in array.dims if d not in m.squeezed_dims])
    return part_reference(writer, array, View(tuple(starts), m.sizes, steps, seen))


def _first_elements(
    writer: Writer, m: BlockMapping, positions: Sequence[Value], scalars: Sequence[Reference]
) -> list[Value]:
    """Write the position of a block's first element along each dimension."""
    return [
        index
        if isinstance(dim, Element) or size == 1
        else writer.emit("arith.muli", [index, writer.int32(size)], _position)
        for index, dim, size in zip(
            writer.apply(m.index_map_jaxpr, [*positions, *scalars]),
            m.block_shape,
            m.sizes,
            strict=True,
        )
    ]


def scratch_reference(name: str, ref: ir.AbstractRef) -> Reference:
    """The reference to a buffer that a kernel allocates."""
    space = space_name(ref.memory_space)
    kind = ref.kind if isinstance(ref.kind, SemaphoreType) else None
    return Reference(name, ref.shape, ref.dtype, space, kind=kind)


def _semantics(call: KernelCall, options: CompilerParams, rank: int) -> list[str]:
    added = call.mapping.vmapped
    declared = options.dimension_semantics or ["arbitrary"] * (rank - added)
    if len(declared) != rank - added:
        raise ValueError(
            f"dimension_semantics of the kernel {call.name} has {len(declared)} entries, and its "
            f"grid {rank - added} axes. Give one for each axis."
        )
    # Axes that vmap adds are of independent examples.
    names = [getattr(kind, "value", kind) for kind in ["parallel"] * added + list(declared)]
    return [f"#tpu.dimension_semantics<{name}>" for name in names]


def _index_map(
    symbol: str, m: BlockMapping, rank: int, used: int, scalars: Sequence[Reference]
) -> str:
    """The function from the position in the grid to the index of a block."""
    writer = Writer()
    writer.eqn, writer.outs = None, ()
    positions = [Value(writer.new_name(), _position) for _ in range(rank)]
    refs = [Reference(writer.new_name(), x.shape, x.dtype, x.space, x.dims) for x in scalars]
    arguments = [*positions, *refs]
    rank_of_block = ir.physical_aval(ir.ShapedArray(m.sizes, m.array_aval.dtype)).ndim

    def run(inner: Writer) -> Sequence[Any]:
        # One dimension that counts elements makes the device count elements in all.
        if _counts_elements(m):
            return _first_elements(inner, m, positions[:used], refs)
        indices = inner.apply(m.index_map_jaxpr, [*positions[:used], *refs])
        # A key is stored along further dimensions, all of which are in the block.
        return [*indices, *[inner.int32(0)] * (rank_of_block - len(indices))]

    text = writer.block(arguments, run, "func.return")
    results = ", ".join(["i32"] * rank_of_block)
    kinds = ", ".join([x.type for x in arguments])
    attributes = f'function_type = ({kinds}) -> ({results}), sym_name = "{symbol}"'
    return f'"stable_mosaic.func.func"() ({text}) {{{attributes}}} : () -> ()'
