"""Index maps, traced, and the grid of a kernel call as a parameter of its primitive."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_lax import convert_element_type
from ricci_pytree import tree_flatten, tree_unflatten

from ._programs import Frame, entered
from ._specs import (
    Blocked,
    BlockSpec,
    BoundedSlice,
    Element,
    Indirect,
    Squeezed,
    no_block_spec,
    squeezed,
)

type Dim = Blocked | Squeezed | Element

_index_aval: ir.ShapedArray = ir.ShapedArray((), np.dtype("int32"))


class BlockMapping(ir.TupleRecord):
    """The blocks of an operand.

    Attributes:
      block_shape: the kind of each dimension.
      index_map_jaxpr: from the position in the grid and the references to the scalars that were
        fetched ahead to the index of the block.
      array_aval: the type of the operand.
      memory_space: where the block is.
      origin: the name of the operand in messages.
      pipeline_mode: a ``Buffered``, or ``None``.
    """

    block_shape: tuple[Dim, ...]
    index_map_jaxpr: ir.Jaxpr
    array_aval: ir.ShapedArray
    memory_space: Any
    origin: str
    pipeline_mode: Any = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of elements of a block along each dimension of the operand."""
        return tuple([1 if isinstance(d, Squeezed) else d.block_size for d in self.block_shape])

    @property
    def squeezed_dims(self) -> tuple[int, ...]:
        """The dimensions that the kernel does not see."""
        return tuple([i for i, d in enumerate(self.block_shape) if isinstance(d, Squeezed)])

    @property
    def ref_aval(self) -> ir.AbstractRef:
        """The type of the kernel's reference to a block."""
        shape = tuple([d.block_size for d in self.block_shape if not isinstance(d, Squeezed)])
        aval = self.array_aval
        return ir.AbstractRef(ir.ShapedArray(shape, aval.dtype, aval.weak_type), self.memory_space)

    @property
    def declared_padding(self) -> tuple[tuple[int, int], ...]:
        """The elements that ``Element`` adds before and after those of each dimension.

        The index of a block counts from the first of them.
        """
        return tuple([d.padding if isinstance(d, Element) else (0, 0) for d in self.block_shape])

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """The elements that an interpreter adds before and after those of each dimension.

        The blocks then cover the whole array.
        """
        pads = []
        for (low, high), size, block in zip(
            self.declared_padding, self.array_aval.shape, self.sizes, strict=True
        ):
            # The last block may reach over the end: the padded size is rounded up to whole blocks.
            pads.append((low, high + (-(low + size + high) % block if block else 0)))
        return tuple(pads)

    @property
    def ends(self) -> tuple[int, ...]:
        """The number of elements of each dimension with its declared padding, at least 1.

        A block that begins behind them has no element that the user has declared.
        """
        pads = zip(self.declared_padding, self.array_aval.shape, strict=True)
        return tuple([max(low + size + high, 1) for (low, high), size in pads])

    def __repr__(self) -> str:
        return f"BlockMapping(block_shape={self.block_shape})"


class GridMapping(ir.TupleRecord):
    """The grid of a kernel call, and how its blocks are taken.

    Attributes:
      grid: the number of steps along each axis; ``None`` for one that is an operand.
      grid_names: the name of each axis, or ``None``.
      block_mappings: those of the inputs and of the outputs.
      num_index_operands: the number of operands that index maps read.
      num_inputs, num_outputs: the number of the others.
      vmapped: the number of leading axes that ``vmap`` has added.
      checked: whether its blocks and indices are checked outside of it.
      persistent_scalars: whether what a step writes to the scalars is there in later steps, as on a
        TPU; else each step begins with the operands.
    """

    grid: tuple[int | None, ...]
    grid_names: tuple[Any, ...] | None
    block_mappings: tuple[BlockMapping, ...]
    num_index_operands: int
    num_inputs: int
    num_outputs: int
    vmapped: int = 0
    checked: bool = False
    persistent_scalars: bool = False

    @property
    def dynamic_axes(self) -> tuple[int, ...]:
        """The axes whose size is an operand."""
        return tuple([axis for axis, size in enumerate(self.grid) if size is None])

    @property
    def num_dynamic_grid_bounds(self) -> int:
        """The number of axes whose size is an operand."""
        return len(self.dynamic_axes)

    def __repr__(self) -> str:
        sizes = ["DynamicGridDim" if size is None else str(size) for size in self.grid]
        grid = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
        return f"GridMapping(grid={grid}, block_mappings={self.block_mappings})"


def place_of(fun: Callable[..., Any]) -> str:
    """A function's name, with its file and line."""
    code = getattr(fun, "__code__", None)
    inner = getattr(fun, "func", None)
    if code is None:
        return place_of(inner) if callable(inner) else type(fun).__name__
    name = getattr(fun, "__name__", "function")
    return f"{name} at {ir.shown_file(code.co_filename)}:{code.co_firstlineno}"


def _dim(dim: Any, origin: str) -> Dim:
    if dim is None or isinstance(dim, Squeezed):
        return squeezed
    if isinstance(dim, Blocked | Element):
        return dim
    if isinstance(dim, BoundedSlice | Indirect):
        raise ValueError(
            f"Unsupported block dim type: {type(dim).__name__}, of {origin}. It is for the specs "
            "of pltpu.emit_pipeline; in pallas_call write an int, None, or pl.Element."
        )
    if not isinstance(dim, bool) and hasattr(dim, "__index__"):
        return Blocked(int(dim))
    raise ValueError(
        f"Unsupported block dimension type: {type(dim)}, of {origin}. Allowed types: "
        "`pl.Squeezed`, `pl.Blocked`, `pl.Element`, `int`, `None`."
    )


def block_mapping(
    spec: Any,
    aval: ir.ShapedArray,
    origin: str,
    grid: Sequence[int | None],
    scalars: Sequence[ir.AbstractRef],
    scalar_tree: Any,
    default_space: Any,
) -> BlockMapping:
    """Trace an index map, and check a spec.

    Args:
      spec: the ``BlockSpec``, or ``no_block_spec``.
      aval: the operand's type.
      origin: the operand's name in messages.
      grid: the sizes of the grid.
      scalars, scalar_tree: the types and the structure of the operands that index maps read.
      default_space: the memory space of a spec without one.

    Raises:
      ValueError: if the spec does not fit the operand or the grid.
    """
    if not isinstance(spec, BlockSpec):
        spec = BlockSpec()
    shape = spec.block_shape
    dims = tuple([_dim(d, origin) for d in (aval.shape if shape is None else shape)])
    if len(dims) != len(aval.shape):
        raise ValueError(
            f"Block shape for {origin} (= {dims}) must have the same number of dimensions as the "
            f"array shape {aval.shape}: give {len(aval.shape)} sizes, None for one element."
        )
    if any(not isinstance(d, Squeezed) and d.block_size < 0 for d in dims):
        raise ValueError(f"Block shape for {origin} (= {dims}) has a negative size.")
    if spec.index_map is None:
        zeros = (0,) * len(dims)
        jaxpr = _traced_map(lambda *_: zeros, None, dims, origin, grid, scalars, scalar_tree)
    else:
        jaxpr = _traced_map(
            spec.index_map, spec.index_map, dims, origin, grid, scalars, scalar_tree
        )
    space = default_space if spec.memory_space is None else spec.memory_space
    inner = ir.ShapedArray(aval.shape, aval.dtype, aval.weak_type)
    return BlockMapping(dims, jaxpr, inner, space, origin, spec.pipeline_mode)


def _traced_map(
    index_map: Callable[..., Any],
    shown: Callable[..., Any] | None,
    dims: tuple[Dim, ...],
    origin: str,
    grid: Sequence[int | None],
    scalars: Sequence[ir.AbstractRef],
    scalar_tree: Any,
) -> ir.Jaxpr:
    rank = len(grid)
    title = f"Index map function {place_of(shown or index_map)} for {origin}"

    def flat(*args: Any) -> list[Any]:
        position, refs = args[:rank], args[rank:]
        prefetched = tree_unflatten(scalar_tree, refs)
        # program_id inside of an index map is the argument itself, not an operation of the kernel.
        frame = Frame(tuple(grid), lambda axis: position[axis], partial(_no_count, title))
        result = entered(frame, None, lambda: index_map(*position, *prefetched))
        leaves = list(result) if isinstance(result, list | tuple) else [result]
        if len(leaves) != len(dims):
            raise ValueError(
                f"{title} must return {len(dims)} values to match block_shape={dims}. Currently "
                f"returning {len(leaves)} values: {type_texts(leaves)}"
            )
        for i, x in enumerate(leaves):
            kind: Any = ir.get_aval(x) if _is_value(x) else None
            if kind is None or kind.shape or not ir.issubdtype(kind.dtype, np.integer):
                text = type(x).__name__ if kind is None else kind.str_short()
                raise ValueError(
                    f"{title} must return integer scalars. Output[{i}] has type {text}."
                )
        is_python = lambda x: isinstance(x, int)
        return [np.int32(x) if is_python(x) else convert_element_type(x, np.int32) for x in leaves]

    avals = [*[_index_aval] * rank, *scalars]
    try:
        jaxpr = ir.trace_to_jaxpr(flat, avals, ir.DebugInfo("index_map", place_of(index_map)))
    # Most likely a wrong number of arguments; other errors are the index map's own.
    except TypeError as error:
        if shown is None or not _is_call_error(error):
            raise
        count = f"{rank} indices of the grid"
        if scalars:
            count += f" and {scalar_tree.num_leaves} references to prefetched scalars"
        raise TypeError(f"{title} is called with {count}: {error}") from None
    if jaxpr.consts:
        raise ValueError(
            f"{title} must not capture constants: {type_texts(jaxpr.consts)}. Prefetch them: "
            "pltpu.PrefetchScalarGridSpec."
        )
    return jaxpr


def _no_count(title: str, axis: int) -> None:
    raise ValueError(
        f"{title} calls num_programs({axis}), and the size of that axis is traced. An index map "
        "gets positions and prefetched scalars only: prefetch the size."
    )


def _is_value(x: object) -> bool:
    return isinstance(x, int | float | complex | np.ndarray | np.generic) or (
        hasattr(type(x), "aval") and not ir.is_reference(x)
    )


def type_texts(values: Sequence[Any]) -> str:
    """Return the types of values in messages, for those that are not arrays their classes."""
    return f"[{', '.join(map(_type_text, values))}]"


def _type_text(x: object) -> str:
    if _is_value(x):
        return ir.get_aval(x).str_short()
    if isinstance(x, ir.ShapeDtypeStruct):
        return ir.ShapedArray(x.shape, x.dtype).str_short()
    return type(x).__name__


def _is_call_error(error: TypeError) -> bool:
    """Whether an error is that of a call with a wrong number of arguments."""
    return "positional argument" in str(error) or "keyword argument" in str(error)


def index_of(mapping: BlockMapping, positions: Sequence[Any], scalars: Sequence[Any]) -> list[Any]:
    """The index of a block: the discharged index map, applied to arrays."""
    # Prefetched scalars are references in the index map, and arrays to the interpreter.
    program = ir.discharged(mapping.index_map_jaxpr, ())
    return ir.eval_jaxpr(program.jaxpr, program.jaxpr.consts, *positions, *scalars)


def flatten_specs(name: str, specs: Any, what: str, values: Any, title: str) -> list[Any]:
    """The specs of the leaves of a tree.

    Args:
      name: the parameter: ``in_specs`` or ``out_specs``.
      specs: a pytree of specs.
      what: the name of what they describe.
      values: the tree.
      title: the call in messages.

    Raises:
      ValueError: if the trees differ.
    """
    leaves, tree = tree_flatten(values)
    if specs is no_block_spec:
        return [specs] * len(leaves)
    flat, spec_tree = tree_flatten(specs)
    if spec_tree != tree:
        raise ValueError(
            f"Pytree for `{name}` and `{what}` do not match in {title}. `{name}` has the "
            f"structure {spec_tree} and {len(flat)} specs, `{what}` has {tree} and {len(leaves)} "
            f"arrays: {type_texts(leaves)}. Give one BlockSpec for each array."
        )
    for spec in flat:
        if not isinstance(spec, BlockSpec) and spec is not no_block_spec:
            raise ValueError(
                f"Pytree for `{name}` and `{what}` do not match in {title}: {spec!r:.60} of type "
                f"{type(spec).__name__} is not a BlockSpec."
            )
    return flat


def kernel_name(params: Mapping[str, Any]) -> str:
    """The name of the kernel of a ``pallas_call`` with these parameters."""
    return params["name"] or params["jaxpr"].debug_info.func_name.split(" ")[0]
