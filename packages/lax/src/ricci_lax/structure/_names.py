"""Names of values, and values for the second pass of a checkpoint: identity operations."""

from collections.abc import Sequence

import ricci_ir as ir
from ricci_autodiff import Zero, linear
from ricci_batching import batched_at, elementwise
from ricci_pytree import tree_map

__all__ = ["checkpoint_name", "name_p"]


class KeptName(str):
    """The name of a value that is stored under any policy; set by ``defremat``."""

    __slots__ = ()


class CrossingName(str):
    """The name of a value that is computed before a checkpoint and read in it."""

    __slots__ = ()


name_p: ir.Primitive = ir.define(
    "name",
    sharding=ir.by_element,
    abstract_eval=lambda x, *, name: x,
    jvp=linear,
    transpose=lambda ct, x, *, name: [ct],
    batch=elementwise,
    lower=lambda ctx, x, *, name: x,
)


def checkpoint_name(x: ir.PyTree, name: str) -> ir.PyTree:
    """Name values, so that checkpoint policies can refer to them.

    Args:
      x: a pytree of arrays.
      name: the name.

    Returns:
      The same values.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.ad_checkpoint import checkpoint_name, print_saved_residuals
      >>> def f(x):
      ...     return jnp.sin(checkpoint_name(jnp.sin(x), "inner"))
      >>> policy = ricci.checkpoint_policies.save_only_these_names("inner")
      >>> print_saved_residuals(ricci.checkpoint(f, policy=policy), 1.0)
      f32[] from the argument x
      f32[] named 'inner' from ...
    """
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


def with_crossings(jaxpr: ir.Jaxpr, crossing: Sequence[bool]) -> ir.Jaxpr:
    """The jaxpr of a checkpoint, in which some inputs have a ``CrossingName``.

    Args:
      jaxpr: the jaxpr.
      crossing: the inputs, its constants first.
    """
    inputs = jaxpr.all_invars
    new = [ir.Var(v.aval) if flag else v for v, flag in zip(inputs, crossing, strict=True)]
    eqns = [
        ir.JaxprEqn([x], [v], name_p, {"name": CrossingName("crossing")})
        for v, x in zip(inputs, new, strict=True)
        if v is not x
    ]
    count = len(jaxpr.constvars)
    return jaxpr.replace(constvars=new[:count], invars=new[count:], eqns=[*eqns, *jaxpr.eqns])


def _substitute_jvp(primals, tangents):
    tangent, other = tangents
    return substitute_p.bind(*primals), other if type(tangent) is Zero else tangent


def _substitute_transpose(ct, *args):
    return [None if type(ct) is Zero else ct, None]


def _substitute_batch(axis, args, dims):
    (value, substitute), (dim, other) = args, dims
    if dim is None:  # the same for all examples, and so is what equals it
        return value, None
    return substitute_p.bind(value, batched_at(substitute, other, axis, dim)), dim


# The first operand. The second, which equals it, replaces it where a checkpoint recomputes it, and
# has its tangent where the first is not differentiated.
substitute_p: ir.Primitive = ir.define(
    "substitute",
    sharding=ir.by_element,
    abstract_eval=lambda value, _: value,
    jvp=_substitute_jvp,
    transpose=_substitute_transpose,
    batch=_substitute_batch,
    lower=lambda ctx, value, _: value,
)
