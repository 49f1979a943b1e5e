"""Run operations one by one, and record the origins of NaNs and infinities.

An operation with a result that is not finite is a *step*, recorded with its operands. From a bad
element of a result ``_trail`` follows the steps back to the first. A *hit* is an operation of the
forward pass at a point where its derivative is not finite.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_batching import elementwise_primitives
from ricci_ir import ArrayLike, Jaxpr, Primitive
from ricci_lax.control_flow._while import while_p
from ricci_lax.elementwise._comparison import select_n_p
from ricci_lax.stepping import Interpreter, Location, Runs

from ._singular import singular_points


class Step:
    """An operation with a result that is not finite.

    Attributes:
      primitive, operands, params: the operation.
      settings: the settings that it ran under.
      place: its location.
      order: a counter that increases with each step.
      whole: whether all its operands are available, so that it can be run again. Some of a
        collective's are on other devices.
    """

    __slots__ = ("operands", "order", "params", "place", "primitive", "settings", "whole")

    def __init__(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        params: dict[str, Any],
        place: Location,
        order: int,
        whole: bool,
    ):
        self.primitive = primitive
        self.operands = operands
        self.params = params
        self.settings = ir.trace_key()
        self.place = place
        self.order = order
        self.whole = whole


class Moved(ir.TupleRecord):
    """Elements that the interpreter of a loop or of devices copied from other arrays.

    Attributes:
      sources: the arrays.
      element: from an element's index to the number of its source and its index there.
    """

    sources: tuple[Any, ...]
    element: Callable[[tuple[int, ...]], tuple[int, tuple[int, ...]]]


class Origin(ir.TupleRecord):
    """The origin of an array that is not finite: the number of a result of a step, or a copy."""

    array: Any  # referenced, so that its id stays unique
    maker: Step | Moved
    number: int = 0


class Argument(ir.TupleRecord):
    """An argument of the function that is not finite: the object, its values and its name."""

    array: Any  # referenced, so that its id stays unique
    values: np.ndarray
    name: str


class Mask(ir.TupleRecord):
    """A ``select_n`` that does not select a value: the value's case, and the location."""

    case: int
    place: Location


class Hit:
    """An operation of a differentiated function at a point where its derivative is not finite.

    Attributes:
      mask: the elements of its result.
      masks: the selections that leave the value out.
    """

    __slots__ = ("mask", "masks", "matched", "operands", "place", "primitive", "result")

    def __init__(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        result: np.ndarray,
        mask: np.ndarray,
        place: Location,
    ):
        self.primitive = primitive
        self.operands = operands
        self.result = result
        self.mask = mask
        self.place = place
        self.masks: list[Mask] = []
        self.matched = primitive in elementwise_primitives

    @property
    def operation(self) -> str:
        """The primitive's name."""
        return self.primitive.name


class Endless(BaseException):
    """Raised to stop a loop that does not end because of a NaN in its carry.

    User code may catch any ``Exception``.
    """

    def __init__(self, arrays: Sequence[Any]):
        self.arrays = arrays


_LONGEST = 2000  # iterations of a loop with a NaN in the carry


def host(x: ArrayLike) -> np.ndarray | None:
    """The values of an array of real or complex numbers, or ``None`` for others."""
    dtype = getattr(ir.get_aval(x), "dtype", None)
    if (
        not isinstance(dtype, np.dtype)
        or not ir.issubdtype(dtype, np.inexact)
        or ir.is_reference(x)
    ):
        return None
    return np.asarray(x)


def shown(x: ArrayLike) -> np.ndarray | None:
    """The values of an operand for the report, or ``None`` if NumPy does not have its type."""
    dtype = getattr(ir.get_aval(x), "dtype", None)
    return np.asarray(x) if isinstance(dtype, np.dtype) and not ir.is_reference(x) else None


class Watch(Interpreter):
    """An interpreter that records the origins of arrays that are not finite."""

    def __init__(self):
        # By the identity of arrays.
        self._origins: dict[int, Origin] = {}
        self._arguments: dict[int, Argument] = {}
        self._derived: dict[int, tuple[Any, tuple[Hit, ...]]] = {}
        self.hits: dict[tuple[Any, int], list[Hit]] = {}
        self.count = 0

    # Origins of arrays

    def origin_of(self, array: object) -> Origin | None:
        """The origin of an array; ``None`` for arguments and constants."""
        return self._origins.get(id(array))

    def argument(self, array: Any) -> str | None:
        """The name of the argument that is equal to an array, if any."""
        if id(array) in self._arguments:
            return self._arguments[id(array)].name
        values: Any = host(array)
        for argument in self._arguments.values():
            if np.array_equal(argument.values, values, equal_nan=True):
                return argument.name
        return None

    def _hits_of(self, arrays: Sequence[Any]) -> tuple[Hit, ...]:
        hits: dict[int, Hit] = {}
        for x in arrays:
            hits.update((id(h), h) for h in self._derived.get(id(x), (None, ()))[1])
        return tuple(hits.values())

    def add_argument(self, array: ArrayLike, name: str) -> None:
        """Record an argument of the function."""
        if ir.is_reference(array):
            array = array.read(shared=True)  # pyright: ignore[reportAttributeAccessIssue]
        values = host(array)
        if values is not None and not np.isfinite(values).all():
            self._arguments[id(array)] = Argument(array, values, name)

    def made(self, array: ArrayLike, element: Callable[..., Any], *sources: ArrayLike) -> Any:
        """Take note that the array holds elements of ``sources``; returns the array."""
        values = host(array)
        if values is not None:
            hits = self._hits_of(sources)
            if hits:
                self._derived[id(array)] = array, hits
            if not np.isfinite(values).all():
                self._remember(array, Moved(sources, element), 0, sources)
        return array

    def _remember(
        self, array: ArrayLike, maker: Step | Moved, number: int, operands: Sequence[Any]
    ) -> None:
        # Python scalars have no unique id; an operand that is returned has an origin already.
        if hasattr(type(array), "aval") and all(x is not array for x in operands):
            self._origins[id(array)] = Origin(array, maker, number)

    def runs(self, primitive: Primitive, place: Location) -> Runs:
        """The ``Steps`` of an operation; those of a loop end it if a NaN would not."""
        return LoopRuns(self, place, self.count) if primitive is while_p else Runs(self, place)

    def computed(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        results: Sequence[Any],
        place: Location,
        params: dict[str, Any],
        whole: bool = True,
    ) -> None:
        """Record the results of an operation."""
        if primitive is select_n_p:
            self._select(operands, place)
        forward = ir.is_differentiated(place.names)
        hits = self._hits_of(operands) if forward else ()
        step = None
        for number, result in enumerate(results):
            values = host(result)
            if values is None:
                continue
            fresh = None
            if not np.isfinite(values).all():
                if step is None:
                    self.count += 1
                    step = Step(primitive, operands, params, place, self.count, whole)
                self._remember(result, step, number, operands)
                fresh = _fresh(primitive, operands, values) if forward else None
            if forward:
                new_hits = []
                # An operation at the location of a hit is part of the hit's derivative.
                if fresh is None or not any(hit.place.origin == place.origin for hit in hits):
                    new_hits = self._hit(primitive, operands, values, place, fresh)
                if hits or new_hits:
                    self._derived[id(result)] = result, (*hits, *new_hits)

    def _hit(self, primitive, operands, values, place, fresh) -> list[Hit]:
        mask = singular_points(primitive, operands, values.shape)
        if fresh is not None:
            mask = fresh if mask is None else mask | fresh
        if mask is None or not mask.any():
            return []
        hit = Hit(primitive, list(map(shown, operands)), values, mask, place)
        self.hits.setdefault(place.origin, []).append(hit)
        return [hit]

    def _select(self, operands: Sequence[Any], place: Location) -> None:
        for case, x in enumerate(operands[1:]):
            for hit in self._hits_of([x]):
                left_out = np.asarray(operands[0]) != case
                if hit.mask.shape == left_out.shape:
                    left_out = left_out & hit.mask
                if left_out.any():
                    hit.masks.append(Mask(case, place))


def _fresh(primitive: Primitive, operands: Sequence[Any], values: np.ndarray) -> np.ndarray | None:
    """The mask of NaNs and infinities in a result that its operands do not have, or ``None``."""
    fresh = np.zeros(values.shape, bool)
    matched = primitive in elementwise_primitives
    for finder in (np.isnan, np.isinf):
        mask = finder(values)
        for x in operands if mask.any() else ():
            operand = host(x)
            if operand is None:
                continue
            bad = finder(operand)
            if not bad.any():
                continue
            # Any element of the operand may have reached any of the result.
            if not matched:
                mask = np.zeros_like(mask)
                break
            mask = mask & ~bad
        fresh |= mask
    return fresh if fresh.any() else None


class LoopRuns(Runs):
    """The ``Steps`` of a ``while_loop``, which may not end because of a NaN in its carry."""

    __slots__ = ("_runs", "_since", "_watch")

    def __init__(self, watch: Watch, place: Location, since: int):
        super().__init__(watch, place)
        self._watch = watch
        self._since = since
        self._runs = 0  # of the loop's jaxprs, with a NaN in its carry

    def run(self, jaxpr: Jaxpr, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """Evaluate an inner jaxpr of the operation."""
        self._check_end(operands)
        return super().run(jaxpr, operands, place)

    def _check_end(self, operands: Sequence[Any]) -> None:
        """Stop a loop that may not end because of a NaN in its carry."""
        bad = [x for x in operands if self._is_new(x)]
        self._runs = self._runs + 1 if bad else 0
        if self._runs > _LONGEST:
            raise Endless(bad)

    def _is_new(self, operand: Any) -> bool:
        """Whether an operand has a NaN from inside of the loop."""
        origin = self._watch.origin_of(operand)
        if origin is None or (isinstance(origin.maker, Step) and origin.maker.order <= self._since):
            return False
        values = host(operand)
        return values is not None and bool(np.isnan(values).any())
