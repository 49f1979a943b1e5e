"""Collectives that reduce values over named axes: sums, means, maxima and minima.

An enclosing ``pmap``, ``shard_map`` or ``vmap`` binds the names: to its devices or its batch.
"""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import Zero, not_linear
from ricci_ir import Array, ArrayLike, Primitive, PyTree
from ricci_lax.authoring import anything, scalar_like
from ricci_pytree import tree_map

from ._all_reduce import all_reduce_rule, axes_of, reduce_batch, reduced_type
from ._casts import total, varied
from ._members import shape_of
from ._named_axes import AxisNameLike, GroupsLike, array_axis, as_groups, axis_names, outside
from ._varying import extremum

__all__ = ["pmax", "pmax_p", "pmean", "pmin", "pmin_p", "psum"]


def _extremum_jvp(primitive: Primitive) -> Callable[..., tuple[Any, Any]]:
    """Return the jvp rule: the mean tangent of the members that have the extreme value."""

    def jvp(
        primals: Sequence[ArrayLike], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        result = primitive.bind(x, **params)
        if type(tangent) is Zero:
            return result, Zero.from_primal(result)
        aval: Any = ir.get_aval(tangent)
        # Among several members that hold the extreme value each counts alike, as in a reduction
        # over an axis.
        chosen = lax.convert_element_type(lax.eq(x, result), aval.dtype)
        count = total(chosen, **params)
        return result, lax.div(total(lax.mul(tangent, chosen), **params), count)

    return jvp


def _extremum(name: str, op: str, reduce: Callable[..., Array]) -> Primitive:
    return ir.define(
        name,
        abstract_eval=reduced_type(name, anything),
        jvp=ir.derived(_extremum_jvp),
        transpose=not_linear,
        batch=reduce_batch(lambda x, d, size: x if d is None else reduce(x, (d,))),
        axis_names=axes_of,
        host=outside,
        lower=all_reduce_rule(op),
        sharding=extremum,
    )


pmax_p: Primitive = _extremum("pmax", "stablehlo.maximum", lax.reduce_max)
pmin_p: Primitive = _extremum("pmin", "stablehlo.minimum", lax.reduce_min)


class _Reduced:
    """Axes that a call reduces over.

    Attributes:
      names: the named axes.
      positions: axes of the arrays themselves, given by integers.
      groups: the groups of members, or ``None``.
    """

    __slots__ = ("groups", "names", "positions", "what")

    def __init__(self, what: str, axis_name: AxisNameLike, groups: GroupsLike):
        axes = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
        self.what = what
        self.positions = tuple(name for name in axes if isinstance(name, int))
        self.names = axis_names(what, [name for name in axes if not isinstance(name, int)])
        if groups is not None and self.positions:
            raise ValueError(
                f"{what}: axis_index_groups are groups of members of named axes; leave out the "
                f"axes of arrays {self.positions}."
            )
        self.groups = as_groups(what, self.names, groups, equal=False)

    def apply(
        self, collective: Callable[..., Array], reduce: Callable[..., Array], x: ArrayLike
    ) -> ArrayLike:
        """Reduce one array: by ``reduce`` over dimensions, by ``collective`` over named axes."""
        if self.positions:
            shape = shape_of(x)
            x = reduce(x, [array_axis(self.what, i, len(shape), shape) for i in self.positions])
        if not self.names:
            return x
        return collective(x, axes=self.names, axis_index_groups=self.groups)

    def known_size(self) -> int | None:
        """Return the number of members in each group, if all groups have the same."""
        if self.groups is None:
            return ir.axis_size(self.names)
        sizes = {len(group) for group in self.groups}
        return sizes.pop() if len(sizes) == 1 else None


@ir.api_boundary
def psum(x: PyTree, axis_name: AxisNameLike, *, axis_index_groups: GroupsLike = None) -> PyTree:
    """Sum ``x`` over a named axis.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names. An integer is an axis of the arrays.
      axis_index_groups: sums over each of these groups of members on its own, given by their
        positions along the axis; every position is in one group.

    Returns:
      A pytree like ``x``, the same on all devices. The sum of a Python number is computed at trace
      time: ``psum(1, axis_name)`` is the size of the axis.

    Raises:
      NameError: if no enclosing ``pmap``, ``shard_map`` or ``vmap`` binds the axis name.
      ValueError: if an axis is named twice, or the groups do not cover the axis.

    Example:
      The share of each member in the total:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> share = lambda x: x / lax.psum(x, "batch")
      >>> ricci.vmap(share, axis_name="batch")(jnp.array([1.0, 1.0, 2.0])).tolist()
      [0.25, 0.25, 0.5]

      Sums in groups:

      >>> pairs = lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]])
      >>> ricci.vmap(pairs, axis_name="i")(jnp.array([1, 2, 3, 4])).tolist()
      [3, 3, 7, 7]

    See also:
      ``pmean``, ``psum_scatter``, ``all_gather``, ``shard_map``.
    """
    return tree_map(_summed(_Reduced("psum", axis_name, axis_index_groups)), x)


def _summed(over: _Reduced) -> Callable[[ArrayLike], ArrayLike]:
    size = over.known_size()

    def one(leaf: ArrayLike) -> ArrayLike:
        if _is_constant(leaf) and not over.positions and size is not None:
            # All members have the same number, so the sum is known without communication.
            return leaf * leaf.dtype.type(size) if isinstance(leaf, np.generic) else leaf * size
        return over.apply(total, lax.reduce_sum, _as_number(leaf))

    return one


def _is_constant(x: object) -> bool:
    if isinstance(x, np.generic):
        return x.dtype.kind in "iufc"
    return isinstance(x, int | float | complex) and not isinstance(x, bool)


def _as_number(x: ArrayLike) -> ArrayLike:
    aval = ir.get_aval(x)
    return lax.convert_element_type(x, np.dtype("int32")) if aval.dtype == np.bool_ else x


@ir.api_boundary
def pmean(x: PyTree, axis_name: AxisNameLike, *, axis_index_groups: GroupsLike = None) -> PyTree:
    """Average ``x`` over a named axis; ``psum`` describes the arguments.

    Args:
      x, axis_name, axis_index_groups: as for ``psum``.

    Returns:
      A pytree like ``x``, the same on all devices.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> center = lambda x: x - lax.pmean(x, "i")
      >>> ricci.vmap(center, axis_name="i")(jnp.array([1.0, 2.0, 6.0])).tolist()
      [-2.0, -1.0, 3.0]
    """
    over = _Reduced("pmean", axis_name, axis_index_groups)
    add = _summed(over)
    members = over.known_size()
    if members is None:  # it differs between the groups
        members = total(ir.as_array(np.int32(1)), axes=over.names, axis_index_groups=over.groups)

    def one(leaf: ArrayLike) -> ArrayLike:
        shape = shape_of(leaf) if over.positions else ()
        count = prod([shape[i] for i in over.positions])
        value = add(leaf)
        if isinstance(value, int | float | complex) and isinstance(members, int):
            return value / members
        aval = ir.get_aval(value)
        # The mean of integers is a float, as in NumPy.
        if aval.dtype.kind in "iub":
            kind = ir.get_aval(1.0)
            value = lax.convert_element_type_p.bind(
                value, new_dtype=kind.dtype, weak_type=aval.weak_type, sharding=None
            )
        if isinstance(members, int):
            return lax.div(value, scalar_like(value, members * count))
        return lax.div(value, lax.convert_element_type(members, ir.get_aval(value).dtype))

    return tree_map(one, x)


def _extreme(primitive: Primitive) -> Callable[..., Array]:
    return lambda x, *, axes, **params: primitive.bind(varied(x, axes), axes=axes, **params)


@ir.api_boundary
def pmax(x: PyTree, axis_name: AxisNameLike, *, axis_index_groups: GroupsLike = None) -> PyTree:
    """Maximize ``x`` over a named axis; ``psum`` describes the arguments.

    Args:
      x, axis_name, axis_index_groups: as for ``psum``.

    Returns:
      A pytree like ``x``, the same on all devices.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> ricci.vmap(lambda x: x / lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 4.0])).tolist()
      [0.25, 1.0]
    """
    over = _Reduced("pmax", axis_name, axis_index_groups)
    return tree_map(lambda leaf: over.apply(_extreme(pmax_p), lax.reduce_max, leaf), x)


@ir.api_boundary
def pmin(x: PyTree, axis_name: AxisNameLike, *, axis_index_groups: GroupsLike = None) -> PyTree:
    """Minimize ``x`` over a named axis; ``psum`` describes the arguments.

    Args:
      x, axis_name, axis_index_groups: as for ``psum``.

    Returns:
      A pytree like ``x``, the same on all devices.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> ricci.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(jnp.array([1.0, 4.0])).tolist()
      [0.0, 3.0]
    """
    over = _Reduced("pmin", axis_name, axis_index_groups)
    return tree_map(lambda leaf: over.apply(_extreme(pmin_p), lax.reduce_min, leaf), x)


_REDUCTIONS = {"sum": psum, "max": pmax, "min": pmin}


def _reduce_over(kind: str, x: ArrayLike, names: tuple[Hashable, ...]) -> PyTree:
    return _REDUCTIONS[kind](x, names)


ir.axis_reduction.provide(_reduce_over)
