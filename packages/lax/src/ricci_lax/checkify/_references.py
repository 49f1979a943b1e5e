"""Checking rules of references: the positions at which a jaxpr reads and writes them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, ArrayLike, Primitive
from ricci_lax.elementwise import add, convert_element_type, lt, select_n, sub
from ricci_lax.refs._forms import ARRAY, SPAN, WINDOW, Form, split_operands
from ricci_lax.refs._primitives import addupdate_p, get_p, shape_behind, swap_p
from ricci_lax.refs._views import whole_view
from ricci_lax.rules._checkify import bound, check_rules
from ricci_lax.shapes import concatenate
from ricci_lax.structure import broadcast_in_dim, full, reshape
from ricci_lax.structure._operand_types import shape_of
from ricci_pytree import tree_structure

from ._error import ErrorEffect, Slot, slots_of
from ._exceptions import FailedCheckError, OOBError, Site
from ._log import Checked, CheckLog
from ._rules import joined, report_indices

__all__: list[str] = []

# The errors that are checked in a jaxpr that runs on parts of arrays. Padding may be NaN or zero,
# so that NaN and division by zero in it mean nothing.
_kinds = frozenset({OOBError, FailedCheckError})


def report_positions(
    log: CheckLog,
    primitive: Primitive,
    shape: tuple[int, ...],
    forms: Sequence[Form],
    operands: Sequence[ArrayLike],
) -> None:
    """Report the first position of several indices, one after the other, that is out of bounds.

    Static positions are checked when the index is read.

    Args:
      log: the log.
      primitive: the operation that reads or writes the reference.
      shape: the shape of the reference.
      forms, operands: the forms of the indices, and their positions.
    """
    for used in index_uses(shape, forms, operands):
        index: Any = used.index
        if used.count is not None:
            index = _ends(index, used.count)
        if used.counts_back:
            index = _from_the_start(index, used.shape[used.axis])
        report_axis(log, primitive, used.shape, used.axis, index, used.span)


class IndexUse(ir.TupleRecord):
    """An operand that indexes a reference or a view of one along an axis.

    Attributes:
      shape: the shape of what is indexed.
      axis: the axis.
      index: the operand.
      span: the number of elements from the first that is read or written to the last.
      counts_back: whether negative numbers count from the end.
      count: the operand that is the number of elements from ``index`` on, where it is traced.
    """

    shape: tuple[int, ...]
    axis: int
    index: Any
    span: int
    counts_back: bool
    count: Any = None


def index_uses(
    shape: tuple[int, ...], forms: Sequence[Form], operands: Sequence[Any]
) -> Iterator[IndexUse]:
    """Yield the operands of several indices, one after the other, that are positions.

    Args:
      shape: the shape of the reference.
      forms, operands: the forms of the indices, and their positions: values or variables.
    """
    groups = split_operands(forms, operands)
    for place, (form, positions) in enumerate(zip(forms, groups, strict=True)):
        if whole_view(form) is None:
            remaining = iter(positions)
            for axis, part in enumerate(form):
                if part.kind == SPAN:
                    start = next(remaining) if part.start is None else np.int32(part.start)
                    yield IndexUse(shape, axis, start, 1, False, next(remaining))
                    continue
                if part.start is not None:
                    continue
                span = (part.size - 1) * part.step + 1 if part.kind == WINDOW and part.size else 1
                index = next(remaining)
                if part.size:
                    yield IndexUse(shape, axis, index, span, part.kind == ARRAY)
        if place + 1 < len(forms):
            shape = shape_behind(form, shape, positions)


def report_axis(
    log: CheckLog,
    primitive: Primitive,
    shape: tuple[int, ...],
    axis: int,
    index: ArrayLike,
    size: int = 1,
) -> None:
    """Report the first of some positions along an axis at which a window leaves an array.

    Args:
      log: the log.
      primitive: the operation.
      shape: the shape of the array.
      axis: the axis.
      index: integers.
      size: the size of the window.
    """
    if OOBError in log.enabled:
        sizes = tuple([size if a == axis else 1 for a in range(len(shape))])
        column = reshape(index, (*shape_of(index), 1))
        report_indices(log, primitive, shape, column, (axis,), sizes)


def _ends(start: ArrayLike, count: ArrayLike) -> Array:
    """The first and the last of a number of positions; 0 if there are none."""
    first, size = (convert_element_type(x, np.int32) for x in (start, count))
    last = add(first, sub(size, np.int32(1)))
    ends = concatenate([reshape(first, (1,)), reshape(last, (1,))], 0)
    is_empty = broadcast_in_dim(lt(size, np.int32(1)), (2,), ())
    return select_n(is_empty, ends, full((2,), 0, np.int32))


def _from_the_start(index: Array, size: int) -> Array:
    """Positions counted from the start; as NumPy's, they may count from the end."""
    if ir.issubdtype(index.dtype, np.unsignedinteger):
        return index
    wide = convert_element_type(index, np.int32)
    dims = shape_of(wide)
    negative = lt(wide, full(dims, 0, np.int32))
    return select_n(negative, wide, add(wide, full(dims, size, np.int32)))


def _get(
    log: CheckLog, primitive: Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    ref, *positions = operands
    report_positions(log, primitive, ref.shape, params["transforms"], positions)
    return bound(primitive, operands, params)


def _update(
    log: CheckLog, primitive: Primitive, operands: list[Any], params: dict[str, Any]
) -> list[Any]:
    ref, _, *positions = operands
    report_positions(log, primitive, ref.shape, params["transforms"], positions)
    return bound(primitive, operands, params)


check_rules.define(get_p, _get)
check_rules.define(swap_p, _update)
check_rules.define(addupdate_p, _update)


class RepeatedChecks(ir.TupleRecord):
    """The checks of a jaxpr of references that runs several times.

    Attributes:
      jaxpr: the jaxpr with further references behind its own. They hold its first error: before
        the first run booleans among them are false.
      checked: the kinds and the sites of the errors.
    """

    jaxpr: ir.Jaxpr
    checked: Checked

    def absorb(self, log: CheckLog, values: Sequence[Any]) -> None:
        """Add the first error to a log.

        Args:
          log: the log.
          values: the values of the further references after the last run.
        """
        log.absorb(self.checked, values)


def repeated_checks(
    log: CheckLog,
    jaxpr: ir.Jaxpr,
    position: Callable[[], ArrayLike],
    error_type: type[OOBError],
    place: Callable[[tuple[Any, ...]], str],
) -> RepeatedChecks | None:
    """Return the checks of a jaxpr of references that runs several times; None without any.

    Indices and users' checks are checked, if the log enables them.

    Args:
      log: the log.
      jaxpr: the jaxpr, which has no results.
      position: returns the position of a run, integers; called while the jaxpr is traced.
      error_type: the class of an index out of bounds. Its facts are those of ``OOBError`` and the
        place, its payload that of ``OOBError`` and the position.
      place: describes the place of a site's source.
    """
    inner = CheckLog(log.enabled & _kinds).checked(jaxpr, collapse=True)
    if not inner.effects:
        return None
    count = len(jaxpr.invars)

    def with_position(slots: dict[ErrorEffect, Slot], run: ArrayLike) -> list[Any]:
        placed = lambda e, slot: (*slot.payload, run) if e.error_type is OOBError else slot.payload
        return [x for e, slot in slots.items() for x in (slot.pred, slot.code, *placed(e, slot))]

    effects: tuple[ErrorEffect, ...] = ()

    def fun(*refs: ir.Ref) -> list[Any]:
        leaves = ir.eval_jaxpr(inner.jaxpr, inner.jaxpr.consts, *refs[:count])[: inner.leaf_count]
        # The buffers live from run to run. An error that they hold is of an earlier run, and stays:
        # of this run's errors only those become the first that none was before.
        errors = with_position(slots_of(inner.effects, leaves), position())
        buffers = refs[count:]
        first = joined(effects, [ref[...] for ref in buffers], errors)
        for ref, value in zip(buffers, first, strict=True):
            ref[...] = value
        return []

    shape = ir.eval_shape(position)
    run_aval = ir.ShapedArray(shape.shape, shape.dtype)
    # The payload of an index out of bounds has the position behind its own fields.
    effects = tuple(
        [
            ErrorEffect(error_type, (*e.shape_dtypes, run_aval)) if e.error_type is OOBError else e
            for e in inner.effects
        ]
    )
    slot_avals = [x for e in effects for x in (_flag, _code, *e.shape_dtypes)]
    refs = [ir.AbstractRef(ir.ShapedArray(x.shape, x.dtype)) for x in slot_avals]
    program = ir.trace_to_jaxpr(fun, [*jaxpr.in_avals, *refs], jaxpr.debug_info)
    both = tree_structure((0, 0))
    sites = [
        Site(error_type, s.source, (*s.facts, place(s.source)), both)
        if s.error_type is OOBError
        else s
        for s in inner.sites
    ]
    return RepeatedChecks(program, Checked(program, effects, tuple(sites)))


_flag: ir.ShapedArray = ir.ShapedArray((), np.dtype(np.bool_))
_code: ir.ShapedArray = ir.ShapedArray((), np.dtype(np.int32))
