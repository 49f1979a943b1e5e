"""The convolution of sparse signals."""

from collections.abc import Sequence
from typing import Any

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, DTypeLike, composite

from ._array import BCOO
from ._dimensions import bcoo_update_layout
from ._layout import is_inside

__all__ = ["bcoo_conv_general_dilated"]


def bcoo_conv_general_dilated(
    lhs: BCOO | Array,
    rhs: BCOO | Array,
    *,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> BCOO:
    """The convolution of one signal with one filter, both of one dimension.

    Args:
      lhs: the signal, of shape ``(1, 1, n)`` in the order of ``dimension_numbers``.
      rhs: the filter, of shape ``(1, 1, m)``.
      window_strides, lhs_dilation, rhs_dilation: must be 1.
      padding: the numbers of zeros before and after the signal, or ``"SAME"`` or ``"VALID"``.
      dimension_numbers: which dimension is which: see ``lax.conv_general_dilated``.
      feature_group_count, batch_group_count: must be 1.
      precision, out_sharding: not used.
      preferred_element_type: the dtype of the result.

    Returns:
      The convolution, with as many stored elements as there are pairs of elements.

    Raises:
      NotImplementedError: for strides, dilations, groups or several batches and features.
      ValueError: if the signal has not exactly one spatial dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> signal = sparse.BCOO.fromdense(jnp.array([[[1.0, 0.0, 2.0]]]))
      >>> kernel = sparse.BCOO.fromdense(jnp.array([[[1.0, 1.0]]]))
      >>> result = sparse.bcoo_conv_general_dilated(
      ...     signal, kernel, window_strides=(1,), padding="VALID"
      ... )
      >>> result.todense().tolist()
      [[[1.0, 2.0]]]
    """
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if lhs.ndim != 3 or rhs.ndim != 3:
        raise ValueError(
            "bcoo_conv_general_dilated: signals have one spatial dimension; got shapes "
            f"{lhs.shape} and {rhs.shape}."
        )
    for name, value in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
        ("feature_group_count", [feature_group_count]),
        ("batch_group_count", [batch_group_count]),
    ):
        if value is not None and any(n != 1 for n in value):
            raise NotImplementedError(f"bcoo_conv_general_dilated: {name} must be 1, got {value}.")
    lhs, rhs = _in_order(lhs, numbers.lhs_spec), _in_order(rhs, numbers.rhs_spec)
    lhs, rhs = (bcoo_update_layout(x, n_batch=2, n_dense=0) for x in (lhs, rhs))
    if lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1):
        raise NotImplementedError(
            "bcoo_conv_general_dilated: one signal with one feature, and one filter; got shapes "
            f"{lhs.shape} and {rhs.shape}."
        )
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], window_strides, padding)
    ((before, after),) = padding
    size = lhs.shape[2] + before + after - rhs.shape[2] + 1
    if size < 0:
        raise ValueError(
            f"bcoo_conv_general_dilated: the filter of size {rhs.shape[2]} is larger than the "
            f"signal of size {lhs.shape[2]} with its padding."
        )
    dtype = preferred_element_type
    if dtype is None:
        dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    data, indices = _convolve(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        n=lhs.shape[2],
        m=rhs.shape[2],
        before=int(before),
        size=int(size),
        dtype=jnp.dtype(dtype),
    )
    out = BCOO((data, indices), shape=(1, 1, size))
    order = numbers.out_spec
    return out.transpose([order.index(d) for d in range(3)]) if order != (0, 1, 2) else out


def _in_order(x: BCOO | Array, order: Sequence[int]) -> BCOO:
    """A signal with its spatial dimension last; a dense signal stores every element."""
    if isinstance(x, BCOO):
        return x.transpose(order)
    dense = jnp.transpose(jnp.asarray(x), order)
    at = jnp.arange(dense.shape[-1], dtype=jnp.int32)[:, None]
    return BCOO((dense, jnp.broadcast_to(at, (*dense.shape, 1))), shape=dense.shape)


@composite("bcoo_conv_general_dilated")
def _convolve(
    lhs_data: Array,
    lhs_indices: Array,
    rhs_data: Array,
    rhs_indices: Array,
    *,
    n: int,
    m: int,
    before: int,
    size: int,
    dtype: Any,
) -> tuple[Array, Array]:
    # Each pair of stored elements adds one term, at the difference of their indices; pairs outside
    # of the result get the index ``size``, which is padding.
    x, y = lhs_data[0, 0].astype(dtype), rhs_data[0, 0].astype(dtype)
    at_x, at_y = lhs_indices[0, 0], rhs_indices[0, 0]
    at = at_x[:, None, 0] - at_y[None, :, 0] + before
    stored = is_inside(at_x, (n,))[:, None] & is_inside(at_y, (m,))[None]
    in_bounds = stored & (at >= 0) & (at < size)
    data = jnp.where(stored, x[:, None] * y[None], jnp.zeros((), dtype))
    at = jnp.where(in_bounds, at, size)
    return data.reshape(1, 1, -1), at.reshape(1, 1, -1, 1)
