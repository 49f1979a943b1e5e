"""``with_layout_constraint``: constrain the order in which a value's elements lie in memory."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import Axis
from ricci_pytree import flatten_axes, keystr, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Value
from ricci_xla import Format, Layout, Sharding, device_put, physical_layout

__all__ = ["layout_constraint_p", "with_layout_constraint"]


def _in_order(x: ir.Array, layout: Layout) -> ir.Array:
    """Return an array in a layout, with the same sharding."""
    sharding: Sharding = x.sharding
    return device_put(x, Format(layout, sharding))


def _batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int], *, layout: Layout
) -> tuple[ir.Array, int]:
    """The batching rule: the batch dimension varies slowest."""
    (x,), (dim,) = args, dims
    order = [d + (d >= dim) for d in layout.major_to_minor]
    batched = Layout((dim, *order), layout.tiling, layout.sub_byte_element_size_in_bits)
    return layout_constraint_p.bind(x, layout=batched), dim


def _lower(ctx: Lowering, x: Value, *, layout: Layout) -> Value:
    # XLA lists dimensions from the fastest on.
    order = tuple(reversed(physical_layout(layout, x.aval).major_to_minor))
    (result,) = ctx.custom_call(
        "LayoutConstraint",
        [x],
        [x.aval],
        api_version=1,
        operand_layouts=[order],
        result_layouts=[order],
    )
    return result


layout_constraint_p: ir.Primitive = ir.define(
    "layout_constraint",
    abstract_eval=lambda x, **params: x,
    jvp=linear,
    transpose=lambda ct, x, **params: [layout_constraint_p.bind(ct, **params)],
    batch=_batch,
    lower=_lower,
    eager=_in_order,
    reference=lambda x, *, layout: x,
    layout=lambda *, layout: layout,
    sharding=ir.by_element,
)


@ir.api_boundary
def with_layout_constraint(x: ir.PyTree, layouts: ir.PyTree) -> ir.PyTree:
    """Ask for the order in which the elements of arrays lie in memory.

    Inside ``jit``, the compiler honours it, and results that come from here have the layout.

    Args:
      x: a pytree of arrays.
      layouts: a ``Layout``, or a pytree of them that is a prefix of ``x``.

    Returns:
      The same arrays in these layouts.

    Raises:
      ValueError: if a leaf of ``layouts`` is not a ``Layout``, or does not fit an array, or if a
        value outside of ``jit`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.layout import Layout, with_layout_constraint
      >>> x = with_layout_constraint(jnp.ones((2, 3)), Layout((1, 0)))
      >>> x.format.layout.major_to_minor  # column by column
      (1, 0)

    Source: XLA's custom call ``LayoutConstraint``.
    """
    pairs, tree = tree_flatten_with_path(x)
    results = []
    for (path, leaf), layout in zip(
        pairs, flatten_axes("with_layout_constraint: layouts", tree, layouts), strict=True
    ):
        what = f"with_layout_constraint: x{keystr(path)}"
        if not isinstance(layout, Layout):
            raise ValueError(
                f"{what}: expected a Layout, got {layout!r} of type {type(layout).__name__}."
            )
        aval: Any = ir.get_aval(leaf)
        try:
            layout.check_compatible_aval(aval.shape)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        if (
            ir.context.trace is ir.eval_trace
            and not isinstance(leaf, ir.Tracer)
            and not hasattr(leaf, "sharding")
        ):
            raise ValueError(
                f"{what} is a {type(leaf).__name__}, which is on no device. Make it an array with "
                "device_put."
            )
        results.append(layout_constraint_p.bind(leaf, layout=layout))
    return tree_unflatten(tree, results)
