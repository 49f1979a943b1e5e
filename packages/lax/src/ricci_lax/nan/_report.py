"""Reports on the operation that caused a NaN or an infinity."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_lax.stepping import Location, source_text

from ._advice import advice, remedy
from ._trail import Event
from ._watch import Hit, Watch

__all__ = ["NonFinite"]

_PRINTED = 8  # arrays of up to this many elements are printed whole


class ForwardValue(ir.Record):
    """An operation of the forward pass at a point where its derivative is not finite.

    Attributes:
      operation: the primitive.
      source: its location in the user's code.
      index: the element of its result.
      operands: NumPy arrays or scalars; ``None`` for those of other types.
      masked_at: the location of a ``where`` that leaves the value out of the result, if any.
      remedy: a suggested fix, in lines of text.
    """

    operation: str
    source: ir.Source
    index: tuple[int, ...]
    operands: tuple[Any, ...]
    masked_at: ir.Source | None
    remedy: tuple[str, ...]
    _parts: tuple[str, ...] = ()
    _shape: tuple[int, ...] = ()
    _matched: bool = True


@ir.exported
class NonFinite(ir.Record):
    """The first operation whose NaN (or infinity) reaches a result.

    Attributes:
      kind: ``"nan"`` or ``"inf"``.
      operation: the primitive; ``"argument"`` if an argument of the function has it.
      source: its location in the user's code: ``file``, ``line`` and ``function``.
      operands: NumPy arrays or scalars; ``None`` for those of other types.
      result: the operation's result.
      index: the first element of the result that is not finite.
      path: the enclosing jitted functions, iterations of loops, branches and devices.
      examples: for each enclosing ``vmap`` the example's index, and the number of examples.
      backward: whether it is part of the backward pass of a gradient.
      came_in: whether it is a constant or closed over, rather than the result of an operation.
      forward: for one in the derivative of a function, the forward operation responsible.
      cause: for a NaN computed from an infinity, the event of that infinity.
      remedy: a suggested fix, in lines of text; empty if there is no general one.
      doubt: the reason why it may be another operation; empty if the values could be followed.
    """

    kind: str
    operation: str
    source: ir.Source
    operands: tuple[Any, ...]
    result: Any
    index: tuple[int, ...]
    path: tuple[str, ...]
    examples: tuple[tuple[int, int], ...]
    backward: bool
    came_in: bool = False
    forward: ForwardValue | None = None
    cause: "NonFinite | None" = None
    remedy: tuple[str, ...] = ()
    doubt: str = ""
    _unsure: tuple[str, ...] = ()
    _parts: tuple[str, ...] = ()
    _matched: bool = True

    @property
    def file(self) -> str:
        """The user's file."""
        return self.source.file

    @property
    def line(self) -> int:
        """The line in it."""
        return self.source.line

    @property
    def source_text(self) -> str:
        """The text of that line."""
        return source_text(self.source)

    @property
    def rows(self) -> list[dict[str, object]]:
        """The operations of the report as data: the NaN's, its cause's and the forward one."""
        events = [event for event in (self, self.cause) if event is not None]
        rows = [
            _row(event.kind, event.operation, event.source, event.index, event.operands)
            for event in events
        ]
        if self.forward is not None:
            at = self.forward
            rows.append(_row("forward", at.operation, at.source, at.index, at.operands))
        return rows

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, str(self))

    def __str__(self) -> str:
        if self.operation == "argument":
            return "\n  ".join([self._origin_outside(), *self._call()])
        lines = [*self._head(), *self._inside()]
        if self.cause is not None and self.forward is None:
            lines += self.cause._head(besides=self.source)
        if self.forward is not None:
            lines += _forward_lines(self.forward, self)
        else:
            lines += self.remedy
        doubts = [self.doubt, "" if self.cause is None else self.cause.doubt]
        lines += [f"not certain: {doubt}" for doubt in dict.fromkeys(doubts) if doubt]
        return "\n".join([lines[0], *(f"  {line}" for line in lines[1:])])

    def _origin_outside(self) -> str:
        """The sentence on a value that no operation made."""
        if self.operands[0] is None:
            return (
                f"{self.kind} is in {self._element_of()}a result that no operation made: it is "
                "a constant or closed over, or computed elsewhere, as by NumPy."
            )
        value = f"{self._element_of()}argument {self.operands[0]}"
        return f"{self.kind} was given: {value} has it already."

    def _call(self) -> list[str]:
        """The line of the call that a value was passed to, where it is known."""
        if self.source.code is None:
            return []
        text = self.source_text
        return [f"in the call at {_position(self.source)}", *([f"  {text}"] if text else [])]

    def _element_of(self) -> str:
        return f"{_element(self.index, self.result)} of " if self.index else ""

    def _head(self, besides: ir.Source | None = None) -> list[str]:
        """The operation, its location and its operands; a location like ``besides`` is left out."""
        if self.operation == "argument":  # the cause of a NaN that was made of an infinity
            name = self.operands[0]
            value = "a value that no operation made" if name is None else f"argument {name}"
            return [f"the {self.kind} there is in {self._element_of()}{value}"]
        which = " in the backward pass" if self.backward else ""
        verb = "goes into" if self.came_in else "from"
        text = self.source_text
        values = _values(self.operands, self.result, self.index, self._matched)
        same_line = besides is not None and _line(besides) == _line(self.source)
        location = ", at the same line" if same_line else ""
        if self.source.code is not None and not same_line:
            location = f", at {_position(self.source)}"
        start = self.kind if besides is None else f"the {self.kind} there"
        verb = verb if besides is None or self.came_in else "comes from"
        start += ", perhaps," if self.doubt else ""
        lines = [f"{start} {verb} {self._called()}{which}{location}"]
        if text and not same_line:
            lines.append(f"  {text}")
        lines.append(f"{self.operation} of {values}")
        if self.came_in:
            lines.append(
                "no operation made it: it is a constant, closed over or computed elsewhere"
            )
        return lines

    def _called(self) -> str:
        return _in_part(self.operation, self._parts)

    def _inside(self) -> list[str]:
        examples = [
            f"example {i} of vmap (of {size}){unsure}"
            for (i, size), unsure in zip(self.examples, self._unsure, strict=True)
        ]
        path = [*self.path, *examples]
        return [f"in {' > '.join(path)}"] if path else []


def _row(
    role: str, operation: str, source: ir.Source, index: tuple[int, ...], operands: Sequence[Any]
) -> dict[str, object]:
    return {
        "role": role,
        "operation": operation,
        "file": source.file,
        "line": source.line,
        "function": source.function,
        "text": source_text(source),
        "index": index,
        "operands": [x if isinstance(x, str) else _whole(x) for x in operands],
    }


def _in_part(operation: str, parts: Sequence[str]) -> str:
    """An operation, and the function of Ricci's that it is part of, for messages."""
    return f"{operation} (in {parts[-1]})" if parts and parts[-1] != operation else operation


def _line(source: ir.Source) -> tuple[str, int]:
    return source.file, source.line


def _position(source: ir.Source) -> str:
    return f"{ir.shown_file(source.file)}:{source.line} ({source.function})"


def _number(x: np.ndarray | np.generic) -> str:
    return str(x) if np.iscomplexobj(x) else f"{x.item():.7g}" if x.dtype.kind != "b" else str(x)


def _element(index: Sequence[int], array: np.ndarray | np.generic) -> str:
    inside = ", ".join(map(str, index))
    return f"element [{inside}] of {ir.ShapedArray(array.shape, array.dtype).str_short()}"


def _values(
    operands: Sequence[Any], result: np.ndarray, index: tuple[int, ...], matched: bool
) -> str:
    """The operands as text, and the element of the result."""
    element = f", {_element(index, result)}" if result.shape else ""
    if matched and result.size > _PRINTED:
        texts = [_at(x, result.shape, index) for x in operands]
    else:
        texts = list(map(_whole, operands))
    return (" and ".join(texts) or "nothing") + element


def _at(x: np.ndarray | None, shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    """The element of an operand at an index of the result, as text."""
    return "?" if x is None else _number(np.broadcast_to(x, shape)[index])


def _whole(x: np.ndarray | None) -> str:
    """A small array as text; a large one by its type and its range."""
    if x is None:
        return "?"
    if not x.shape:
        return _number(x[()])
    if x.size <= _PRINTED:
        return np.array2string(x, separator=", ", precision=7).replace("\n", "")
    name = ir.ShapedArray(x.shape, x.dtype).str_short()
    if x.dtype.kind in "biu":
        return name
    bad = ~np.isfinite(x)
    if bad.any():
        first = tuple(np.argwhere(bad)[0])
        return f"{name} (with {_number(x[first])} at [{', '.join(map(str, first))}])"
    if np.iscomplexobj(x):
        return name
    return f"{name} (from {_number(x.min())} to {_number(x.max())})"


def _forward_lines(forward: ForwardValue, finding: NonFinite) -> list[str]:
    values = " and ".join(
        _at(x, forward._shape, forward.index) if forward._matched else _whole(x)
        for x in forward.operands
    )
    same = _line(forward.source) == _line(finding.source)
    location = "the same line" if same else _position(forward.source)
    element = f" (element [{', '.join(map(str, forward.index))}])" if forward.index else ""
    lines = [
        f"forward: {_in_part(forward.operation, forward._parts)} of {values}{element}, "
        f"at {location}, has no finite derivative there"
    ]
    if not same:
        lines.append(f"  {source_text(forward.source)}")
    if forward.masked_at is not None:
        masked = forward.masked_at
        same_file = masked.file == finding.source.file
        location = f"in line {masked.line}" if same_file else f"at {_position(masked)}"
        lines.append(
            f"the where {location} leaves that value out, but its derivative is taken: "
            "0 times it is nan"
        )
    return [*lines, *forward.remedy]


# Making a report of an event


def report(event: Event, watch: Watch) -> NonFinite:
    """Report an event: its operation, its operands and its location."""
    place = event.place
    index = event.index
    examples, unsure = _examples(place, event.result.shape, index)
    cause = None if event.cause is None else report(event.cause, watch)
    hit = _hit_for(event, watch)
    forward = None if hit is None else _forward(hit, event.cause or event)
    if hit is None and cause is not None:
        forward = cause.forward
    elif cause is not None and cause.source[:2] == ir.Source(*place.origin)[:2]:
        cause = None  # the derivative of the same operation
    return NonFinite(
        event.kind,
        event.operation,
        ir.Source(place.origin[0], place.origin[1], place.names),
        tuple(event.operands),
        event.result,
        index,
        place.path,
        examples,
        ir.is_transposed(place.names),
        event.came_in,
        forward,
        cause,
        advice(event) if forward is None else forward.remedy,
        event.doubt or ("" if event.cause is None else event.cause.doubt),
        unsure,
        place.parts,
        event.matched,
    )


def _examples(
    place: Location, shape: tuple[int, ...], index: tuple[int, ...]
) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]]:
    """The example of each vmap that an element belongs to, guessed by the sizes of dimensions."""
    free = list(range(len(shape)))
    examples, unsure = [], []
    for name in place.inner_names:
        if type(name) is not ir.Transformation or name.size is None:
            continue
        dims = [d for d in free if shape[d] == name.size]
        if not dims:
            continue
        free.remove(dims[0])
        examples.append((index[dims[0]], name.size))
        others = sorted({index[d] for d in dims[1:]} - {index[dims[0]]})
        unsure.append(f", or {' or '.join(map(str, others))}: sizes are alike" if others else "")
    return tuple(examples), tuple(unsure)


def _hit_for(event: Event, watch: Watch) -> Hit | None:
    """The forward operation whose derivative an event belongs to, if that is not finite.

    The operations of a derivative have the location of the forward operation. In the backward pass
    that may be the operation with the infinite value; outside of it, where an infinite value makes
    a NaN, no derivative is the cause.
    """
    if event.came_in and event.cause is None:
        return None
    cause = event.cause or event
    hits = watch.hits.get(cause.place.origin, [])
    if event.cause is None and not ir.is_transposed(event.place.names):
        hits = [hit for hit in hits if not hit.place.parts]
    if not hits:
        return None
    # Take the hits of the same execution of the jaxpr, or else of the last one. The first of these
    # is the user's operation.
    paths = [hit.place.path for hit in hits]
    path = cause.place.path if cause.place.path in paths else paths[-1]
    hits = [hit for hit in hits if hit.place.path == path]
    if hits[0].operation == cause.operation and not ir.is_transposed(event.place.names):
        return None
    return next((hit for hit in hits if _meets(hit, cause)), hits[0])


def _meets(hit: Hit, event: Event) -> bool:
    return hit.mask.shape == event.result.shape and bool(hit.mask[event.index])


def _forward(hit: Hit, event: Event) -> ForwardValue:
    at = event.index
    if not _meets(hit, event):
        at = tuple(int(i) for i in np.argwhere(hit.mask)[0])
    masked = ir.Source(*hit.masks[0].place.origin) if hit.masks else None
    return ForwardValue(
        hit.operation,
        ir.Source(*hit.place.origin),
        at,
        tuple(hit.operands),
        masked,
        remedy(hit),
        hit.place.parts,
        hit.mask.shape,
        hit.matched,
    )
