"""Batching rules in the forms in which libraries written for JAX give them.

Three mappings show one table, ``batch_rules``: what is set in one form can be read in each.

    primitive_batchers        rule(args, dims, **params)
    axis_primitive_batchers   rule(axis_size, axis_name, trace_type, args, dims, **params)
    fancy_primitive_batchers  rule(axis, args, dims, **params)
"""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from ricci_ir import Primitive, is_under

from ._rules import Axis, array_ops, batch_rules, batched_at, elementwise, shape_of
from ._vmap import BatchTrace

Rule = Callable[..., Any]


class Batchers(MutableMapping[Primitive, Rule]):
    """The batching rules in one of the forms.

    Args:
      adapt: makes a rule of Ricci's, ``rule(axis, args, dims, **params)``, of one of this form.
      expose: makes one of this form of a rule of Ricci's.
    """

    __slots__ = ("_adapt", "_expose", "_given")

    def __init__(self, adapt: Callable[[Rule], Rule], expose: Callable[[Rule], Rule]):
        self._adapt = adapt
        self._expose = expose
        self._given: dict[Primitive, tuple[Rule, Rule]] = {}

    def __getitem__(self, primitive: Primitive) -> Rule:
        if primitive not in batch_rules:
            raise KeyError(primitive)
        rule = batch_rules[primitive]
        given, adapted = self._given.get(primitive, (None, None))
        return given if given is not None and adapted is rule else self._expose(rule)

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        adapted = self._adapt(rule)
        self._given[primitive] = rule, adapted
        batch_rules[primitive] = adapted

    def __delitem__(self, primitive: Primitive) -> None:
        self._given.pop(primitive, None)
        del batch_rules[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(batch_rules)

    def __len__(self) -> int:
        return len(batch_rules)


def _size(args: Any, dims: Any) -> int:
    return next(shape_of(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)


primitive_batchers = Batchers(
    lambda rule: lambda axis, args, dims, **params: rule(tuple(args), tuple(dims), **params),
    lambda rule: lambda args, dims, **params: rule(Axis(_size(args, dims)), args, dims, **params),
)
axis_primitive_batchers = Batchers(
    lambda rule: (
        lambda axis, args, dims, **params: rule(
            axis.size, axis.name, None, tuple(args), tuple(dims), **params
        )
    ),
    lambda rule: (
        lambda size, name, trace_type, args, dims, **params: rule(
            Axis(size, name), args, dims, **params
        )
    ),
)
fancy_primitive_batchers = Batchers(
    lambda rule: lambda axis, args, dims, **params: rule(axis, tuple(args), tuple(dims), **params),
    lambda rule: rule,
)


def defvectorized(prim: Primitive) -> None:
    """Say that a primitive works on each element by itself, its operands of one shape."""
    batch_rules.define(prim, elementwise)


def defreducer(prim: Primitive) -> None:
    """Say that a primitive of one operand reduces the dimensions in its parameter ``axes``."""

    def batch(axis, args, dims, *, axes, **params):
        (x,), (dim,) = args, dims
        shifted = tuple(a + (a >= dim) for a in axes)
        result = prim.bind(x, axes=shifted, **params)
        return result, dim - sum(a < dim for a in axes)

    batch_rules[prim] = batch


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """``x`` with its batch dimension in front, repeated ``size`` times if it has none."""
    return batched_at(x, bdim, size, 0)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """``x`` repeated ``sz`` times along a new dimension."""
    return batched_at(x, None, sz, axis)


def matchaxis(size: int, source: int | None, target: int | None, x: Any, sum_match: bool = False):
    """``x`` with its batch dimension at another place.

    Raises:
      ValueError: if it has a batch dimension and must not have one, unless ``sum_match``: then
        what it holds is summed over.
    """
    if target is not None:
        return batched_at(x, source, size, target)
    if source is None:
        return x
    if sum_match:
        return array_ops.sum_over(x, source)
    raise ValueError(f"a value with a batch dimension, {source}, must not have one here")


# Classes of values that are no arrays: for each the class of what stands for an axis, of an axis's
# size, and how they are mapped over.
vmappables: dict[type, tuple[Any, ...]] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Say how values of a class that are no arrays are mapped over.

    It is written down, but ``vmap`` does not map over such values yet: given one, it raises
    ``TypeError``, as for anything that is no array.

    Raises:
      ValueError: if the class is registered already.
    """
    if data_type in vmappables:
        raise ValueError(f"{data_type.__name__} is registered already")
    vmappables[data_type] = spec_type, axis_size_type, to_elt, from_elt, make_iota


def unregister_vmappable(data_type: type) -> None:
    """Forget what ``register_vmappable`` said of a class."""
    del vmappables[data_type]


def under_vmap() -> bool:
    """Whether the current trace, or one that it is built on, applies operations to batches."""
    return is_under(BatchTrace)
