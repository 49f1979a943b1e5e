"""Running operations one by one, and tracking where NaN and infinities come from.

An operation that makes a NaN or an infinity of finite operands is an *event*. The arrays that hold
its NaN or infinity remember the event, and so do arrays computed from them as long as they are not
finite. So an event that a ``where`` hides is told from one that reaches a result. A *hit* is an
operation of the forward pass at a point where its derivative is not finite.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_batching import elementwise_primitives
from ricci_ir import (
    ArrayLike,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    SettingsSwitch,
    TupleRecord,
    eval_trace,
    get_aval,
    is_differentiated,
    issubdtype,
    jaxprs_in_params,
    program_rules,
    staged_call,
    step_rules,
)
from ricci_lax.control_flow._while import while_p
from ricci_lax.elementwise._comparison import select_n_p
from ricci_lax.rules._singular import singular_points


class Place(TupleRecord):
    """Where an operation stands.

    Attributes:
      origin: the user's code object and the instruction in it.
      names: the name stack that it was traced with, preceded by those of the programs around it.
      own: the part of ``names`` that belongs to its own program.
      path: the programs around it, and which of their runs it is: ``("jit(f)", "iteration 3 …")``.
      parts: the names of Ricci's own programs around it, such as ``norm``.
    """

    origin: tuple[Any, int]
    names: tuple[str, ...]
    own: tuple[str, ...]
    path: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


class Event:
    """An operation that made a NaN (or an infinity) of operands that had none.

    Attributes:
      kind: ``"nan"`` or ``"inf"``.
      order: the earlier of two events has the smaller one.
      operation: the primitive's name, or ``None`` for an argument of the function.
      operands, result: NumPy arrays or scalars.
      mask: where the result holds it.
      came_in: whether an operand had it already, and no operation made it.
      causes: the events of the operands.
      matched: whether elements of the operands belong to those of the result, one to one.
      hidden: where selections have left its result out, if there were any.
    """

    __slots__ = (
        "came_in",
        "causes",
        "hidden",
        "kind",
        "mask",
        "matched",
        "operands",
        "operation",
        "order",
        "place",
        "result",
    )

    def __init__(
        self,
        kind: str,
        order: int,
        primitive: Primitive | None,
        operands: Sequence[Any],
        result: np.ndarray,
        mask: np.ndarray,
        place: Place,
        causes: Sequence["Event"],
        came_in: bool,
    ):
        self.kind = kind
        self.order = order
        self.operation = None if primitive is None else primitive.name
        self.operands = operands
        self.result = result
        self.mask = mask
        self.place = place
        self.causes = causes
        self.came_in = came_in
        self.matched = primitive in elementwise_primitives
        self.hidden: np.ndarray | None = None


class Mask(TupleRecord):
    """A ``select_n`` that does not choose a value: the value's case, and the selection's place."""

    case: int
    place: Place


class Hit:
    """An operation of a differentiated function at a point where its derivative is not finite.

    Attributes:
      mask: for which elements of its result.
      masks: the selections that leave the value out.
    """

    __slots__ = ("mask", "masks", "matched", "operands", "place", "primitive", "result")

    def __init__(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        result: np.ndarray,
        mask: np.ndarray,
        place: Place,
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


class Reached(BaseException):
    """Ends the run at an event that cannot be undone. User code may catch any ``Exception``."""

    def __init__(self, event: Event):
        self.event = event


def host(x: ArrayLike) -> np.ndarray | None:
    """The values of an array of real or complex numbers, or ``None`` for others."""
    dtype = getattr(get_aval(x), "dtype", None)
    if not isinstance(dtype, np.dtype) or not issubdtype(dtype, np.inexact):
        return None
    return np.asarray(x)


def shown(x: ArrayLike) -> np.ndarray | None:
    """The values of an operand for the report, or ``None`` if NumPy does not have its type."""
    dtype = getattr(get_aval(x), "dtype", None)
    return np.asarray(x) if isinstance(dtype, np.dtype) else None


_FINDERS = {"nan": np.isnan, "inf": np.isinf}


class Watch:
    """Runs operations, and remembers which arrays hold the NaN or infinity of which event."""

    def __init__(self):
        # By the identity of arrays, with the array: it is kept alive, so that its id stays its own.
        self._events: dict[int, tuple[Any, tuple[Event, ...]]] = {}
        self._derived: dict[int, tuple[Any, tuple[Hit, ...]]] = {}
        self.hits: dict[tuple[Any, int], list[Hit]] = {}
        self.count = 0

    # What is known of arrays

    def events_of(self, arrays: Sequence[Any]) -> tuple[Event, ...]:
        """The events whose NaN or infinities the arrays hold, the earliest first."""
        found = {e for x in arrays for e in self._events.get(id(x), (None, ()))[1]}
        return tuple(sorted(found, key=lambda e: e.order))

    def _hits_of(self, arrays: Sequence[Any]) -> tuple[Hit, ...]:
        found: dict[int, Hit] = {}
        for x in arrays:
            found.update((id(h), h) for h in self._derived.get(id(x), (None, ()))[1])
        return tuple(found.values())

    def given(self, array: ArrayLike, name: str) -> None:
        """Take note of an argument of the program."""
        values = host(array)
        if values is None:
            return
        mask = np.isnan(values)
        if mask.any():
            place = Place((None, 0), (), ())
            self._remember(array, [self._event("nan", None, [name], values, mask, place, (), True)])

    def made(self, array: ArrayLike, *sources: ArrayLike) -> Any:
        """Take note that the array holds values of ``sources``; returns the array."""
        values = host(array)
        if values is not None:
            hits = self._hits_of(sources)
            if hits:
                self._derived[id(array)] = array, hits
            if not np.isfinite(values).all():
                self._remember(array, self.events_of(sources))
        return array

    def _remember(self, array: ArrayLike, events: Sequence[Event]) -> None:
        if events and hasattr(type(array), "aval"):  # the id of a Python scalar says nothing
            self._events[id(array)] = array, tuple(events)

    def _event(self, kind: str, *others: Any) -> Event:
        self.count += 1
        return Event(kind, self.count, *others)

    # Running

    def apply(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], place: Place
    ) -> list[Any]:
        """The results of an operation, run step by step where it holds programs."""
        rule = step_rules.get(primitive)
        if rule is not None:
            results = rule(Runs(self, place, primitive, self.count), *operands, **params)
            if results is not None:
                return results
        program = program_rules.get(primitive)
        if program is not None:
            jaxpr, name = program(**params)
            if _is_users(jaxpr):
                label = f"jit({name})" if primitive is staged_call.call else name
                return self.run(jaxpr, operands, place, label)
            part = place._replace(parts=(*place.parts, name.strip("_")))
            return self.run(jaxpr, operands, part)
        results = eval_trace.process(primitive, tuple(operands), params)
        results = list(results) if primitive.multiple_results else [results]
        self.computed(primitive, operands, results, place)
        return results

    def run(
        self, jaxpr: Jaxpr, operands: Sequence[Any], place: Place, label: str | None = None
    ) -> list[Any]:
        """The results of a program that the operation at ``place`` holds."""
        env: dict[int, Any] = {id(v): c for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
        env.update((id(v), x) for v, x in zip(jaxpr.invars, operands, strict=True))
        with SettingsSwitch() as switch:
            for eqn in jaxpr.eqns:
                switch.to(eqn.settings)
                values = [a.operand() if type(a) is Literal else env[id(a)] for a in eqn.invars]
                results = self.apply(eqn.primitive, values, eqn.params, inside(place, eqn, label))
                env.update((id(v), r) for v, r in zip(eqn.outvars, results, strict=True))
        return [a.operand() if type(a) is Literal else env[id(a)] for a in jaxpr.outvars]

    def computed(
        self, primitive: Primitive, operands: Sequence[Any], results: Sequence[Any], place: Place
    ) -> None:
        """Take note of the results of an operation."""
        if primitive is select_n_p:
            self._select(operands, place)
        known = self.events_of(operands)
        forward = is_differentiated(place.names)
        hits = self._hits_of(operands) if forward else ()
        for result in results:
            values = host(result)
            if values is None:
                continue
            new = []
            if not np.isfinite(values).all():
                new = self._new_events(primitive, operands, values, place, known)
                self._remember(result, [*known, *new])
            if forward:
                found = []
                roots = self._roots(operands, hits, place) if new else []
                if roots:
                    known_here = self.hits.setdefault(place.origin, [])
                    known_here += [hit for hit in roots if hit not in known_here]
                else:
                    found = self._hit(primitive, operands, values, place, new)
                if hits or found:
                    self._derived[id(result)] = result, (*hits, *found)

    def _new_events(self, primitive, operands, values, place, known) -> list[Event]:
        found = []
        for kind, finder in _FINDERS.items():
            mask = finder(values)
            if not mask.any():
                continue
            fresh, came_in = _fresh(primitive, operands, mask, finder), False
            if fresh is None or not fresh.any():
                if kind == "inf" or any(e.kind == "nan" for e in known):
                    continue
                fresh, came_in = mask, True
            kept = list(map(shown, operands))
            found.append(self._event(kind, primitive, kept, values, fresh, place, known, came_in))
        return found

    def _roots(self, operands: Sequence[Any], hits: Sequence[Hit], place: Place) -> Sequence[Hit]:
        """The hits responsible for operands that are not finite.

        A derivative has the source of the operation that it belongs to, so that hits with the same
        source come first.
        """
        same = [hit for hit in hits if hit.place.origin == place.origin]
        return same or self._hits_of([x for x in operands if id(x) in self._events])

    def _hit(self, primitive, operands, values, place, events) -> list[Hit]:
        mask = singular_points(primitive, operands, values.shape)
        for event in events:
            mask = event.mask if mask is None else mask | event.mask
        if mask is None or not mask.any():
            return []
        hit = Hit(primitive, list(map(shown, operands)), values, mask, place)
        self.hits.setdefault(place.origin, []).append(hit)
        return [hit]

    def _select(self, operands: Sequence[Any], place: Place) -> None:
        for case, x in enumerate(operands[1:]):
            for hit in self._hits_of([x]):
                left_out = np.asarray(operands[0]) != case
                if hit.mask.shape == left_out.shape:
                    left_out = left_out & hit.mask
                if left_out.any():
                    hit.masks.append(Mask(case, place))
            for event in self.events_of([x]):
                if event.mask.shape == get_aval(x).shape:  # pyright: ignore
                    left_out = np.broadcast_to(np.asarray(operands[0]) != case, event.mask.shape)
                    hidden = event.hidden
                    event.hidden = left_out if hidden is None else hidden | left_out


def inside(place: Place, eqn: JaxprEqn, label: str | None) -> Place:
    """Where an equation stands, in the program of an operation at ``place``."""
    code, offset, names = eqn.raw_source
    return Place(
        (code, offset) if code is not None else place.origin,
        place.names + names,
        names,
        place.path if label is None else (*place.path, label),
        place.parts,
    )


def _is_users(jaxpr: Jaxpr) -> bool:
    """Whether a program is made of user code, rather than that of a function of Ricci's."""
    return jaxpr.derived("holds user code", lambda: (_holds_user_code(jaxpr),))[0]


def _holds_user_code(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.raw_source[0] is not None or any(map(_is_users, jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def _fresh(
    primitive: Primitive,
    operands: Sequence[Any],
    mask: np.ndarray,
    finder: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray | None:
    """Where the result has a NaN (or infinity) and the operands have none at that element.

    ``None`` if an operand has one whose elements do not belong to those of the result.
    """
    fresh = mask
    matched = primitive in elementwise_primitives
    for x in operands:
        values = host(x)
        if values is None:
            continue
        bad = finder(values)
        if not bad.any():
            continue
        if not matched or values.shape not in ((), mask.shape):
            return None
        fresh = fresh & ~bad
    return fresh


class Runs:
    """The ``Steps`` of one operation that holds programs."""

    __slots__ = ("_place", "_primitive", "_since", "_watch")

    def __init__(self, watch: Watch, place: Place, primitive: Primitive, since: int):
        self._watch = watch
        self._place = place
        self._primitive = primitive
        self._since = since

    def run(self, jaxpr: Jaxpr, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """The results of a program that the operation holds."""
        if self._primitive is while_p:
            # A NaN in the carry stays there, and may keep the loop from ending.
            for event in self._watch.events_of(operands):
                if event.kind == "nan" and event.order > self._since:
                    raise Reached(event)
        return self._watch.run(jaxpr, operands, self._place, place)

    def step(self, eqn: JaxprEqn, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """The results of one equation."""
        where = inside(self._place, eqn, place)
        with SettingsSwitch() as switch:
            switch.to(eqn.settings)
            return self._watch.apply(eqn.primitive, operands, eqn.params, where)

    def computed(
        self,
        eqn: JaxprEqn,
        operands: Sequence[Any],
        results: Sequence[Any],
        place: str | None = None,
    ) -> None:
        """Take note of the results of an equation that the caller computed itself."""
        self._watch.computed(eqn.primitive, operands, results, inside(self._place, eqn, place))

    def made(self, array: ArrayLike, *sources: ArrayLike) -> Any:
        """Take note that the array holds values of ``sources``; returns the array."""
        return self._watch.made(array, *sources)
