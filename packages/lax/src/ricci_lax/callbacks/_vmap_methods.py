"""The ``vmap_method`` of callbacks: sequential, expand_dims or broadcast_all."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_batching import Axis, batched_at
from ricci_lax.control_flow._scan import scan_p
from ricci_lax.shapes import slice_in_dim, stack
from ricci_lax.structure import broadcast_in_dim, squeeze
from ricci_lax.structure._operand_types import shape_of

vmap_methods = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


def check_vmap_method(what: str, method: object) -> None:
    """Check the argument ``vmap_method`` of a function.

    Raises:
      ValueError: if it is neither ``None`` nor one of ``vmap_methods``.
    """
    if method not in (None, *vmap_methods):
        raise ValueError(
            f"{what}: vmap_method={method!r} is none of {', '.join(map(repr, vmap_methods))}, None."
        )


def by_vmap_method(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    method: str,
    result_avals: Sequence[Any],
    apply: Callable[..., list[Any]],
) -> tuple[list[Any], Sequence[int | None]]:
    """The result of a batching rule.

    Args:
      axis, args, dims: the rule's arguments.
      method: one of ``vmap_methods``.
      result_avals: the types of the results for one example.
      apply: ``apply(result_avals, has_batch, *operands)``, which makes the call; ``has_batch`` is
        empty for one example, and else has a flag for each operand: whether its first dimension is
        the batch's, as that of all results then is.
    """
    if method.startswith("sequential"):
        one = lambda *xs: apply(result_avals, (), *xs)
        return sequentially(axis, args, dims, one, method.endswith("unrolled"))
    # Tokens have no batch axis: all examples share one.
    has_batch = [
        d is not None
        or (method != "legacy_vectorized" and isinstance(ir.get_aval(x), ir.ShapedArray))
        for x, d in zip(args, dims, strict=True)
    ]
    operands = []
    for x, d in zip(args, dims, strict=True):
        if d is not None:
            x = batched_at(x, d, axis, 0)
        elif method != "legacy_vectorized" and isinstance(ir.get_aval(x), ir.ShapedArray):
            shape = shape_of(x)
            rows = 1 if method == "expand_dims" else axis.size
            x = broadcast_in_dim(x, (rows, *shape), tuple(range(1, len(shape) + 1)))
        operands.append(x)
    arrays = [isinstance(a, ir.ShapedArray) for a in result_avals]
    avals = tuple(
        a.insert_dimension(0, axis.size) if is_array else a
        for a, is_array in zip(result_avals, arrays, strict=True)
    )
    outs = apply(avals, has_batch, *operands)
    return outs, [0 if is_array else None for is_array in arrays]


def unrolled(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], apply: Callable[..., list[Any]]
) -> list[list[Any]]:
    """Apply a function to each example of a batch in turn; returns the results of each."""
    every = []
    for i in range(axis.size):
        example = [
            x if d is None else squeeze(slice_in_dim(x, i, i + 1, axis=d), (d,))
            for x, d in zip(args, dims, strict=True)
        ]
        every.append(apply(*example))
    return every


def sequentially(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], apply: Callable, unroll: bool
) -> tuple[list[Any], list[int]]:
    """The result of a batching rule that applies a function in a loop over the examples."""
    # Eagerly the function is called for one example after another, and no loop is compiled.
    if ir.context.trace is ir.eval_trace:
        every = unrolled(axis, args, dims, apply)
        results = [stack(rows) for rows in zip(*every, strict=True)]
        return results, [0] * len(results)
    fixed = [x for x, d in zip(args, dims, strict=True) if d is None]
    xs = [batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True) if d is not None]

    def body(*flat: ir.Array) -> list[Any]:
        consts, rows = iter(flat[: len(fixed)]), iter(flat[len(fixed) :])
        return apply(*(next(consts) if d is None else next(rows) for d in dims))

    avals: list[Any] = [ir.get_aval(x) for x in xs]
    slices = [ir.ShapedArray(a.shape[1:], a.dtype, a.weak_type) for a in avals]
    jaxpr = ir.trace_to_jaxpr(body, [*map(ir.get_aval, fixed), *slices])
    outs = scan_p.bind(
        *fixed,
        *xs,
        jaxpr=jaxpr,
        length=axis.size,
        reverse=False,
        unroll=axis.size if unroll else 1,
        num_consts=len(fixed),
        num_carry=0,
        _split_transpose=False,
    )
    return outs, [0] * len(outs)
