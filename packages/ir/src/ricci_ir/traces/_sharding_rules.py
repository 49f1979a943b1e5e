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

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import prod
from typing import Any, NoReturn, Protocol

from ricci_ir._config import auto_pcast
from ricci_ir._current_mesh import lenient_sharding
from ricci_ir._errors import ShardingTypeError
from ricci_ir._records import TupleRecord
from ricci_ir.traces._typing import ArrayLike
from ricci_ir.types._aval import AbstractValue, ShapedArray, get_aval
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

__all__ = [
    "by_element",
    "by_program",
    "each_its_own",
    "except_dimension",
    "same_dimensions",
    "without_sharding",
    "cast_varying",
    "FactorMap",
    "factors",
    "makes_sharding",
    "own_sharding",
    "ShardingRule",
    "unsharded",
    "unsharded_matrices",
    "varying",
    "varying_cast",
    "VaryingMismatch",
]

# What ``abstract_eval`` gives: a type, or a list of them for a primitive with several results.
type ResultTypes = AbstractValue | Sequence[AbstractValue]
# The factor of each dimension. Several factors make a dimension that merges those of the operands.
type Factors = tuple[int | tuple[int, ...] | None, ...]


class FactorMap(TupleRecord):
    """Which dimensions of operands and results belong together.

    A dimension whose factor is ``None`` must not be divided in an operand, and is not divided in a
    result.

    Attributes:
      operands, results: for each, the factor of every dimension. One result stands for all.
      reduced: the factors that no result has and that the operation reduces, so that they may be
        divided. To divide another one that no result has is ambiguous.
      summed: the factors that no result has and that one operand may divide, but not several: it
        is ambiguous then whether their sums are to be divided, too.
      alike: the positions of operands that must be divided in the same way.
      advice: how the user can say what the result is to be.
    """

    operands: tuple[Factors, ...]
    results: tuple[Factors, ...]
    reduced: frozenset[int] = frozenset()
    summed: frozenset[int] = frozenset()
    alike: tuple[int, ...] = ()
    advice: str = "Move an operand with reshard before."


class ShardingRule(Protocol):
    """A rule of kind ``sharding``.

    ``joins``: whether operands must vary along the same axes; then they are cast to do so first.
    """

    joins: bool

    def __call__(
        self,
        name: str,
        avals: Sequence[AbstractValue],
        evaluate: Callable[..., Any],
        params: dict[str, Any],
        sums: SumsOfBlock = None,
    ) -> ResultTypes:
        """The result type, or list of types.

        Args:
          name: the primitive's name.
          avals: the types of the operands.
          evaluate: the primitive's ``abstract_eval``.
          params: the parameters.
          sums: the primitive's rule of kind ``sums``, if it has one.
        """
        ...


class VaryingMismatch(Exception):
    """The operands of an operation vary along different axes; ``axes`` are all of them.

    The trace that records the operation casts the operands, and records it again.
    """

    def __init__(self, axes: AxisNames):
        super().__init__(axes)
        self.axes: AxisNames = axes

    def cast(self, trace: Trace, args: Sequence[Any], avals: Sequence[AbstractValue]) -> list[Any]:
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

    def register(self, primitive: object) -> None:
        """Set the primitive, whose parameter ``axes`` is a tuple of names."""
        self.primitive = primitive


varying_cast: VaryingCast = VaryingCast()


def cast_varying(x: ArrayLike, axes: AxisNames) -> Any:
    """An array that varies along ``axes`` as well, if it does not yet."""
    return vary(context.trace, x, get_aval(x), axes)


def vary(trace: Trace, x: ArrayLike, aval: AbstractValue, axes: AxisNames) -> Any:
    """``x`` varying along ``axes`` as well, cast in a trace."""
    missing = axes - varying(aval)
    if not missing:
        return x
    ordered = tuple(name for name in axis_sizes.value if name in missing)
    return trace.process(varying_cast.primitive, (x,), {"axes": ordered})


def varying(aval: AbstractValue) -> AxisNames:
    """The manual axes along which values of a type vary."""
    sharding = aval.type_sharding
    return no_axes if sharding is None else sharding.varying


def result_types(
    primitive: Any,
    rule: ShardingRule | None,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
    sums: SumsOfBlock = None,
) -> ResultTypes:
    """The result types of an operation, some of whose operands' types have a sharding.

    Args:
      primitive: the operation.
      rule: its rule; ``None`` for a primitive that was made outside of Ricci.
      avals, params: the types of the operands, and the parameters.
      sums: its rule of kind ``sums``, if it has one.

    Raises:
      ShardingTypeError: if the result's sharding is ambiguous, or cannot be.
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
    return rule(primitive.name, avals, primitive.abstract_eval, params, sums)


def _different_axes(name: str, avals: Sequence[AbstractValue]) -> ValueError:
    operands = ", ".join(aval.str_short(True) for aval in avals)
    return ValueError(
        f"{name} of {operands}{_place()}: the operands vary along different mesh axes, and the "
        "option jax_auto_pcast, which casts them, is off. Call pcast(x, axes, to='varying') before."
    )


class factors:
    """A rule by a factor map: ``make(*avals, **params)`` gives it for operands without shardings.

    The parameter ``out_sharding`` or ``sharding`` of a primitive, if it is not ``None``, is the
    result's sharding.
    """

    __slots__ = ("make",)

    joins: bool = True

    def __init__(self, make: Callable[..., FactorMap]):
        self.make: Callable[..., FactorMap] = make

    def __call__(
        self,
        name: str,
        avals: Sequence[AbstractValue],
        evaluate: Callable[..., Any],
        params: dict[str, Any],
        sums: SumsOfBlock = None,
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        plain, results, several = _without_shardings(avals, evaluate, params)
        wanted = params.get("out_sharding") or params.get("sharding")
        manual = _manual(avals)
        kept = sums_of_result(name, sums, avals, params)
        if kept is not None:
            explicit = no_axes.union(*(axes for a in avals for axes in sums_of(a)))
            manual = (manual[0], manual[1] - explicit | kept[0], manual[2] - explicit | kept[1])
        if wanted is not None:
            parts = [wanted.parts] * len(results)
            mesh = wanted.mesh
            for result in results:
                _check_sizes(name, result, wanted)
            if wanted.sums[0]:
                _check_terms(name, avals, self._map(plain, results, params), wanted)
            manual = (manual[0], manual[1] | wanted.unreduced, manual[2] | wanted.reduced)
        elif any(a.type_sharding is not None and a.type_sharding.mesh is not None for a in avals):
            mesh = _common_mesh(name, avals)
            map_ = self._map(plain, results, params)
            try:
                parts = _propagate(name, avals, results, map_, mesh)
            except ShardingTypeError as error:
                if not results:
                    raise
                with lenient_sharding(True):
                    fitting = _propagate(name, avals, results, map_, mesh)
                said = str(error).replace("P(...)", _spec_text(fitting[0]))
                raise ShardingTypeError(said) from None
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


def _without_shardings(
    avals: Sequence[AbstractValue], evaluate: Callable[..., Any], params: dict[str, Any]
) -> tuple[list[Any], list[Any], bool]:
    """The types of operands and results without shardings; and whether the results are a list."""
    plain = [aval.plain if isinstance(aval, ShapedArray) else aval for aval in avals]
    found = evaluate(*plain, **params)
    several = isinstance(found, list | tuple)
    return plain, list(found) if several else [found], several


def _check_terms(
    name: str, avals: Sequence[AbstractValue], map_: FactorMap, wanted: TypeSharding
) -> None:
    """Check that the devices have terms of a sum over the axes that are to be unreduced."""
    kept = {f for dims in map_.results for entry in dims for f in _members(entry)}
    dims = [
        (f, part)
        for aval, fs in zip(avals, map_.operands, strict=True)
        for f, part in zip(fs, _parts(aval) or ((),) * len(fs), strict=True)
    ]
    lost = {f: part for f, part in dims if f not in kept}
    if not lost:
        return
    summed = frozenset(n for part in lost.values() for n in part)
    axes = f"unreduced={{{', '.join(sorted(map(repr, summed)))}}}"
    if any(part != lost[f] for f, part in dims if f in lost):
        what = "the dimensions that it sums over are not divided alike in its operands"
        _refuse(name, avals, what, "Move one with reshard before.")
    if summed != wanted.sums[0]:
        what = f"the dimensions that it sums over are divided over {_all(summed) or 'no axis'}"
        _refuse(name, avals, what, f"Only along those can the result be unreduced: {axes}.")


def _check_sizes(name: str, result: ShapedArray, wanted: TypeSharding) -> None:
    """Raise ``ValueError`` unless a sharding divides a result evenly."""
    for i, part in enumerate(wanted.parts):
        size = prod(wanted.mesh.shape[axis] for axis in part)
        if result.shape[i] % size:
            fitting = [
                p if n % prod(wanted.mesh.shape[axis] for axis in p) == 0 else ()
                for p, n in zip(wanted.parts, result.shape, strict=True)
            ]
            raise ValueError(
                f"{name}: out_sharding={_spec_text(wanted.parts)} divides dimension {i} of the "
                f"result {result.str_short(True)}, of size {result.shape[i]}, over {_all(part)} "
                f"of size {size}. Pad it, or use a spec that fits: {_spec_text(tuple(fitting))}."
            )


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
    """The parts of the results."""
    lenient = lenient_sharding.value
    axes: dict[int | tuple[int, ...], tuple[Hashable, ...]] = {}
    several: set[int | tuple[int, ...]] = set()
    if len({_parts(avals[i]) for i in map_.alike}) > 1 and not lenient:
        _refuse(name, avals, "its operands must be divided in the same way", map_.advice)
    for aval, dims in zip(avals, map_.operands, strict=True):
        for i, part in enumerate(_parts(aval) or ()):
            factor = dims[i]
            if not part or lenient and factor is None:
                continue
            if factor is None:
                what = f"dimension {i} of {aval.str_short(True)} must not be divided"
                _refuse(name, avals, what, map_.advice)
            if factor in axes:
                several.add(factor)
            known = axes.setdefault(factor, part)
            if known != part and not lenient:
                what = f"a dimension is divided over {known} in one operand and {part} in another"
                _refuse(name, avals, what, map_.advice)
    made = map_.results * len(results) if len(map_.results) == 1 else map_.results
    kept = {f for dims in made for entry in dims for f in _members(entry)}
    allowed = kept | map_.reduced | (map_.summed - several)
    lost = [factor for factor in axes if factor not in allowed]
    if lost and not lenient:
        what = f"it sums over a dimension that is divided over {_all(axes[lost[0]])}"
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
        for r, dims in zip(results, made, strict=True)
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
    """The parts of a result, if every axis is used once and every size can be divided."""
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
    """A partition spec as users write it."""
    entries = [repr(p[0]) if len(p) == 1 else repr(p) if p else "None" for p in parts]
    return f"P({', '.join(entries)})"


def _refuse(name: str, avals: Sequence[AbstractValue], what: str, advice: str) -> NoReturn:
    operands = ", ".join(aval.str_short(True) for aval in avals)
    raise ShardingTypeError(f"{name} of {operands}{_place()}: {what}.\n{advice}")


def _place() -> str:
    """Where the user's code is, in errors."""
    place = current_source()
    return f" at {place}" if place.code is not None else ""


def _dims(aval: AbstractValue) -> Factors:
    return tuple(range(getattr(aval, "ndim", 0)))


def same_dimensions(*avals: Any, **params: object) -> FactorMap:
    """The factor map of an operation whose result has the dimensions of its operand."""
    return FactorMap(tuple(map(_dims, avals)), (max(map(_dims, avals), key=len, default=()),))


def except_dimension(name: str) -> factors:
    """The rule of an operation along a dimension, which must not be divided.

    Args:
      name: the parameter that gives the dimension.
    """

    def make(*avals: Any, **params: object) -> FactorMap:
        axis = params[name]
        dims = tuple(None if i == axis else i for i in range(avals[0].ndim))
        return FactorMap((dims,) * len(avals), (dims,))

    return factors(make)


def _each_its_own(
    avals: Sequence[AbstractValue], results: Sequence[AbstractValue], **params: object
) -> list[TypeSharding | None]:
    return [aval.type_sharding for aval in avals]


def _says_nothing(
    avals: Sequence[AbstractValue], results: Sequence[AbstractValue], **params: object
) -> list[TypeSharding | None]:
    return [None] * len(results)


# Operands and results have the same shape; scalars may stand for arrays.
by_element: ShardingRule = factors(same_dimensions)


class _ByProgram:
    """The results are those of a program, whose types ``abstract_eval`` reads."""

    __slots__ = ()

    joins: bool = False

    def __call__(
        self,
        name: str,
        avals: Sequence[AbstractValue],
        evaluate: Callable[..., Any],
        params: dict[str, Any],
        sums: SumsOfBlock = None,
    ) -> ResultTypes:
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
        self.batch: Callable[..., int] | None = batch
        super().__init__(same_dimensions)

    def _map(self, avals: list[Any], results: list[Any], params: dict[str, Any]) -> FactorMap:
        shared = 0 if self.batch is None else self.batch(*avals, **params)
        return FactorMap(
            tuple(_leading(a, shared) for a in avals), tuple(_leading(r, shared) for r in results)
        )


def _leading(aval: AbstractValue, count: int) -> Factors:
    return tuple(i if i < count else None for i in range(getattr(aval, "ndim", 0)))


class own_sharding:
    """A rule that says itself what the results are: ``make(avals, results, **params)``.

    ``results`` are the result types without shardings, and ``make`` gives a ``TypeSharding`` or
    ``None`` for each. ``joins`` says whether operands are first cast to vary alike.
    """

    __slots__ = ("joins", "make")

    def __init__(self, make: Callable[..., Sequence[TypeSharding | None]], joins: bool = True):
        self.make: Callable[..., Sequence[TypeSharding | None]] = make
        self.joins: bool = joins

    def __call__(
        self,
        name: str,
        avals: Sequence[AbstractValue],
        evaluate: Callable[..., Any],
        params: dict[str, Any],
        sums: SumsOfBlock = None,
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        _, results, several = _without_shardings(avals, evaluate, params)
        shardings = self.make(avals, results, **params)
        typed = [r.with_sharding(s) for r, s in zip(results, shardings, strict=True)]
        return typed if several else typed[0]


class makes_sharding:
    """A rule that is asked also if no operand's type has a sharding.

    For operations that take a sharding as a parameter, or whose results vary by themselves.
    """

    __slots__ = ("joins", "rule")

    def __init__(self, rule: ShardingRule):
        self.rule: ShardingRule = rule
        self.joins: bool = rule.joins

    def __call__(
        self,
        name: str,
        avals: Sequence[AbstractValue],
        evaluate: Callable[..., Any],
        params: dict[str, Any],
        sums: SumsOfBlock = None,
    ) -> ResultTypes:
        """See ``ShardingRule``."""
        return self.rule(name, avals, evaluate, params, sums)


# Each result is one of the operands, as it is.
each_its_own: ShardingRule = own_sharding(_each_its_own, joins=False)

# The results' types say nothing, whatever the operands' types say.
without_sharding: ShardingRule = own_sharding(_says_nothing, joins=False)

# A function of matrices: the dimensions before their two may be divided.
unsharded_matrices: ShardingRule = unsharded(lambda *avals, **params: avals[0].ndim - 2)
