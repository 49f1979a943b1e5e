"""``pallas_call``: a kernel applied to the blocks of arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import (
    GridMapping,
    block_mapping,
    flatten_specs,
    place_of,
    type_texts,
)
from ricci_kernels.blocks._memory_spaces import MemorySpace, TPUMemorySpace, buffer_type
from ricci_kernels.blocks._programs import entered, traced_frame
from ricci_kernels.blocks._specs import CompilerParams, CostEstimate, GridSpec, no_block_spec
from ricci_kernels.blocks._tpu_parameters import interpretation
from ricci_kernels.primitives._tpu_random import StateNeededError, state_ref, with_state
from ricci_lax import convert_element_type
from ricci_pytree import tree_flatten, tree_unflatten

from ._interpreter import varying_aval, varying_ref
from ._primitive import pallas_call_p

__all__ = ["pallas_call"]


class _Traced(ir.TupleRecord):
    """A traced kernel.

    Attributes:
      jaxpr: of its references.
      mapping: its grid.
      consts: the arrays that it closes over, which are its last inputs.
    """

    jaxpr: ir.Jaxpr
    mapping: GridMapping
    consts: list[Any]


def pallas_call(
    kernel: Callable[..., None],
    out_shape: Any,
    *,
    grid_spec: GridSpec | None = None,
    grid: Any = (),
    in_specs: Any = no_block_spec,
    out_specs: Any = no_block_spec,
    scratch_shapes: Any = (),
    input_output_aliases: Mapping[int, int] = {},
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: CompilerParams | None = None,
    cost_estimate: CostEstimate | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Make a function of arrays from a kernel, a function of references to their blocks.

    The kernel runs once for each step of a grid, in order, the last axis fastest. Its arguments are
    references: to prefetched scalars, to a block of each input, to a block of each output, and to
    scratch buffers. It reads and writes them, and returns ``None``.

    Args:
      kernel: the kernel. Arrays that it closes over become inputs.
      out_shape: the types of the results: a ``ShapeDtypeStruct``, or a pytree of them.
      grid_spec: a ``GridSpec`` in place of the next four arguments.
      grid: the number of steps along each axis.
      in_specs: a sequence with a ``BlockSpec`` for each input; by default whole arrays.
      out_specs: a ``BlockSpec`` for each result, a pytree like ``out_shape``.
      scratch_shapes: buffers that live through the whole grid, such as
        ``pltpu.VMEM((8, 128), jnp.float32)``; a dict passes them as keyword arguments.
      input_output_aliases: for an input, counted from the prefetched scalars on, the result that
        begins with its value.
      debug: prints the kernel's jaxpr when it is traced.
      interpret: runs the kernel as a loop of array operations, on any device.
      name: the name of the kernel in the compiled program.
      compiler_params, cost_estimate, metadata: for the compiler; of no effect when interpreted.

    Returns:
      A function of the prefetched scalars and the inputs. It can be transformed.

    Raises:
      ValueError: if specs, grid, kernel and arguments do not fit; or without ``interpret``, on a
        device that kernels are not compiled for.
      NotImplementedError: if a compiler cannot do what the kernel does.

    Example:
      A matrix product, block by block; the last axis of the grid adds up:

      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def matmul_kernel(x, y, out):
      ...     @pl.when(pl.program_id(2) == 0)
      ...     def _():
      ...         out[...] = jnp.zeros_like(out)
      ...     out[...] += x[...] @ y[...]
      >>> matmul = pl.pallas_call(
      ...     matmul_kernel,
      ...     ricci.ShapeDtypeStruct((4, 4), np.float32),
      ...     grid=(2, 2, 2),
      ...     in_specs=[
      ...         pl.BlockSpec((2, 2), lambda i, j, k: (i, k)),
      ...         pl.BlockSpec((2, 2), lambda i, j, k: (k, j)),
      ...     ],
      ...     out_specs=pl.BlockSpec((2, 2), lambda i, j, k: (i, j)),
      ...     interpret=True,
      ... )
      >>> x = jnp.arange(16.0).reshape(4, 4)
      >>> bool((matmul(x, x) == x @ x).all())
      True
    """
    title = f"the pallas_call {place_of(kernel)}"
    spec = _grid_spec(grid_spec, grid, in_specs, out_specs, scratch_shapes)
    out_types = tuple(out_shape) if type(out_shape) is list else out_shape
    struct_leaves, out_tree = tree_flatten(out_types)
    out_avals = tuple([_out_aval(x) for x in struct_leaves])
    # Specs that do not depend on the arguments are flattened once; the kernel is traced for each
    # of the arguments' types.
    flat_out_specs = flatten_specs("out_specs", spec.out_specs, "out_shape", out_types, title)
    sizes = tuple([size if isinstance(size, int) else None for size in spec.grid])
    bounds = [
        convert_element_type(size, np.int32) for size in spec.grid if not isinstance(size, int)
    ]
    traced: ir.Cache[Any, _Traced] = ir.Cache("kernels", 256)
    dictionary = tuple(sorted(metadata.items())) if metadata is not None else None

    def call(*args: Any) -> Any:
        count = spec.num_scalar_prefetch
        leaves, in_tree = tree_flatten(args)
        avals = tuple([_operand_aval(place_of(kernel), x) for x in leaves])
        aliases = _aliases(title, input_output_aliases, avals, out_avals)
        axes = _axes_of((*bounds, *leaves))
        key = (in_tree, avals, axes, ir.trace_context())
        mode = interpretation(interpret)
        result = traced.recall(key)
        if result is None:
            trace = partial(
                _trace,
                mode,
                kernel,
                spec,
                sizes,
                args[:count],
                args[count:],
                out_avals,
                out_tree,
                flat_out_specs,
            )
            # Only tracing shows the arrays that a kernel closes over. If they vary along manual
            # axes that the arguments do not, the references must vary along them, too.
            result = trace(axes)
            if not axes.issuperset(_axes_of(result.consts)):
                result = trace(axes | _axes_of(result.consts))
            # A tracer of an outer function must not live longer than its trace.
            if not any(map(ir.is_traced, result.consts)):
                traced.put(key, result)
            if debug:
                print(f"The kernel jaxpr for pallas_call {place_of(kernel)}:\n{result.jaxpr}")
        operands = [*bounds, *leaves, *result.consts]
        axes |= _axes_of(result.consts)
        if axes:
            operands = [ir.cast_varying(x, axes) for x in operands]
        # Operands and results all vary along the same axes: a step reads and writes any of them.
        outs = pallas_call_p.bind(
            *operands,
            compiler_params=compiler_params,
            cost_estimate=cost_estimate,
            debug=debug,
            grid_mapping=result.mapping,
            input_output_aliases=aliases,
            interpret=mode,
            jaxpr=result.jaxpr,
            mesh=None,
            metadata=dictionary,
            name=name,
            out_avals=tuple([varying_aval(a, axes) for a in out_avals]),
        )
        return tree_unflatten(out_tree, outs)

    return call


def _axes_of(values: Sequence[Any]) -> frozenset[Any]:
    """The manual axes along which one of some values varies."""
    return frozenset[Any]().union(*[ir.varying(ir.get_aval(x)) for x in values])


def _grid_spec(
    grid_spec: GridSpec | None, grid: Any, in_specs: Any, out_specs: Any, scratch_shapes: Any
) -> GridSpec:
    if grid_spec is None:
        return GridSpec(grid, in_specs, out_specs, scratch_shapes)
    separate = {
        "grid": (grid, ()),
        "in_specs": (in_specs, no_block_spec),
        "out_specs": (out_specs, no_block_spec),
        "scratch_shapes": (scratch_shapes, ()),
    }
    for name, (value, default) in separate.items():
        if value is not default and value != default:
            raise ValueError(
                f"If `grid_spec` is specified, then `{name}` must be `{default}`. It is "
                f"{value!r:.200}"
            )
    return grid_spec


def _out_aval(x: Any) -> ir.ShapedArray:
    if isinstance(x, ir.AbstractRef):
        x = x.inner_aval
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise ValueError(
            f"Invalid out_shape type: {type(x)}. Give a ShapeDtypeStruct, or a pytree of them."
        )
    return ir.ShapedArray(tuple(x.shape), ir.canonicalize_dtype(x.dtype))


def _operand_aval(name: str, x: Any) -> ir.ShapedArray:
    if ir.is_reference(x):
        raise TypeError(
            f"{name}: an operand of pallas_call is a reference of type {x.aval}. Pass the array: "
            "ref[...]."
        )
    aval = ir.get_aval(x)
    return ir.ShapedArray(aval.shape, aval.dtype, aval.weak_type)  # pyright: ignore


def _aliases(
    title: str, aliases: Mapping[int, int], in_avals: Sequence[Any], out_avals: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    """The aliases as sorted pairs.

    Raises:
      ValueError: if one names an operand or a result that does not exist, or of another type.
    """
    pairs = tuple(sorted(dict(aliases).items()))
    for i, o in pairs:
        for kind, place, count in (("input", i, len(in_avals)), ("output", o, len(out_avals))):
            if not 0 <= place < count:
                raise ValueError(
                    f"input_output_aliases contains the mapping '{i}:{o}' with {kind} index "
                    f"{place} outside the range [0, {count}), in {title}. Inputs count from the "
                    "prefetched scalars on."
                )
        if in_avals[i].update(weak_type=False) != out_avals[o]:
            raise ValueError(
                f"input_output_aliases contains the mapping '{i}:{o}' of an input of type "
                f"{in_avals[i].str_short()} to an output of type {out_avals[o].str_short()}, "
                f"in {title}. An output shares the buffer of an input of its own shape and dtype: "
                "make them equal, or leave out the alias."
            )
    return pairs


def _trace(
    mode: object,
    kernel: Callable[..., Any],
    spec: GridSpec,
    sizes: tuple[int | None, ...],
    scalars: tuple[Any, ...],
    inputs: tuple[Any, ...],
    out_avals: Sequence[ir.ShapedArray],
    out_tree: Any,
    out_specs: Sequence[Any],
    axes: frozenset[Any],
) -> _Traced:
    """Trace a kernel and its index maps; its references' values vary along manual axes."""
    title = f"the pallas_call {place_of(kernel)}"
    if len(scalars) < spec.num_scalar_prefetch:
        raise ValueError(
            f"{title} prefetches {spec.num_scalar_prefetch} scalars, and is called with "
            f"{len(scalars)} arguments."
        )
    in_specs = flatten_specs("in_specs", spec.in_specs, "inputs", inputs, title)
    scalar_leaves, scalar_tree = tree_flatten(scalars)
    input_leaves, input_tree = tree_flatten(inputs)
    scalar_refs = [
        varying_ref(ir.AbstractRef(_operand_aval(title, x), TPUMemorySpace.SMEM), axes)
        for x in scalar_leaves
    ]
    names = [f"args[{i}]" for i in range(len(input_leaves))]
    names += ["outputs" if len(out_avals) == 1 else f"outputs[{i}]" for i in range(len(out_avals))]
    avals = [*[_operand_aval(title, x) for x in input_leaves], *out_avals]
    mappings = tuple(
        [
            block_mapping(s, aval, origin, sizes, scalar_refs, scalar_tree, MemorySpace.DEFAULT)
            for s, aval, origin in zip((*in_specs, *out_specs), avals, names, strict=True)
        ]
    )
    scratch_leaves, scratch_tree = tree_flatten(_scratch(spec.scratch_shapes))
    scratch = [buffer_type(x, f"scratch_shapes[{i}]") for i, x in enumerate(scratch_leaves)]
    blocks = [*[m.ref_aval for m in mappings], *[s.get_ref_aval() for s in scratch]]
    refs = [*scalar_refs, *[varying_ref(ref, axes) for ref in blocks]]
    counts = [len(scalar_refs), len(input_leaves), len(out_avals), len(scratch)]
    ends = np.cumsum(counts)

    def flat(*xs: Any) -> list[Any]:
        groups = [xs[start:end] for start, end in zip((0, *ends), ends, strict=False)]
        outs = tree_unflatten(out_tree, groups[2])
        buffers = tree_unflatten(scratch_tree, groups[3])
        named = buffers if isinstance(buffers, dict) else {}
        positional = () if isinstance(buffers, dict) else buffers
        args = (
            *tree_unflatten(scalar_tree, groups[0]),
            *tree_unflatten(input_tree, groups[1]),
            *(outs if isinstance(outs, list | tuple) else (outs,)),
            *positional,
        )
        frame = traced_frame(sizes)
        run = partial(entered, frame, spec.grid_names, lambda: kernel(*args, **named))
        result = with_state(mode, xs[ends[3] :], run)
        if result is not None:
            leaves, tree = tree_flatten(result)
            raise ValueError(
                f"The kernel function in {title} should return None. It returns a PyTree: {tree} "
                f"of {type_texts(leaves)}. Write results to the references of outputs: "
                "out[...] = result."
            )
        return []

    # The state of random numbers is a scratch buffer behind the others. An exception tells
    # that a kernel uses it, so that all others have no such buffer.
    info = ir.DebugInfo("pallas_call", place_of(kernel))
    try:
        jaxpr = ir.trace_to_jaxpr(flat, refs, info)
    except StateNeededError:
        jaxpr = ir.trace_to_jaxpr(flat, [*refs, varying_ref(state_ref, axes)], info)
    mapping = GridMapping(
        sizes,
        spec.grid_names,
        mappings,
        counts[0],
        counts[1],
        counts[2],
        # An interpreter that simulates no TPU begins each step with the operands.
        persistent_scalars=mode is not True,
    )
    if not jaxpr.consts:
        return _Traced(jaxpr, mapping, [])
    return _with_captured(title, jaxpr, mapping, axes)


def _scratch(shapes: Any) -> Any:
    if isinstance(shapes, dict):
        return shapes
    return tuple(shapes) if isinstance(shapes, list | tuple) else (shapes,)


def _with_captured(
    title: str, jaxpr: ir.Jaxpr, mapping: GridMapping, axes: frozenset[Any]
) -> _Traced:
    """A kernel whose captured arrays are its last inputs, each a whole block."""
    consts = jaxpr.consts
    if any(map(ir.is_reference, consts)):
        raise ValueError(
            f"The kernel function in {title} captures references. Pass the arrays that they hold "
            "as inputs."
        )
    avals = [_operand_aval(title, x) for x in consts]
    _, empty_tree = tree_flatten(())
    scalars: list[Any] = jaxpr.in_avals[: mapping.num_index_operands]
    added = [
        block_mapping(
            no_block_spec,
            a,
            "a captured array",
            mapping.grid,
            scalars,
            empty_tree,
            MemorySpace.DEFAULT,
        )
        for a in avals
    ]
    # They are the last inputs, so that the references of outputs and scratch buffers move behind
    # them.
    place = mapping.num_index_operands + mapping.num_inputs
    captured_refs = [varying_ref(m.ref_aval, axes) for m in added]
    refs = [*jaxpr.in_avals[:place], *captured_refs, *jaxpr.in_avals[place:]]

    def flat(*xs: Any) -> list[Any]:
        captured = [ref[...] for ref in xs[place : place + len(consts)]]
        return ir.eval_jaxpr(jaxpr, captured, *xs[:place], *xs[place + len(consts) :])

    blocks = mapping.block_mappings
    changed = mapping._replace(
        block_mappings=(*blocks[: mapping.num_inputs], *added, *blocks[mapping.num_inputs :]),
        num_inputs=mapping.num_inputs + len(consts),
    )
    return _Traced(ir.trace_to_jaxpr(flat, refs, jaxpr.debug_info), changed, list(consts))
