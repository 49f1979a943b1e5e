"""Rules of primitives for a batch in pieces: how a result depends on the examples.

A value is the same for all pieces (its form is ``None``), has a row for each example along an axis
(the number of the axis), or is a sum over the examples, to which each piece contributes (``SUM``).
A rule says which of these a result is; it refuses operations that mix examples otherwise, so that a
function that the rules accept is the sum of the results of its pieces.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import ricci_ir as ir

__all__ = ["NotInPiecesError"]

SUM: Final = -1

type Form = int | None


class NotInPiecesError(Exception):
    """The error of a function that is not a sum over the examples of a batch, as far as known."""


class Step(ir.TupleRecord):
    """An equation for a piece.

    Attributes:
      form: the form of its results.
      cuts: for each operand, the axis along which a whole value is cut to the piece's rows.
      changes: the parameters that are others for fewer rows.
    """

    form: Form
    cuts: tuple[int | None, ...]
    changes: Mapping[str, Any] = {}


# From an equation, the axis of the first operand with rows, the forms of all, and a piece's rows.
type Rule = Callable[[ir.JaxprEqn, int, Sequence[Form], int], Step]


def refuse(eqn: ir.JaxprEqn, why: str = "mixes the examples of the batch") -> NotInPiecesError:
    """Return the error of an equation that has no form."""
    return NotInPiecesError(f"{eqn.primitive.name} {why}")


def shape(atom: ir.Atom) -> tuple[int, ...]:
    return getattr(atom.aval, "shape", ())


def _kept(eqn: ir.JaxprEqn, form: Form, **changes: object) -> Step:
    return Step(form, (None,) * len(eqn.invars), changes)


def elementwise(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    """The rule of elementwise operations on rows: whole operands are cut."""
    if any(form not in (None, axis) for form in forms):
        raise refuse(eqn)
    size = shape(eqn.outvars[0])[axis]
    # An operand of size 1, or without dimensions, is broadcast.
    cuts = tuple(
        axis if form is None and shape(x)[axis : axis + 1] == (size,) else None
        for x, form in zip(eqn.invars, forms, strict=True)
    )
    return Step(axis, cuts)


def linear_in_sums(eqn: ir.JaxprEqn, forms: Sequence[Form]) -> bool:
    """Whether an operation on sums, and whole values, is linear in the sums."""
    name = eqn.primitive.name
    if name in _LINEAR:
        return True
    if name == "mul":
        return list(forms).count(SUM) == 1
    if name == "div":
        return forms[0] == SUM and forms[1] is None
    return name == "dot_general" and list(forms).count(SUM) == 1


# Linear operations of one operand.
_LINEAR = frozenset(
    "broadcast_in_dim convert_element_type copy expand_dims name neg real reduce_sum reshape rev "
    "slice squeeze stop_gradient transpose".split()
)
ADDING = frozenset({"add", "add_any", "sub"})


def _broadcast_in_dim(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    return _resized(eqn, eqn.params["broadcast_dimensions"][axis], rows, "shape")


def _resized(eqn: ir.JaxprEqn, axis: int, rows: int, name: str) -> Step:
    sizes = list(eqn.params[name])
    sizes[axis] = rows
    return _kept(eqn, axis, **{name: tuple(sizes)})


def _reshape(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    old, new = shape(eqn.invars[0]), eqn.params["new_sizes"]
    # The axis stays an axis if as many elements stand before it as before one of the same size.
    before = _size(old[:axis])
    for i, size in enumerate(new):
        if size == old[axis] and _size(new[:i]) == before:
            return _resized(eqn, i, rows, "new_sizes")
    raise refuse(eqn, "joins or splits the axis of the batch")


def _size(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _transpose(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    return _kept(eqn, eqn.params["permutation"].index(axis))


def _squeeze(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    return _without(eqn, axis, eqn.params["dimensions"])


def _without(eqn: ir.JaxprEqn, axis: int, removed: Sequence[int]) -> Step:
    if axis in removed:
        raise refuse(eqn)
    return _kept(eqn, axis - sum(i < axis for i in removed))


def _expand_dims(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    new = eqn.params["dimensions"]
    return _kept(eqn, [i for i in range(len(shape(eqn.outvars[0]))) if i not in new][axis])


def _slice(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    if shape(eqn.outvars[0])[axis] != shape(eqn.invars[0])[axis]:
        raise refuse(eqn, "takes some of the examples")
    limits = list(eqn.params["limit_indices"])
    limits[axis] = rows
    return _kept(eqn, axis, limit_indices=tuple(limits))


def _along(name: str) -> Rule:
    """The rule of operations along one axis or several, which are not the batch's."""

    def rule(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
        along = eqn.params[name]
        if axis in (along if isinstance(along, Sequence) else (along,)):
            raise refuse(eqn)
        return elementwise(eqn, axis, forms, rows)

    return rule


def _pad(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    if forms[1] is not None or any(eqn.params["padding_config"][axis]):
        raise refuse(eqn)
    return _kept(eqn, axis)


def _reduce(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    axes = eqn.params["axes"]
    if axis in axes and eqn.primitive.name == "reduce_sum":
        return _kept(eqn, SUM)
    return _without(eqn, axis, axes)


def _dot_general(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    (contracted, batch) = eqn.params["dimension_numbers"]
    # The axis of the batch as a contracted pair of axes, as a shared one, or as a free one.
    for pairs, is_sum in ((contracted, True), (batch, False)):
        for i, axes in enumerate(zip(*pairs, strict=True)):
            if all(form in (None, a) for form, a in zip(forms, axes, strict=True)):
                cuts = tuple(a if f is None else None for f, a in zip(forms, axes, strict=True))
                return Step(SUM if is_sum else i, cuts)
    if (forms[0] is None) == (forms[1] is None):
        raise refuse(eqn)
    side = 0 if forms[0] is not None else 1
    used = [{*contracted[k], *batch[k]} for k in (0, 1)]
    free = [i for i in range(len(shape(eqn.invars[side]))) if i not in used[side]]
    before = len(batch[0])
    if side:
        before += len(shape(eqn.invars[0])) - len(used[0])
    if axis not in free:
        raise refuse(eqn)
    return _kept(eqn, before + free.index(axis))


def _convolution(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    numbers = eqn.params["dimension_numbers"]
    if forms[1] is not None or forms[0] != numbers.lhs_spec[0]:
        raise refuse(eqn)
    if eqn.params["batch_group_count"] != 1:
        raise refuse(eqn)
    return _kept(eqn, numbers.out_spec[0])


def _gather(eqn: ir.JaxprEqn, axis: int, forms: Sequence[Form], rows: int) -> Step:
    numbers = eqn.params["dimension_numbers"]
    operand, by = forms
    pairs = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    if by is None or (operand is not None and (operand, by) not in [*pairs]):
        raise refuse(eqn)
    # The rows of the indices, without their last axis, are the axes that are not of the slices.
    rank = len(shape(eqn.outvars[0]))
    return _kept(eqn, [i for i in range(rank) if i not in numbers.offset_dims][by])


RULES: Mapping[str, Rule] = {
    "argmax": _reduce,
    "argmin": _reduce,
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _along("dimension"),
    "conv_general_dilated": _convolution,
    "cumlogsumexp": _along("axis"),
    "cummax": _along("axis"),
    "cummin": _along("axis"),
    "cumprod": _along("axis"),
    "cumsum": _along("axis"),
    "dot_general": _dot_general,
    "expand_dims": _expand_dims,
    "gather": _gather,
    "pad": _pad,
    "reduce_and": _reduce,
    "reduce_max": _reduce,
    "reduce_min": _reduce,
    "reduce_or": _reduce,
    "reduce_prod": _reduce,
    "reduce_sum": _reduce,
    "reshape": _reshape,
    "rev": _along("dimensions"),
    "select_n": elementwise,
    "slice": _slice,
    "squeeze": _squeeze,
    "transpose": _transpose,
}
