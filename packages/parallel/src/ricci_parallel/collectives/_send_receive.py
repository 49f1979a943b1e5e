"""``psend`` and ``precv``: point-to-point transfers, as two operations ordered by a token."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import Axis
from ricci_pytree import tree_map
from ricci_stablehlo import Lowering, Value

from ._casts import varied
from ._lowering import channel, device_pairs
from ._named_axes import AxisNameLike, AxisNames, axis_names, named, outside
from ._permutation import Pairs, as_pairs
from ._varying import made_varying, sends

__all__ = ["precv", "precv_p", "psend", "psend_p"]

_no_derivative = ir.unsupported("sent and received values have no derivative; use ppermute")


def _attributes(ctx: Lowering, name: str, axis_name: AxisNames, perm: Pairs) -> str:
    if ctx.platform not in ("cuda", "rocm"):
        raise NotImplementedError(
            f"{name} is only implemented on GPUs, not for {ctx.platform!r}. Use ppermute."
        )
    return f"{channel}, {device_pairs(ctx, axis_name, perm)}"


def _send_lower(ctx: Lowering, x: Value, *, axis_name: AxisNames, perm: Pairs) -> Value:
    attributes = _attributes(ctx, "psend", axis_name, perm)
    token = ctx.generic("stablehlo.create_token", [], [ir.abstract_token])[0]
    return ctx.generic("stablehlo.send", [x, token], [ir.abstract_token], attributes)[0]


def _send_batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], *,
    axis_name: AxisNames, perm: Pairs,
) -> tuple[Any, None]:  # fmt: skip
    if axis.name in axis_name:
        raise NotImplementedError(
            "psend sends values between devices; under vmap over the axis, use ppermute."
        )
    return psend_p.bind(*args, axis_name=axis_name, perm=perm), None


psend_p: ir.Primitive = ir.define(
    "psend",
    abstract_eval=lambda aval, **params: ir.abstract_token,
    jvp=_no_derivative,
    transpose=not_linear,
    batch=_send_batch,
    axis_names=named,
    host=outside,
    lower=_send_lower,
    sharding=sends,
)


def _receive_lower(
    ctx: Lowering, token: Value, *, axis_name: AxisNames, out_shape: ir.ShapedArray, perm: Pairs
) -> Value:
    attributes = _attributes(ctx, "precv", axis_name, perm)
    return ctx.generic("stablehlo.recv", [token], [ctx.out, ir.abstract_token], attributes)[0]


precv_p: ir.Primitive = ir.define(
    "precv",
    abstract_eval=lambda token, *, out_shape, **params: out_shape,
    memo=False,  # the type depends on the mesh in force
    jvp=_no_derivative,
    transpose=not_linear,
    batch=ir.unsupported("the values of a batch cannot be received one by one; use ppermute"),
    axis_names=named,
    host=outside,
    lower=_receive_lower,
    sharding=made_varying,
)


def _warn_deprecated(name: str) -> None:
    ir.warn_user(
        f"lax.{name} is deprecated, and gone from later versions of JAX: use lax.ppermute.",
        DeprecationWarning,
    )


@ir.api_boundary
def psend(x: ir.PyTree, axis_name: AxisNameLike, perm: Sequence[tuple[int, int]]) -> ir.PyTree:
    """Send the values of members to other members, which receive them with ``precv``.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      perm: pairs (source, destination) of positions along the axis.

    Returns:
      A token for each array; ``precv`` waits for it.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if a member is a source twice, or a destination twice, or does not exist.
      NotImplementedError: when a program that uses it is compiled for another device than a GPU.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> send = lambda x: lax.precv(lax.psend(x, "i", [(0, 1)]), x, "i", [(0, 1)])
      >>> len(ricci.make_jaxpr(send, axis_env=[("i", 2)])(np.ones(3)).eqns)
      2

    Source: StableHLO ``send``.
    """
    _warn_deprecated("psend")
    names = axis_names("psend", axis_name)
    pairs = as_pairs("psend", names, perm)
    return tree_map(lambda leaf: psend_p.bind(varied(leaf, names), axis_name=names, perm=pairs), x)


@ir.api_boundary
def precv(
    token: object, out_shape: Any, axis_name: AxisNameLike, perm: Sequence[tuple[int, int]]
) -> ir.Array:
    """Receive the values that members send with ``psend``.

    Args:
      token: the token that ``psend`` or ``create_token`` returned.
      out_shape: the type of the received values: an object with ``shape`` and ``dtype``.
      axis_name: the name of the axis, or a tuple of names.
      perm: pairs (source, destination) of positions along the axis.

    Returns:
      An array of that type: the values sent to this member, or zeros.

    Raises:
      NameError: if no axis of that name is in scope.
      ValueError: if a member is a source twice, or a destination twice, or does not exist.
      NotImplementedError: when a program that uses it is compiled for another device than a GPU.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def shift(x):
      ...     token = lax.psend(x, "i", [(0, 1)])
      ...     return lax.precv(token, x, "i", [(0, 1)])
      >>> jaxpr = ricci.make_jaxpr(shift, axis_env=[("i", 2)])(jnp.ones(3))
      >>> [eqn.primitive.name for eqn in jaxpr.eqns]
      ['psend', 'precv']

    Source: StableHLO ``recv``.
    """
    _warn_deprecated("precv")
    names = axis_names("precv", axis_name)
    pairs = as_pairs("precv", names, perm)
    aval = ir.ShapedArray(tuple(out_shape.shape), out_shape.dtype)
    return precv_p.bind(token, axis_name=names, out_shape=aval, perm=pairs)
