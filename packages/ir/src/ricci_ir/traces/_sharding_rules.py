"""Propagation of shardings and varying axes through operations, by rules of kind ``sharding``.

Most rules are *factor maps*: each dimension of the operands and results is given a factor, like
the letters of an einsum, and mesh axes that shard a factor in the operands shard it in the
results::

    dot_general:  b m k, b n k -> b m n
    reduce_sum:   i j -> i                     (j is reduced)
    transpose:    i j -> j i

One interpreter, ``result_types``, evaluates them. It is called only for operations with an operand
whose type has a sharding, so that it costs nothing on one device.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import prod
from typing import Any, NoReturn, Protocol

from ricci_ir._config import auto_pcast
from ricci_ir._contexts import lenient_sharding
from ricci_ir._errors import ShardingTypeError
from ricci_ir._hook import Hook
from ricci_ir._records import TupleRecord
from ricci_ir.traces._typing import ArrayLike
from ricci_ir.types._abstract_value import AbstractValue
from ricci_ir.types._aval import ShapedArray, get_aval
from ricci_ir.types._type_sharding import (
    AxisNames,
    Parts,
    TypeSharding,
    make_type_sharding,
    no_axes,
)

from ._named_axes import axis_sizes
from ._observe import current_source
from ._trace import Trace, context
from ._unreduced import SumsOfBlock, sums_of, sums_of_result

__all__ = ["FactorMap", "ShardingRule", "VaryingMismatch", "by_element", "cast_varying"]
__all__ += ["except_dimension", "factors", "same_dimensions", "unsharded", "unsharded_matrices"]
__all__ += ["varying", "varying_cast"]

# The result of ``abstract_eval``: a type, or a list of them for a primitive with several results.
type ResultTypes = AbstractValue | Sequence[AbstractValue]
# The factor of each dimension. Several factors make a dimension that merges those of the operands.
type Factors = tuple[int | tuple[int, ...] | None, ...]


class FactorMap(TupleRecord):
    """The correspondence of the dimensions of operands and results.

    A dimension whose factor is ``None`` must be replicated in an operand, and is replicated in a
    result.

    Attributes:
      operands, results: for each, the factor of every dimension. A single entry of ``results``
        holds for all results.
      reduced: the factors without a result dimension that may be sharded, since the operation
        reduces them. For other factors without one, a sharding is ambiguous.
      summed: the factors without a result dimension that may be sharded in one operand, but not in
        several: then it is ambiguous whether the sum is sharded.
      alike: the positions of operands that must have the same sharding.
      advice: a sentence on how the user can specify the result's sharding.
    """

    operands: tuple[Factors, ...]
    results: tuple[Factors, ...]
    reduced: frozenset[int] = frozenset()
    summed: frozenset[int] = frozenset()
    alike: tuple[int, ...] = ()
    advice: str = "Move an operand with reshard before."


class TypedOperation(Protocol):
    """The part of a primitive that rules read."""

    name: str
    abstract_eval: Any

    @property
    def sum_rule(self) -> SumsOfBlock:
        """The rule of kind ``sums``, or None."""
        ...


class ShardingRule(Protocol):
    """A rule of kind ``sharding``.

    ``joins``: whether operands must vary along the same axes, so that they are cast first.
    """

    joins: bool

    def __call__(
        self, primitive: TypedOperation, avals: Sequence[AbstractValue], params: dict[str, Any]
    ) -> ResultTypes:
        """The result type, or list of types.

        Args:
          primitive: the operation.
          avals, params: the types of the operands, and the parameters.
        """
        ...


class VaryingMismatch(Exception):
    """The operands of an operation vary along different axes; ``axes`` is their union.

    The trace that records the operation casts the operands and tries again.
    """

    def __init__(self, axes: AxisNames):
        super().__init__(axes)
        self.axes: AxisNames = axes

    def cast(self, trace: Trace, args: Sequence[Any], avals: Sequence[AbstractValue]) -> list[Any]:
        """Cast all operands to vary along ``axes``."""
        return [
            vary(trace, x, aval, self.axes) if isinstance(aval, ShapedArray) else x
            for x, aval in zip(args, avals, strict=True)
        ]


# The primitive that casts a value to vary along more axes; its parameter ``axes`` names them.
varying_cast: Hook[Any] = Hook("varying casts", provided_by="ricci_parallel")


def cast_varying(x: ArrayLike, axes: AxisNames) -> Any:
    """Cast an array to vary along ``axes`` as well, in the current trace."""
    return vary(context.trace, x, get_aval(x), axes)


def vary(trace: Trace, x: ArrayLike, aval: AbstractValue, axes: AxisNames) -> Any:
    """Cast ``x``, of type ``aval``, to vary along ``axes`` as well, in a trace."""
    missing = axes - varying(aval)
    if not missing:
        return x
    ordered = tuple(name for name in axis_sizes.value if name in missing)
    return trace.process(varying_cast.loaded(), (x,), {"axes": ordered})


def varying(aval: AbstractValue) -> AxisNames:
    """The manual axes along which values of a type vary."""
    sharding = aval.type_sharding
    return no_axes if sharding is None else sharding.varying


def result_types(
    primitive: TypedOperation,
    rule: ShardingRule | None,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
) -> ResultTypes:
    """The result types of an operation, some of whose operands' types have a sharding.

    Args:
      primitive: the operation.
      rule: its rule; ``None`` for a primitive that was not defined with ``define``.
      avals, params: the types of the operands, and the parameters.

    Raises:
      ShardingTypeError: if the result's sharding is ambiguous or impossible.
      ValueError: if operands vary along different axes, and ``jax_auto_pcast`` is off.
      VaryingMismatch: if operands have to be cast first.
    """
    rule = rule or by_element
    if rule.joins:
        axes = no_axes.union(*map(varying, avals))
        for aval in avals:
            if isinstance(aval, ShapedArray) and varying(aval) != axes:
                if not auto_pcast.value:
                    raise _different_axes(primitive.name, avals)
                raise VaryingMismatch(axes)
    return rule(primitive, avals, params)


def _different_axes(name: str, avals: Sequence[AbstractValue]) -> ValueError:
    operands = ", ".join(aval.str_short(True) for aval in avals)
    return ValueError(
        f"{name} of {operands}{_place()}: the operands vary along different mesh axes, and the "
        "option jax_auto_pcast, which casts them, is off. Call pcast(x, axes, to='varying') before."
    )


class factors:
    """A rule by a factor map, which ``make(*avals, **params)`` returns, given plain types.

    The parameter ``out_sharding`` or ``sharding`` of a primitive, if it is not ``None``, is the
    result's sharding.
    """

    __slots__ = ("make",)

    joins: bool = True

    def __init__(self, make: Callable[..., FactorMap]):
        self.make: Callable[..., FactorMap] = make

    def __call__(
        self, primitive: TypedOperation, avals: Sequence[AbstractValue], params: dict[str, Any]
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        name = primitive.name
        plain, results, several = drop_shardings(primitive, avals, params)
        target = params.get("out_sharding") or params.get("sharding")
        manual = _manual(avals)
        sum_axes = sums_of_result(name, primitive.sum_rule, avals, params)
        if sum_axes is not None:
            explicit = no_axes.union(*(axes for a in avals for axes in sums_of(a)))
            unreduced, reduced = sum_axes
            # The rule decides on the Explicit axes; the sets of the operands' other axes are
            # unchanged.
            manual = (manual[0], manual[1] - explicit | unreduced, manual[2] - explicit | reduced)
        if target is not None:
            parts = [target.parts] * len(results)
            mesh = target.mesh
            for result in results:
                _check_sizes(name, result, target)
            if target.sums[0]:
                _check_summed(name, avals, self._map(plain, results, params), target)
            manual = (manual[0], manual[1] | target.unreduced, manual[2] | target.reduced)
        elif any(a.type_sharding is not None and a.type_sharding.mesh is not None for a in avals):
            mesh = _common_mesh(name, avals)
            map_ = self._map(plain, results, params)
            try:
                parts = _propagate(name, avals, results, map_, mesh)
            except ShardingTypeError as error:
                if not results:
                    raise
                # The lenient propagation drops the ambiguous axes, which gives a valid spec to
                # suggest.
                with lenient_sharding(True):
                    fitting = _propagate(name, avals, results, map_, mesh)
                message = str(error).replace("P(...)", _spec_text(fitting[0]))
                raise ShardingTypeError(message) from None
        else:
            mesh, parts = None, [((),) * r.ndim for r in results]
        typed = [
            r.with_sharding(make_type_sharding(mesh, p, *manual))
            for r, p in zip(results, parts, strict=True)
        ]
        return typed if several else typed[0]

    def _map(self, avals: list[Any], results: list[Any], params: dict[str, Any]) -> FactorMap:
        """The factor map, given types without shardings."""
        return self.make(*avals, **params)


def drop_shardings(
    primitive: TypedOperation, avals: Sequence[AbstractValue], params: dict[str, Any]
) -> tuple[list[Any], list[Any], bool]:
    """The types of operands and results without shardings; and whether the results are a list."""
    plain = [aval.plain if isinstance(aval, ShapedArray) else aval for aval in avals]
    result = primitive.abstract_eval(*plain, **params)
    several = isinstance(result, list | tuple)
    return plain, list(result) if several else [result], several


def _check_summed(
    name: str, avals: Sequence[AbstractValue], map_: FactorMap, target: TypeSharding
) -> None:
    """Check that the summed dimensions are sharded over the axes that ``target`` has unreduced."""
    # A factor is summed over if no dimension of a result has it. Each device sums its own shard of
    # these dimensions, so that its result is a term along exactly the axes that shard them.
    result_factors = {f for dims in map_.results for entry in dims for f in _members(entry)}
    dims = [
        (f, part)
        for aval, fs in zip(avals, map_.operands, strict=True)
        for f, part in zip(fs, _parts(aval) or ((),) * len(fs), strict=True)
    ]
    summed = {f: part for f, part in dims if f not in result_factors}
    if not summed:
        return
    summed_axes = frozenset(n for part in summed.values() for n in part)
    axes = f"unreduced={{{', '.join(sorted(map(repr, summed_axes)))}}}"
    if any(part != summed[f] for f, part in dims if f in summed):
        what = "the dimensions that it sums over are not sharded alike in its operands"
        _refuse(name, avals, what, "Move one with reshard before.")
    if summed_axes != target.sums[0]:
        what = f"the dimensions that it sums over are sharded over {_all(summed_axes) or 'no axis'}"
        _refuse(name, avals, what, f"Only along those can the result be unreduced: {axes}.")


def _check_sizes(name: str, result: ShapedArray, target: TypeSharding) -> None:
    """Raise ``ValueError`` unless the sizes of a result are multiples of the mesh axes' sizes."""
    for i, part in enumerate(target.parts):
        size = prod(target.mesh.shape[axis] for axis in part)
        if result.shape[i] % size:
            fitting = [
                p if n % prod(target.mesh.shape[axis] for axis in p) == 0 else ()
                for p, n in zip(target.parts, result.shape, strict=True)
            ]
            raise ValueError(
                f"{name}: out_sharding={_spec_text(target.parts)} shards dimension {i} of the "
                f"result {result.str_short(True)}, of size {result.shape[i]}, over {_all(part)} "
                f"of size {size}. Pad it, or use a spec that fits: {_spec_text(tuple(fitting))}."
            )


def _manual(avals: Sequence[AbstractValue]) -> tuple[AxisNames, AxisNames, AxisNames]:
    """The union of the axes along which operands vary, are unreduced and are reduced."""
    shardings = [a.type_sharding for a in avals if a.type_sharding is not None]
    return (
        no_axes.union(*(s.varying for s in shardings)),
        no_axes.union(*(s.unreduced for s in shardings)),
        no_axes.union(*(s.reduced for s in shardings)),
    )


def _common_mesh(name: str, avals: Sequence[AbstractValue]) -> Any:
    meshes = {a.type_sharding.mesh for a in avals if a.type_sharding is not None} - {None}
    if len(meshes) > 1:
        operands = ", ".join(aval.str_short(True) for aval in avals)
        raise ValueError(
            f"{name} of {operands}: the mesh of all operands should be equal, but they lie on "
            f"{_all(meshes)}. Move one of them with device_put."
        )
    return meshes.pop()


def _all(items: Iterable[object]) -> str:
    return " and ".join(sorted(map(str, items)))


def _propagate(
    name: str,
    avals: Sequence[AbstractValue],
    results: Sequence[AbstractValue],
    map_: FactorMap,
    mesh: object,
) -> list[Parts]:
    """Propagate mesh axes from the operands' dimensions to the results', by factor."""
    lenient = lenient_sharding.value
    axes: dict[int | tuple[int, ...], tuple[Hashable, ...]] = {}
    several: set[int | tuple[int, ...]] = set()
    if len({_parts(avals[i]) for i in map_.alike}) > 1 and not lenient:
        _refuse(name, avals, "its operands must be sharded in the same way", map_.advice)
    for aval, dims in zip(avals, map_.operands, strict=True):
        for i, part in enumerate(_parts(aval) or ()):
            factor = dims[i]
            if not part or lenient and factor is None:
                continue
            if factor is None:
                what = f"dimension {i} of {aval.str_short(True)} must not be sharded"
                _refuse(name, avals, what, map_.advice)
            if factor in axes:
                several.add(factor)
            # The first operand with a sharded factor determines its axes; an unsharded dimension
            # agrees with any, since the compiler can shard a replicated operand without
            # communication.
            factor_axes = axes.setdefault(factor, part)
            if factor_axes != part and not lenient:
                what = f"a dimension is sharded over {factor_axes} in one operand and {part} "
                what += "in another"
                _refuse(name, avals, what, map_.advice)
    result_maps = map_.results * len(results) if len(map_.results) == 1 else map_.results
    result_factors = {f for dims in result_maps for entry in dims for f in _members(entry)}
    # If a summed factor is sharded in several operands, each device has a term of the sum. How the
    # result is sharded is then the user's choice, by ``out_sharding``.
    allowed = result_factors | map_.reduced | (map_.summed - several)
    lost = [factor for factor in axes if factor not in allowed]
    if lost and not lenient:
        what = f"it sums over a dimension that is sharded over {_all(axes[lost[0]])}"
        _refuse(name, avals, what, map_.advice)
    return [
        _checked(
            name,
            avals,
            r,
            [sum((axes.get(f, ()) for f in _members(entry)), ()) for entry in dims],
            mesh,
        )
        if isinstance(r, ShapedArray)
        else ()
        for r, dims in zip(results, result_maps, strict=True)
    ]


def _parts(aval: AbstractValue) -> Parts | None:
    return None if aval.type_sharding is None else aval.type_sharding.parts


def _members(entry: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def _checked(
    name: str,
    avals: Sequence[AbstractValue],
    result: ShapedArray,
    parts: list[tuple[Hashable, ...]],
    mesh: Any,
) -> Parts:
    """Check that a result's parts use each mesh axis once and that sizes are multiples of them.

    When lenient, a part for which that is not so becomes replicated.
    """
    seen: set[Hashable] = set()
    for i, part in enumerate(parts):
        size = prod(mesh.shape[axis] for axis in part)
        if seen.isdisjoint(part) and result.shape[i] % size == 0:
            seen.update(part)
        elif lenient_sharding.value:
            parts[i] = ()
        elif result.shape[i] % size:
            what = f"dimension {i} of the result has size {result.shape[i]}, which is not a "
            what += f"multiple of {size}, the size of {_all(part)}"
            _refuse(name, avals, what, "Pad it, or move an operand with reshard before.")
        else:
            text = result.with_sharding(TypeSharding(mesh, tuple(parts))).str_short(True)
            what = f"its result {text} would use a mesh axis twice"
            _refuse(name, avals, what, "Move an operand with reshard before.")
    return tuple(parts)


def _spec_text(parts: Parts) -> str:
    """The text of a partition spec, as users write it."""
    entries = [repr(p[0]) if len(p) == 1 else repr(p) if p else "None" for p in parts]
    return f"P({', '.join(entries)})"


def _refuse(name: str, avals: Sequence[AbstractValue], what: str, advice: str) -> NoReturn:
    operands = ", ".join(aval.str_short(True) for aval in avals)
    raise ShardingTypeError(f"{name} of {operands}{_place()}: {what}.\n{advice}")


def _place() -> str:
    """The place in the user's code, as a part of a message."""
    place = current_source()
    return f" at {place}" if place.code is not None else ""


def _dims(aval: AbstractValue) -> Factors:
    return tuple(range(getattr(aval, "ndim", 0)))


def same_dimensions(*avals: Any, **params: object) -> FactorMap:
    """The factor map of an operation whose result has the dimensions of its operand."""
    return FactorMap(tuple(map(_dims, avals)), (max(map(_dims, avals), key=len, default=()),))


def except_dimension(name: str) -> factors:
    """The rule of an operation along a dimension, which must be replicated.

    Args:
      name: the parameter that is the dimension.
    """

    def make(*avals: Any, **params: object) -> FactorMap:
        axis = params[name]
        dims = tuple(None if i == axis else i for i in range(avals[0].ndim))
        return FactorMap((dims,) * len(avals), (dims,))

    return factors(make)


# Operands and results have the same shape; scalars are allowed among operands.
by_element: ShardingRule = factors(same_dimensions)


class unsharded(factors):
    """A rule by which no dimension of an operand may be sharded but ``batch`` leading ones.

    Args:
      batch: maps the operands' types and the parameters to the number of leading dimensions that
        all operands and results share.
    """

    __slots__ = ("batch",)

    def __init__(self, batch: Callable[..., int] | None = None):
        self.batch: Callable[..., int] | None = batch
        super().__init__(same_dimensions)

    def _map(self, avals: list[Any], results: list[Any], params: dict[str, Any]) -> FactorMap:
        shared = 0 if self.batch is None else self.batch(*avals, **params)
        return FactorMap(
            tuple(_leading(a, shared) for a in avals), tuple(_leading(r, shared) for r in results)
        )


def _leading(aval: AbstractValue, count: int) -> Factors:
    return tuple(i if i < count else None for i in range(getattr(aval, "ndim", 0)))


# A function of matrices: only the batch dimensions before the last two may be sharded.
unsharded_matrices: ShardingRule = unsharded(lambda *avals, **params: avals[0].ndim - 2)
