"""Follow a NaN back, element by element, to the operation that caused it.

From a bad element of a result the trail goes to an element of an operand that made it bad, and so
on, until an operation has no such operand. For elementwise operations that is the element at the
same index. Other operations are run again on operands of ones with the bad elements put in: if the
result is bad, it depends on one of these, and bisection finds it. That needs no rule of the
operation. Where it fails, as for factorizations that return NaN in any case, the event has a doubt.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_batching import elementwise_primitives
from ricci_lax.elementwise._comparison import select_n_p
from ricci_lax.stepping import Location

from ._watch import Moved, Origin, Step, Watch, host, shown

type Index = tuple[int, ...]

# Operations that are skipped in reports in favour of the operation that uses their result.
_CONVERSIONS = frozenset({"broadcast_in_dim", "convert_element_type", "copy", "reshape", "squeeze"})
# Operations whose results are elements of their operands.
_MOVING = _CONVERSIONS | set(
    "concatenate dynamic_slice dynamic_update_slice expand_dims gather rev select_n slice "
    "transpose".split()
)
_SIGNS: dict[str, Callable[[Any], Any]] = {"nan": np.isnan, "inf": np.isinf}


class Event:
    """An operation whose result has a NaN (or an infinity) and whose operands have none.

    Attributes:
      kind: ``"nan"`` or ``"inf"``.
      order: the order of its step; -1 without one.
      primitive: the operation; ``None`` for an argument of the function.
      params: its parameters.
      operands, result: NumPy arrays or scalars.
      index: the element of the result.
      place: its location.
      is_carried: whether it is an argument's element that the function returns without using it.
      cause: for a NaN computed from an infinity, the event of that infinity.
      came_in: whether it is a constant or closed over, rather than the result of an operation.
      doubt: the reason why the values could not be followed with certainty; empty if they could.
    """

    __slots__ = (
        "came_in",
        "cause",
        "doubt",
        "index",
        "is_carried",
        "kind",
        "operands",
        "order",
        "params",
        "place",
        "primitive",
        "result",
    )

    def __init__(
        self,
        kind: str,
        index: Index,
        result: np.ndarray,
        step: Step | None,
        operands: Sequence[Any],
        came_in: bool = False,
        cause: "Event | None" = None,
        doubt: str = "",
    ):
        self.kind = kind
        self.index = index
        self.result = result
        self.order = -1 if step is None else step.order
        self.primitive: ir.Primitive | None = None if step is None else step.primitive
        self.params: dict[str, Any] = {} if step is None else step.params
        self.place: Location = Location((None, 0), (), ()) if step is None else step.place
        self.operands = operands
        self.came_in = came_in
        self.cause = cause
        self.doubt = doubt
        self.is_carried = False

    @property
    def operation(self) -> str:
        """The primitive's name, or ``"argument"``."""
        return "argument" if self.primitive is None else self.primitive.name

    @property
    def is_unknown(self) -> bool:
        """Whether neither an operation nor an argument has the value."""
        return self.primitive is None and self.operands[0] is None

    @property
    def matched(self) -> bool:
        """Whether the operation is elementwise."""
        return self.primitive in elementwise_primitives


class _Source(ir.TupleRecord):
    """An element of an operand, and the reason for doubt about it; empty if there is none."""

    operand: int
    element: Index
    doubt: str = ""


def follow(watch: Watch, array: object, index: Index, kind: str) -> Event:
    """Follow an element of an array back to its event."""
    doubts: list[str] = []
    user: Step | None = None  # the step that used the array, apart from conversions
    user_index: Index = ()
    user_result: Any = None
    is_carried = True
    while True:
        origin = watch.origin_of(array)
        if origin is None:
            event = _came_in(watch, array, index, kind, user, user_result, user_index, doubts)
            event.is_carried = is_carried and event.primitive is None and not event.is_unknown
            return event
        if isinstance(origin.maker, Moved):
            number, index = origin.maker.element(index)
            array = origin.maker.sources[number]
            continue
        step = origin.maker
        is_carried = is_carried and step.primitive.name in _MOVING
        if user is None or step.primitive.name not in _CONVERSIONS:
            user, user_index, user_result = step, index, array
        source = _source(origin, index, kind)
        if source is None:
            cause = None
            if kind == "nan":
                # No operand has a NaN: infinities may have made it, as in inf - inf or 0 * inf.
                infinite = _source(origin, index, "inf", of_nan=True)
                if infinite is not None:
                    cause = follow(watch, step.operands[infinite.operand], infinite.element, "inf")
                    if infinite.doubt and not cause.doubt:
                        cause.doubt = infinite.doubt
            return Event(
                kind,
                index,
                np.asarray(array),
                step,
                list(map(shown, step.operands)),
                cause=cause,
                doubt="; ".join(dict.fromkeys(doubts)),
            )
        if source.doubt:
            doubts.append(source.doubt)
        array, index = step.operands[source.operand], source.element


def _came_in(
    watch: Watch,
    array: object,
    index: Index,
    kind: str,
    user: Step | None,
    result: object,
    result_index: Index,
    doubts: Sequence[str],
) -> Event:
    """The event of an element that is not the result of any operation."""
    doubt = "; ".join(dict.fromkeys(doubts))
    name = watch.argument(array)
    if name is not None or user is None:
        return Event(kind, index, np.asarray(array), None, [name], True, None, doubt)
    if kind == "nan" and user.primitive is select_n_p:
        doubt = (
            doubt or "a condition selects a nan here, and the condition's origin is not followed"
        )
    operands = list(map(shown, user.operands))
    return Event(kind, result_index, np.asarray(result), user, operands, True, None, doubt)


def _source(origin: Origin, index: Index, kind: str, of_nan: bool = False) -> _Source | None:
    """Find the operand's element that made an element NaN (or infinite); ``None`` if none did.

    Args:
      origin: the step.
      index: the element of its result.
      kind: the kind of elements to search for in the operands.
      of_nan: whether the result is NaN, although infinities are searched for.
    """
    step: Any = origin.maker
    find = _SIGNS[kind]
    values = [host(x) for x in step.operands]
    bad = [i for i, x in enumerate(values) if x is not None and find(x).any()]
    if not bad:
        return None
    if step.primitive in elementwise_primitives:
        return _elementwise_source(step, values, bad, index, find)
    if not step.whole:
        return _distant_source(step, values, bad, index, find)
    if step.primitive.name.endswith("callback") or any(map(ir.is_reference, step.operands)):
        first = tuple(map(int, np.argwhere(find(values[bad[0]]))[0]))
        return _Source(bad[0], first, f"the dependencies of {step.primitive.name} are unknown")
    try:
        return _Probe(origin, values, bad, index, kind, of_nan).source()
    except Exception as error:  # noqa: BLE001  # a primitive of users may not take other operands
        first = tuple(map(int, np.argwhere(find(values[bad[0]]))[0]))
        return _Source(bad[0], first, f"{step.primitive.name} failed when run again: {error}")


def _at(values: np.ndarray, index: Index) -> Index:
    """The index of an elementwise operation's operand, which may be broadcast."""
    tail = index[len(index) - values.ndim :]
    return tuple(0 if size == 1 else i for i, size in zip(tail, values.shape, strict=True))


def _elementwise_source(
    step: Step, values: Sequence[Any], bad: Sequence[int], index: Index, find: Callable[[Any], Any]
) -> _Source | None:
    # The case that was not selected has no influence on the element.
    if step.primitive is select_n_p:
        which = np.asarray(step.operands[0])
        chosen = 1 + int(which[_at(which, index)])
        bad = [i for i in bad if i == chosen]
    reaching = [i for i in bad if find(values[i][_at(values[i], index)])]
    return _Source(reaching[0], _at(values[reaching[0]], index)) if reaching else None


def _distant_source(
    step: Step, values: Sequence[Any], bad: Sequence[int], index: Index, find: Callable[[Any], Any]
) -> _Source:
    """Find the source of a collective's element, without the shards of other devices."""
    aligned = [
        i for i in bad if len(values[i].shape) == len(index) and _has(values[i], index)
        and find(values[i][index])
    ]  # fmt: skip
    if len(aligned) == 1 or (aligned and step.primitive.name in _REDUCTIONS):
        return _Source(aligned[0], index)
    first = tuple(map(int, np.argwhere(find(values[bad[0]]))[0]))
    doubt = "" if len(bad) == 1 else f"{step.primitive.name} may have taken it from another device"
    return _Source(bad[0], first, doubt)


_REDUCTIONS = frozenset({"psum", "pmax", "pmin", "psum_invariant", "pmean"})


def _has(values: np.ndarray, index: Index) -> bool:
    return all(i < size for i, size in zip(index, values.shape, strict=True))


class _Probe:
    """Runs of one step on modified operands, to find the elements that an element depends on."""

    def __init__(
        self,
        origin: Origin,
        values: Sequence[np.ndarray | None],
        bad: Sequence[int],
        index: Index,
        kind: str,
        of_nan: bool,
    ):
        self.step: Any = origin.maker
        self.number = origin.number
        self.values = values
        self.bad = bad
        self.index = index
        self.find = _SIGNS[kind]
        # For an infinite result infinities are put in, with their signs. A NaN may need several
        # infinities: to find one that it depends on, NaNs are put in.
        self.keeps = kind == "inf" and not of_nan
        self.calm: list[Any] = []  # operands without bad elements

    def source(self) -> _Source | None:
        """Find the (first) element that the result's element depends on."""
        # Each row is an element: the operand's number, and the position in its flattened values.
        places = np.concatenate(
            [_rows(i, np.flatnonzero(self.find(self.values[i]))) for i in self.bad]
        )
        # The operands' bad elements are replaced by harmless ones. If the result's element is then
        # good, and is bad again with the bad elements put back, some of them are its source;
        # bisection finds which. Not every operation accepts every filling: a solver needs regular
        # matrices.
        calm = False
        for filling in (_ones, _identities, _finite):
            self.calm = [x if v is None else filling(v) for x, v in self._operands()]
            calm = not self._shows(places[:0])
            if calm and self._shows(places):
                return self._named(self._halved(places)[0])
        # The last filling is the original values, where they are finite.
        name = self.step.primitive.name
        if not calm:
            doubt = f"{name} may have made it" if name in _FACTORIZATIONS else ""
            return self._named(places[0], doubt) if doubt else None
        return self._named(
            places[0], "" if len(places) == 1 else f"{name} uses several such elements"
        )

    def _halved(self, places: np.ndarray) -> np.ndarray:
        """Bisect to as few elements as make the result bad."""
        while len(places) > 1:
            half = len(places) // 2
            if self._shows(places[:half]):
                places = places[:half]
            elif self._shows(places[half:]):
                places = places[half:]
            else:  # all are needed, as for the maximum of a row of -inf
                break
        return places

    def _named(self, place: np.ndarray, doubt: str = "") -> _Source:
        values: Any = self.values[place[0]]
        index = np.unravel_index(place[1], values.shape)
        return _Source(int(place[0]), tuple(map(int, index)), doubt)

    def _operands(self) -> Any:
        return zip(self.step.operands, self.values, strict=True)

    def _shows(self, places: np.ndarray) -> bool:
        """Run the step with these elements bad; return whether the result's element is bad."""
        operands = list(self.calm)
        for i in set(places[:, 0].tolist()):
            flat = places[places[:, 0] == i, 1]
            values: Any = self.values[i]
            operands[i] = operands[i].copy()
            operands[i].reshape(-1)[flat] = values.reshape(-1)[flat] if self.keeps else np.nan
        arrays = [
            x if v is None else ir.as_array(x) for x, v in zip(operands, self.values, strict=True)
        ]
        step = self.step
        with ir.ensure_compile_time_eval(), ir.SettingsSwitch(step.settings):
            results = ir.eval_trace.process(step.primitive, tuple(arrays), step.params)
        result = results[self.number] if step.primitive.multiple_results else results
        element = np.asarray(result)[self.index]
        return bool(np.isinf(element) if self.keeps else np.isnan(element))


def _rows(operand: int, flat: np.ndarray) -> np.ndarray:
    return np.stack([np.full_like(flat, operand), flat], axis=1)


# They return NaN for matrices that they cannot factor, whatever their elements are.
_FACTORIZATIONS = frozenset(
    "cholesky eig eigh householder_product lu qr schur svd triangular_solve tridiagonal".split()
)


def _finite(values: np.ndarray) -> np.ndarray:
    """The operand's values, with ones in place of those that are not finite."""
    return np.where(np.isfinite(values), values, np.ones_like(values))


def _ones(values: np.ndarray) -> np.ndarray:
    return np.ones_like(values)


def _identities(values: np.ndarray) -> np.ndarray:
    """Identity matrices, which factorizations and solvers accept."""
    if values.ndim < 2:
        return np.ones_like(values)
    return np.broadcast_to(np.eye(*values.shape[-2:], dtype=values.dtype), values.shape).copy()
