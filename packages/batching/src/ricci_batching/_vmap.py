"""``vmap``."""

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ricci_ir as ir
import ricci_pytree as pytree

from ._mapped_axes import check_axis, mapped_dims
from ._rules import Axis, batch_sum, batched_at
from ._trace import batch_flat
from ._vmappable import (
    Mapping,
    array_axes,
    as_size,
    has_vmappable,
    is_axis,
    is_spec,
    is_vmappable,
    vmappable_classes,
)

__all__ = ["vmap"]


def vmap[**P, R](
    fun: Callable[P, R],
    in_axes: ir.PyTree = 0,
    out_axes: ir.PyTree = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
    sum_match: bool = False,
) -> Callable[P, R]:
    """Vectorize a function: apply it to every example of a batch at once.

    The function is written for one example. Each of its operations is replaced by one on the whole
    batch; there is no loop.

    Args:
      fun: a function of pytrees of arrays.
      in_axes: the batch axis of the arguments: an int for all of them, or a tuple with one entry
        for each positional argument. An entry is an int, ``None`` (the argument is the same for
        all examples), or a pytree of these that is a prefix of the argument. Keyword arguments
        are mapped over axis 0.
      out_axes: the batch axis of the results: an int, ``None`` (the result is the same for all
        examples), or a pytree of these that is a prefix of the result.
      axis_name: a name by which collectives inside ``fun`` refer to the mapped axis.
      axis_size: the size of the mapped axis; needed only if no argument is mapped.
      spmd_axis_name: the mesh axis that the mapped axis is sharded over.
      sum_match: whether a result that differs between examples is summed over them if its
        ``out_axes`` is ``None``, instead of raising an error.

    Returns:
      A function that takes arguments, and returns results, with one more axis: for an array of
      shape ``s`` that ``fun`` returns, it returns one of shape ``(size, *s)``, or with the axis at
      the position in ``out_axes``.

    Raises:
      ValueError: if the mapped axes differ in size, or ``in_axes`` does not fit the arguments.
      TypeError: if ``in_axes`` is not an int, ``None`` or a tuple, or an argument is neither an
        array nor a ``ShapeDtypeStruct``, of which ``fun`` gets the description of one example.

    Example:
      A gradient for each example of a batch. The parameters are shared, so their entry of
      ``in_axes`` is ``None``.

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def loss(w, x, y):
      ...     return (jnp.dot(w, x) - y) ** 2
      >>> w = jnp.array([1.0, -1.0])
      >>> xs = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
      >>> ys = jnp.array([0.0, 1.0, 2.0])
      >>> per_example = ricci.vmap(ricci.grad(loss), in_axes=(None, 0, 0))
      >>> per_example(w, xs, ys).tolist()
      [[-2.0, -4.0], [-12.0, -16.0], [-30.0, -36.0]]

      All pairs, by two maps:

      >>> pairs = ricci.vmap(ricci.vmap(jnp.dot, in_axes=(None, 0)), in_axes=(0, None))
      >>> pairs(xs, xs).shape
      (3, 3)

    Notes:
      ``in_axes`` describes positional arguments alone. An argument that all examples share is
      passed by position, or bound with ``functools.partial``: passed by keyword, it is mapped.

      Under a ``cond`` whose predicate differs between the examples both branches are computed, and
      a ``while_loop`` runs until the last example is done. A batch that does not fit into memory is
      processed in chunks by ``lax.map(f, xs, batch_size=...)``.

    See also:
      ``lax.map``, ``jnp.vectorize``, ``shard_map``, ``custom_vmap``.
    """
    ir.check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    is_axes = in_axes is None or isinstance(in_axes, int | tuple) or is_spec(in_axes)
    if not is_axes or isinstance(in_axes, bool):
        raise TypeError(
            "vmap: in_axes must be an int, None, or a tuple with one entry for each positional "
            f"argument, got {in_axes!r}."
        )
    plain_size = as_size(axis_size)

    @ir.looks_like(fun)
    @ir.api_boundary
    def vmap_fun(*args: P.args, **kwargs: P.kwargs) -> R:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes has {len(in_axes)} entries, but {len(args)} positional arguments "
                "were passed. Give one entry for each, or an int for all."
            )
        is_leaf = is_vmappable if vmappable_classes else None
        leaves, tree = pytree.tree_flatten((args, kwargs), is_leaf)
        # Keyword arguments are always mapped along their first axis.
        if kwargs or isinstance(in_axes, tuple):
            try:
                specs = pytree.flatten_prefix("vmap in_axes", tree, (in_axes, 0), is_axis)
            except ValueError as error:
                raise _with_names(error, fun) from None
        else:
            specs = [in_axes] * len(leaves)
        dims, size = specs, plain_size
        if is_leaf and has_vmappable(leaves):
            dims, size = array_axes(leaves, specs, size)
        names = lambda: pytree.argument_paths(args, kwargs, fun, is_leaf)
        dims, size = mapped_dims("vmap", leaves, dims, size, names)
        ir.check_distinct("vmap", leaves, names)
        if ir.ShapeDtypeStruct in map(type, leaves):
            leaves, dims = _examples_of_descriptions(leaves, dims)
        axis = Axis(size, axis_name, spmd_axis_name, _sharding_of(leaves, dims, spmd_axis_name))
        # The structure of the result is known only after ``fun`` has run, inside of ``batch_flat``.
        out_tree: Any = None  # flat_fun sets it
        targets: list[Any] = []  # flat_fun sets it
        outputs = lambda: _output_paths(out_tree)

        def mapping() -> Mapping:
            place = lambda i, x, dim, target: _place(i, x, dim, target, axis, sum_match, outputs)
            return Mapping(size, size if axis_size is None else axis_size, place)

        def flat_fun(*flat: Any) -> list[Any]:
            nonlocal out_tree, targets
            if is_leaf and has_vmappable(leaves):
                flat = mapping().elements(flat, specs)
            flat_args, flat_kwargs = pytree.tree_unflatten(tree, flat)
            try:
                result = fun(*flat_args, **flat_kwargs)  # pyright: ignore[reportCallIssue]
            except (TypeError, ValueError) as error:
                _note_vmap(error, fun)
                raise
            results, out_tree = pytree.tree_flatten(
                result, is_vmappable if vmappable_classes else None
            )
            if isinstance(out_axes, int):
                targets = [out_axes] * len(results)
            else:
                targets = pytree.flatten_prefix("vmap out_axes", out_tree, out_axes, is_axis)
            if vmappable_classes and has_vmappable(results):
                results, targets = mapping().batches(results, targets)
            else:
                for x in results:
                    ir.get_aval(x)  # raises an error unless it is an array
            return results

        values, out_dims = batch_flat(flat_fun, axis, leaves, dims)
        results = [
            _place(i, value, dim, target, axis, sum_match, outputs)
            for i, (value, dim, target) in enumerate(zip(values, out_dims, targets, strict=True))
        ]
        return pytree.tree_unflatten(out_tree, results)

    return vmap_fun


def _examples_of_descriptions(
    leaves: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[int | None]]:
    """Replace mapped descriptions of arrays by those of one example, which need no mapping.

    A description has no values, so that all that a function can read of it is its type.
    """
    examples: list[Any] = list(leaves)
    remaining = list(dims)
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if type(leaf) is ir.ShapeDtypeStruct and isinstance(dim, int):
            shape = (*leaf.shape[:dim], *leaf.shape[dim + 1 :])
            # Its sharding is that of the batch.
            examples[i] = leaf.update(shape=shape, sharding=None)
            remaining[i] = None
    return examples, remaining


def _with_names(error: ValueError, fun: Callable[..., Any]) -> ValueError:
    """Replace paths into ``(args, kwargs)`` in an error about ``in_axes`` by argument names."""
    signature = pytree.read_signature(fun)
    names = [] if signature is None else list(signature.parameters)

    def name(match: re.Match[str]) -> str:
        position = int(match[1])
        return f"argument {names[position] if position < len(names) else position}"

    text = str(error).replace("in_axes[0]", "in_axes")
    return ValueError(re.sub(r"\bvalue\[0\]\[(\d+)\]", name, text))


def _note_vmap(error: Exception, fun: Callable[..., Any]) -> None:
    """Add a note to an error about shapes: these are the shapes of one example of a vmap."""
    # The innermost ``vmap`` adds its note first; those around it do not repeat it.
    noted = any("under vmap" in note for note in getattr(error, "__notes__", ()))
    if not noted and str(error).endswith(ir.error_link("shapes")):
        name = getattr(fun, "__name__", type(fun).__name__)
        error.add_note(f"In {name}, under vmap: the shapes are those of one example.")


def _sharding_of(
    leaves: Sequence[ir.ArrayLike], dims: Sequence[int | None], spmd_name: Hashable
) -> ir.TypeSharding | None:
    """Return the sharding of the mapped axis in the types of the mapped arguments, or ``None``.

    Raises:
      ValueError: if their shardings differ, or are not along ``spmd_axis_name``.
    """
    types = [
        ir.get_aval(x).type_sharding for x, d in zip(leaves, dims, strict=True) if d is not None
    ]
    if not any(types):  # the usual case
        return None
    meshes = {t.mesh for t in types if t is not None and t.is_sharded}
    if not meshes:
        return None
    axis_parts = dict.fromkeys(
        () if t is None else t.parts[d]
        for t, d in zip(types, (d for d in dims if d is not None), strict=True)
    )
    if len(axis_parts) > 1:
        shown = " and ".join(", ".join(map(str, part)) or "None" for part in axis_parts)
        raise ValueError(
            "vmap: the mapped away dimension of all arguments should be sharded the same, but it "
            f"is sharded over {shown}. Move an argument with jax.sharding.reshard, or map one "
            "dimension less."
        )
    (part,) = axis_parts
    if not part:
        return None
    names = spmd_name if isinstance(spmd_name, tuple) else (spmd_name,)
    if spmd_name is not None and names != part:
        raise ValueError(
            f"vmap: spmd_axis_name={spmd_name!r}, but in the types of the arguments the mapped "
            f"dimension is sharded over {', '.join(map(str, part))} already. Leave out "
            "spmd_axis_name."
        )
    return ir.make_type_sharding(meshes.pop(), (part,))


def _output_paths(tree: pytree.PyTreeDef) -> list[str]:
    """Return the name of each leaf of the result, for messages."""
    leaves = pytree.tree_flatten_with_path(pytree.tree_unflatten(tree, range(tree.num_leaves)))[0]
    return [f"output{pytree.keystr(path)}" for path, _ in leaves]


def _place(
    i: int,
    value: ir.ArrayLike,
    dim: int | None,
    target: Any,
    axis: Axis,
    sum_match: bool,
    outputs: Callable[[], list[str]],
) -> ir.ArrayLike:
    """Move the batch dimension of an array in result ``i`` to ``target``."""
    if isinstance(target, ir.MappingSpec) and ir.get_aval(value).is_high:
        if dim != target:
            raise ValueError(
                f"vmap: out_axes has {target!r} for {outputs()[i]}, which is mapped by {dim!r}."
            )
        return ir.with_methods(value)
    if target is None:
        if dim is None:
            return value
        if sum_match:
            return batch_sum.call(value, dim)
        raise ValueError(
            f"vmap has out_axes=None for {outputs()[i]}, but it depends on the mapped arguments: "
            f"its batch dimension is {dim}. Give the axis of the batch in out_axes, or pass "
            "sum_match=True for the sum over the batch."
        )
    if type(target) is not int and is_spec(target):
        raise ValueError(
            f"vmap: out_axes has {target!r} for an array. That is for values of a registered "
            "class: pass an axis, or return such a value."
        )
    check_axis("vmap: out_axes", target)
    assert isinstance(target, int)
    ndim = len(ir.get_aval(value).shape) + (dim is None)
    if not -ndim <= target < ndim:
        raise ValueError(
            f"vmap: out_axes={target} is out of bounds for {outputs()[i]}, of dimension {ndim} "
            "with the batch."
        )
    return ir.as_array(batched_at(value, dim, axis, target % ndim))
