"""How shardings and varying axes pass through operations.

A primitive's rule of kind ``sharding`` says it. Most rules are *factor maps*: each dimension of
the operands and results is given a factor, as the letters of an einsum's equation do, and mesh axes
that divide a factor in the operands divide it in the results::

    dot_general:  b m k, b n k -> b m n
    reduce_sum:   i j -> i                     (j is reduced)
    transpose:    i j -> j i

One interpreter, ``result_types``, reads them. It is asked when an operation's types are worked out
and an operand's type says anything of a mesh, so that programs on one device pay nothing for it.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, Protocol

from ricci_ir._errors import ShardingTypeError
from ricci_ir.types._aval import AbstractValue, ShapedArray, get_aval
from ricci_ir.types._type_sharding import (
    AxisNames,
    Parts,
    TypeSharding,
    make_type_sharding,
    no_axes,
)

from ._trace import context

__all__ = [
    "by_program",
    "cast_varying",
    "elementwise",
    "FactorMap",
    "factors",
    "makes_sharding",
    "own_sharding",
    "ShardingRule",
    "unsharded",
    "varying",
    "varying_cast",
    "VaryingMismatch",
]

type Factors = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class FactorMap:
    """Which dimensions of operands and results belong together.

    A dimension whose factor is ``None`` must not be divided in an operand, and is not divided in a
    result.

    Attributes:
      operands, results: for each, the factor of every dimension.
      reduced: the factors that no result has and that the operation reduces, so that they may be
        divided. To divide another one that no result has is ambiguous.
      advice: how the user can say what the result is to be.
    """

    operands: tuple[Factors, ...]
    results: tuple[Factors, ...]
    reduced: frozenset[int] = frozenset()
    advice: str = "Move an operand with reshard before."


class ShardingRule(Protocol):
    """A rule of kind ``sharding``.

    ``joins``: whether operands must vary along the same axes; then they are cast to do so first.
    """

    joins: bool

    def __call__(
        self,
        name: str,
        avals: Sequence[Any],
        evaluate: Callable[..., Any],
        params: dict[str, Any],
    ) -> Any:
        """The result type, or list of types.

        Args:
          name: the primitive's name.
          avals: the types of the operands.
          evaluate: the primitive's ``abstract_eval``.
          params: the parameters.
        """
        ...


class VaryingMismatch(Exception):
    """The operands of an operation vary along different axes; ``axes`` are all of them.

    The trace that records the operation casts the operands, and records it again.
    """

    def __init__(self, axes: AxisNames):
        super().__init__(axes)
        self.axes = axes

    def cast(self, trace: Any, args: Sequence[Any], avals: Sequence[AbstractValue]) -> list[Any]:
        """The operands, all varying along ``axes``."""
        return [
            vary(trace, x, aval, self.axes) if isinstance(aval, ShapedArray) else x
            for x, aval in zip(args, avals, strict=True)
        ]


class VaryingCast:
    """The primitive that makes a value vary along more axes; ``parallel`` registers it."""

    __slots__ = ("primitive",)

    def __init__(self):
        self.primitive: Any = None

    def register(self, primitive: Any) -> None:
        """Set the primitive, whose parameter ``axes`` is a tuple of names."""
        self.primitive = primitive


varying_cast: VaryingCast = VaryingCast()


def cast_varying(x: Any, axes: AxisNames) -> Any:
    """An array that varies along ``axes`` as well, if it does not yet."""
    return vary(context.trace, x, get_aval(x), axes)


def vary(trace: Any, x: Any, aval: Any, axes: AxisNames) -> Any:
    """``x`` varying along ``axes`` as well, cast in a trace."""
    missing = axes - varying(aval)
    if not missing:
        return x
    ordered = tuple(name for name in context.axis_sizes if name in missing)
    return trace.process(varying_cast.primitive, (x,), {"axes": ordered})


def varying(aval: AbstractValue) -> AxisNames:
    """The manual axes along which values of a type vary."""
    sharding = aval.type_sharding
    return no_axes if sharding is None else sharding.varying


def result_types(
    primitive: Any, rule: ShardingRule | None, avals: Sequence[Any], params: dict[str, Any]
) -> Any:
    """The result types of an operation, some of whose operands' types have a sharding.

    Args:
      primitive: the operation.
      rule: its rule; ``None`` for a primitive that was made outside of Ricci.

    Raises:
      ShardingTypeError: if the result's sharding is ambiguous, or cannot be.
      VaryingMismatch: if operands have to be cast first.
    """
    rule = rule or elementwise
    if rule.joins:
        axes = no_axes.union(*map(varying, avals))
        for aval in avals:
            if isinstance(aval, ShapedArray) and varying(aval) != axes:
                raise VaryingMismatch(axes)
    return rule(primitive.name, avals, primitive.abstract_eval, params)


class factors:
    """A rule by a factor map: ``make(*avals, **params)`` gives it for operands without shardings.

    The parameter ``out_sharding`` of a primitive, if it is not ``None``, is the result's sharding.
    """

    __slots__ = ("make",)

    joins: bool = True

    def __init__(self, make: Callable[..., FactorMap]):
        self.make = make

    def __call__(
        self, name: str, avals: Sequence[Any], evaluate: Callable[..., Any], params: dict[str, Any]
    ) -> Any:
        """See ``ShardingRule``."""
        plain = [aval.plain if isinstance(aval, ShapedArray) else aval for aval in avals]
        found = evaluate(*plain, **params)
        results = list(found) if isinstance(found, list | tuple) else [found]
        wanted = params.get("out_sharding")
        manual = _manual(avals)
        if wanted is not None:
            parts = [wanted.parts] * len(results)
            mesh = wanted.mesh
            manual = (manual[0], manual[1] | wanted.unreduced, manual[2] | wanted.reduced)
        elif any(a.type_sharding is not None and a.type_sharding.is_divided for a in avals):
            mesh = _common_mesh(name, avals)
            parts = _propagate(name, avals, results, self.make(*plain, **params), mesh)
        else:
            mesh, parts = None, [((),) * r.ndim for r in results]
        typed = [
            r.with_sharding(make_type_sharding(mesh, p, *manual))
            for r, p in zip(results, parts, strict=True)
        ]
        return typed if isinstance(found, list | tuple) else typed[0]


def _manual(avals: Sequence[AbstractValue]) -> tuple[AxisNames, AxisNames, AxisNames]:
    """The axes along which results vary, are unreduced and reduced: as the operands."""
    shardings = [a.type_sharding for a in avals if a.type_sharding is not None]
    return (
        no_axes.union(*(s.varying for s in shardings)),
        no_axes.union(*(s.unreduced for s in shardings)),
        no_axes.union(*(s.reduced for s in shardings)),
    )


def _common_mesh(name: str, avals: Sequence[AbstractValue]) -> Any:
    meshes = {a.type_sharding.mesh for a in avals if a.type_sharding is not None} - {None}
    if len(meshes) > 1:
        _refuse(name, avals, f"its operands lie on different meshes, {_all(meshes)}", "Move one.")
    return meshes.pop()


def _all(items: Any) -> str:
    return " and ".join(sorted(map(str, items)))


def _propagate(
    name: str, avals: Sequence[Any], results: Sequence[Any], map_: FactorMap, mesh: Any
) -> list[Parts]:
    """The parts of the results."""
    lenient = context.lenient_sharding
    axes: dict[int, tuple[Hashable, ...]] = {}
    for aval, dims in zip(avals, map_.operands, strict=True):
        sharding = aval.type_sharding
        for i, part in enumerate(sharding.parts if sharding is not None else ()):
            factor = dims[i]
            if not part or lenient and factor is None:
                continue
            if factor is None:
                what = f"dimension {i} of {aval.str_short(True)} must not be divided"
                _refuse(name, avals, what, map_.advice)
            known = axes.setdefault(factor, part)
            if known != part and not lenient:
                what = f"it is divided over {known} in one operand and over {part} in another"
                _refuse(name, avals, what, map_.advice)
    kept = {factor for dims in map_.results for factor in dims}
    lost = [factor for factor in axes if factor not in kept and factor not in map_.reduced]
    if lost and not lenient:
        what = f"it sums over a dimension that is divided over {_all(axes[lost[0]])}"
        _refuse(name, avals, what, map_.advice)
    return [
        _checked(name, avals, r, [axes.get(f, ()) if f is not None else () for f in dims], mesh)
        if isinstance(r, ShapedArray)
        else ()
        for r, dims in zip(results, map_.results, strict=True)
    ]


def _checked(
    name: str, avals: Sequence[Any], result: ShapedArray, parts: list[Any], mesh: Any
) -> Parts:
    """The parts of a result, if every axis is used once and every size can be divided."""
    seen: set[Hashable] = set()
    for i, part in enumerate(parts):
        size = prod(mesh.shape[axis] for axis in part)
        if seen.isdisjoint(part) and result.shape[i] % size == 0:
            seen.update(part)
        elif context.lenient_sharding:
            parts[i] = ()
        elif result.shape[i] % size:
            what = f"dimension {i} of the result has size {result.shape[i]}, which is not a "
            _refuse(name, avals, f"{what}multiple of {size}, the size of {_all(part)}", "Pad it.")
        else:
            text = result.with_sharding(TypeSharding(mesh, tuple(parts))).str_short(True)
            _refuse(name, avals, f"its result {text} would use a mesh axis twice", "Move one.")
    return tuple(parts)


def _refuse(name: str, avals: Sequence[Any], what: str, advice: str) -> NoReturn:
    operands = ", ".join(aval.str_short(True) for aval in avals)
    raise ShardingTypeError(f"{name} of {operands}: {what}.\n{advice}")


def _elementwise_map(*avals: Any, **params: Any) -> FactorMap:
    operands = tuple(tuple(range(getattr(a, "ndim", 0))) for a in avals)
    result = max(operands, key=len, default=())
    return FactorMap(operands, (result,))


class _Elementwise(factors):
    """All results have the dimensions of the operands."""

    __slots__ = ()

    def __init__(self):
        super().__init__(_elementwise_map)


# Operands and result have the same shape; scalars may stand for arrays.
elementwise: ShardingRule = _Elementwise()


class _ByProgram:
    """The results are those of a program, whose types ``abstract_eval`` reads."""

    __slots__ = ()

    joins: bool = False

    def __call__(
        self, name: str, avals: Sequence[Any], evaluate: Callable[..., Any], params: dict[str, Any]
    ) -> Any:
        """See ``ShardingRule``."""
        return evaluate(*avals, **params)


by_program: ShardingRule = _ByProgram()


class unsharded(factors):
    """No dimension of an operand may be divided; ``batch`` leading ones may.

    Args:
      batch: maps the operands' types and the parameters to the number of leading dimensions that
        all operands and results share.
    """

    __slots__ = ("batch",)

    def __init__(self, batch: Callable[..., int] | None = None):
        self.batch = batch
        super().__init__(self._map)

    def _map(self, *avals: Any, **params: Any) -> FactorMap:
        raise NotImplementedError

    def __call__(
        self, name: str, avals: Sequence[Any], evaluate: Callable[..., Any], params: dict[str, Any]
    ) -> Any:
        """See ``ShardingRule``."""
        plain = [aval.plain if isinstance(aval, ShapedArray) else aval for aval in avals]
        found = evaluate(*plain, **params)
        many = isinstance(found, list | tuple)
        shared = 0 if self.batch is None else self.batch(*plain, **params)
        map_ = FactorMap(
            tuple(_leading(a, shared) for a in avals),
            tuple(_leading(a, shared) for a in (found if many else [found])),
        )
        return factors(lambda *a, **k: map_)(name, avals, lambda *a, **k: found, params)


def _leading(aval: Any, count: int) -> Factors:
    return tuple(i if i < count else None for i in range(getattr(aval, "ndim", 0)))


class own_sharding:
    """A rule that says itself what the results are: ``make(avals, results, **params)``.

    ``results`` are the result types without shardings, and ``make`` gives a ``TypeSharding`` or
    ``None`` for each. ``joins`` says whether operands are first cast to vary alike.
    """

    __slots__ = ("joins", "make")

    def __init__(self, make: Callable[..., Sequence[TypeSharding | None]], joins: bool = True):
        self.make = make
        self.joins: bool = joins

    def __call__(
        self, name: str, avals: Sequence[Any], evaluate: Callable[..., Any], params: dict[str, Any]
    ) -> Any:
        """See ``ShardingRule``."""
        plain = [aval.plain if isinstance(aval, ShapedArray) else aval for aval in avals]
        found = evaluate(*plain, **params)
        results = list(found) if isinstance(found, list | tuple) else [found]
        shardings = self.make(avals, results, **params)
        typed = [r.with_sharding(s) for r, s in zip(results, shardings, strict=True)]
        return typed if isinstance(found, list | tuple) else typed[0]


class makes_sharding:
    """A rule that is asked also if no operand's type has a sharding.

    For operations that take a sharding as a parameter, or whose results vary by themselves.
    """

    __slots__ = ("joins", "rule")

    def __init__(self, rule: ShardingRule):
        self.rule = rule
        self.joins: bool = rule.joins

    def __call__(
        self, name: str, avals: Sequence[Any], evaluate: Callable[..., Any], params: dict[str, Any]
    ) -> Any:
        """See ``ShardingRule``."""
        return self.rule(name, avals, evaluate, params)
