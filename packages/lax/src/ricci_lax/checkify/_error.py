"""``Error``: the errors of a checked function as a value, a slot for each kind of site."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear
from ricci_batching import batched_at
from ricci_lax.effects._tokens import AllowedEffect
from ricci_lax.elementwise import add, bitwise_or, select_n
from ricci_lax.reductions import argmax, reduce_or
from ricci_lax.shapes import dynamic_index_in_dim, index_in_dim
from ricci_lax.structure import broadcast_in_dim, full, iota, reshape
from ricci_lax.structure._broadcasting import zeros_of
from ricci_lax.structure._operand_types import shape_of
from ricci_pytree import PyTreeDef, register_pytree_node, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value

from ._exceptions import BatchedError, JaxException, JaxRuntimeError, Site

__all__ = ["Error", "check_p", "init_error"]


class ErrorEffect(NamedTuple):
    """A kind of error: errors of one kind share a flag, a code and a payload.

    Attributes:
      error_type: the class of the exception.
      shape_dtypes: the types of its payload.
    """

    error_type: type[JaxException]
    shape_dtypes: tuple[Any, ...]


class Slot(NamedTuple):
    """Whether there is an error of some kind, and the first one.

    Attributes:
      pred: a boolean, a scalar or one for each example of a batch.
      code: the number of the site, where ``pred`` is true.
      payload: the values at the site.
    """

    pred: ir.ArrayLike
    code: ir.ArrayLike
    payload: tuple[Any, ...]

    @property
    def leaves(self) -> list[Any]:
        """The arrays of the slot."""
        return [self.pred, self.code, *self.payload]


def no_error(effect: ErrorEffect) -> Slot:
    """The slot of a kind of error that did not occur."""
    return Slot(np.bool_(False), np.int32(0), tuple(map(zeros_of, effect.shape_dtypes)))


def slots_of(effects: Sequence[ErrorEffect], leaves: Sequence[Any]) -> dict[ErrorEffect, Slot]:
    """Read the slots at the start of a flat sequence of arrays."""
    slots, start = {}, 0
    for effect in effects:
        end = start + 2 + len(effect.shape_dtypes)
        slots[effect] = Slot(leaves[start], leaves[start + 1], tuple(leaves[start + 2 : end]))
        start = end
    return slots


def leaf_count(effects: Sequence[ErrorEffect]) -> int:
    """The number of arrays in slots of these kinds."""
    return sum(2 + len(effect.shape_dtypes) for effect in effects)


def shifted(slot: Slot, offset: int) -> Slot:
    """The slot with ``offset`` added to its code."""
    if not offset:
        return slot
    if isinstance(slot.code, np.integer):
        return slot._replace(code=np.int32(slot.code + offset))
    return slot._replace(code=add(slot.code, np.int32(offset)))


def earlier(first: Slot, second: Slot) -> Slot:
    """The error of ``first`` if it has one, else that of ``second``."""
    if _is_never(first.pred):
        return second
    if _is_never(second.pred):
        return first
    # One of them is a batch of errors: only single ones can be combined.
    if shape_of(first.pred) != shape_of(second.pred):
        first, second = collapsed(first), collapsed(second)
    return Slot(
        bitwise_or(first.pred, second.pred),
        _choose(first.pred, first.code, second.code),
        tuple(
            _choose(first.pred, one, other)
            for one, other in zip(first.payload, second.payload, strict=True)
        ),
    )


def _is_never(pred: ir.ArrayLike) -> bool:
    """Whether an error is ruled out at trace time."""
    return isinstance(pred, np.bool_) and not pred


def _choose(pred: ir.ArrayLike, one: ir.ArrayLike, other: ir.ArrayLike) -> ir.Array:
    """``one`` where ``pred`` is true, else ``other``; ``pred`` may lack trailing dimensions."""
    rank, shape = len(shape_of(pred)), shape_of(one)
    if rank and rank != len(shape):
        pred = broadcast_in_dim(pred, shape, tuple(range(rank)))
    return select_n(pred, other, one)


def collapsed(slot: Slot) -> Slot:
    """Reduce a batch of errors to one: that of the last example that has an error."""
    shape = shape_of(slot.pred)
    if not shape:
        return slot
    size, rank = prod(shape), len(shape)
    if not size:
        empty = [zeros_of(_unbatched(x, rank)) for x in slot.payload]
        return Slot(np.bool_(False), np.int32(0), tuple(empty))
    flat = reshape(slot.pred, (size,))
    # The number of each example that failed, and -1 for the others.
    numbers = select_n(flat, full((size,), -1, np.int32), iota(np.int32, size))
    last = argmax(numbers, 0, np.int32)

    def at(x: ir.ArrayLike) -> ir.Array:
        rows = reshape(x, (size, *shape_of(x)[rank:]))
        return dynamic_index_in_dim(rows, last, 0, keepdims=False)

    return Slot(reduce_or(flat, (0,)), at(slot.code), tuple(map(at, slot.payload)))


def _unbatched(x: ir.ArrayLike, rank: int) -> ir.ShapedArray:
    """The type of one example of a batch."""
    aval = ir.get_aval(x)
    return aval.resized(aval.shape[rank:])


@dataclass(frozen=True)
class Error:
    """The errors that a checked function found: a pytree of arrays.

    Returned by functions that ``checkify`` makes; ``init_error`` is the one without any errors.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci.experimental import checkify
      >>> error, _ = checkify.checkify(lax.log, errors=checkify.nan_checks)(np.float32(-1.0))
      >>> error.get()
      'nan generated by primitive: log.'
    """

    _pred: dict[ErrorEffect, Any]
    _code: dict[ErrorEffect, Any]
    _metadata: dict[int, Site]
    _payload: dict[ErrorEffect, Sequence[Any]]

    @ir.api_boundary
    def get(self) -> str | None:
        """The message of the first error in program order, ``None`` if there is none.

        Of a batch of errors it has a line for each example that failed.
        """
        error = self.get_exception()
        return None if error is None else str(error)

    @ir.api_boundary
    def get_exception(self) -> JaxException | None:
        """The first error in program order as an exception, ``None`` if there is none."""
        # Sites are numbered in program order, so that the least code is the first error.
        errors: dict[tuple[int, ...], tuple[int, ErrorEffect]] = {}
        for effect, pred in self._pred.items():
            for index in _failures(pred):
                entry = (int(np.asarray(self._code[effect])[index]), effect)
                if index not in errors or entry[0] < errors[index][0]:
                    errors[index] = entry
        if not errors:
            return None
        if () in errors and errors[()][0] == min(code for code, _ in errors.values()):
            return self._at((), *errors[()])
        return BatchedError({i: self._at(i, *entry) for i, entry in sorted(errors.items()) if i})

    def _at(self, index: tuple[int, ...], code: int, effect: ErrorEffect) -> JaxException:
        return self._metadata[code].exception([_part(x, index) for x in self._payload[effect]])

    @ir.api_boundary
    def throw(self) -> None:
        """Raise the error, if there is one.

        In a function that ``checkify`` wraps, it becomes part of that function's error.

        Raises:
          JaxRuntimeError: with the error's message.
        """
        bind_check(self)

    def _replace(self, **changes: object) -> "Error":
        return replace(self, **changes)

    def __str__(self) -> str:
        if not all(map(ir.is_concrete, self._pred.values())):
            return repr(self)
        return f"Error({self.get()})"


def _part(x: ir.Array, index: tuple[int, ...]) -> ir.Array:
    for i in index:
        x = index_in_dim(x, i, 0, keepdims=False)
    return ir.as_array(x)


def _failures(pred: ir.ArrayLike) -> list[tuple[int, ...]]:
    """The indices of the examples that failed."""
    if not shape_of(pred):
        return [()] if bool(pred) else []
    return [tuple(map(int, index)) for index in np.argwhere(np.asarray(pred))]


def error_of(slots: dict[ErrorEffect, Slot], sites: Sequence[Site]) -> Error:
    """Make an error value of slots; the code in a slot is the number of a site."""
    return Error(
        {effect: slot.pred for effect, slot in slots.items()},
        {effect: slot.code for effect, slot in slots.items()},
        dict(enumerate(sites)),
        {effect: list(slot.payload) for effect, slot in slots.items()},
    )


def slots_in(error: Error) -> dict[ErrorEffect, Slot]:
    """The slots of an error value."""
    return {
        effect: Slot(pred, error._code[effect], tuple(error._payload[effect]))
        for effect, pred in error._pred.items()
    }


def _flatten(error: Error) -> tuple[tuple, tuple]:
    children = (
        tuple(error._pred.values()),
        tuple(error._code.values()),
        tuple(tuple(payload) for payload in error._payload.values()),
    )
    return children, (tuple(error._pred), tuple(error._metadata.items()))


def _unflatten(aux: tuple, children: Sequence[Any]) -> Error:
    effects, metadata = aux
    pred, code, payload = children
    return Error(
        dict(zip(effects, pred, strict=True)),
        dict(zip(effects, code, strict=True)),
        dict(metadata),
        {effect: list(values) for effect, values in zip(effects, payload, strict=True)},
    )


register_pytree_node(Error, _flatten, _unflatten)

init_error: Error = Error({}, {}, {}, {})


# The primitive that raises an error in a function without ``checkify``.


class CheckEffect(AllowedEffect):
    """The effect of checks, by which they are not dead code although they have no results."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Check"


check_effect = CheckEffect()
_effects = frozenset({check_effect})


def _raise(*leaves: ir.ArrayLike, err_tree: PyTreeDef, debug: bool) -> list[Any]:
    if not debug:
        error = tree_unflatten(err_tree, leaves).get_exception()
        if error is not None:
            raise JaxRuntimeError(str(error)) from error
    return []


def _jvp(primals, tangents, **params):
    check_p.bind(*primals, **params)
    return [], []


def _linearize(tape, primals, tangents, **params):
    check_p.bind(*primals, **params)
    return [], []


def _batch(axis, args, dims, *, err_tree, debug):
    whole = [batched_at(x, dim, axis, 0) for x, dim in zip(args, dims, strict=True)]
    _bind_collapsed(tree_unflatten(err_tree, whole), debug)
    return [], []


def _bind_collapsed(error: Error, debug: bool) -> None:
    slots = {effect: collapsed(slot) for effect, slot in slots_in(error).items()}
    one = error_of(slots, list(error._metadata.values()))
    leaves, tree = tree_flatten(one)
    check_p.bind(*leaves, err_tree=tree, debug=debug)


def _lower(ctx: Lowering, *operands: Value, err_tree: PyTreeDef, debug: bool) -> list[Value]:
    if debug:
        return []
    sites = list(tree_unflatten(err_tree, operands)._metadata.values())
    location = next((f" ({ir.Source(*s.source)})" for s in sites if s.source[0] is not None), "")
    facts = next((repr(site.facts[0]) for site in sites if site.facts), "an error")
    raise ValueError(
        f"check: a compiled function cannot raise {facts} itself{location}.\n"
        "Wrap the function in checkify.checkify, outside of jit, scan and the like; it returns the "
        "error with the result, to be raised with error.throw() after the function ran. A "
        "debug_check is left out of functions without checkify."
    )


# Operands: the leaves of an ``Error`` whose flags are scalars.
check_p: ir.Primitive = ir.define(
    "check",
    sharding=ir.by_program,
    abstract_eval=lambda *avals, err_tree, debug: [],
    multiple_results=True,
    effects=lambda params: _effects,
    jvp=_jvp,
    linearize=_linearize,
    transpose=not_linear,
    batch=_batch,
    lower=_lower,
    host=_raise,
    shown=lambda *, err_tree, debug: {"debug": debug},
)


def bind_check(error: Error, debug: bool = False) -> None:
    """Bind the primitive: it raises if run eagerly, and ``checkify`` takes its error over."""
    if error._pred:
        _bind_collapsed(error, debug)
