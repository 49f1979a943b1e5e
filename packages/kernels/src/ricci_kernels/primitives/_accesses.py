"""Masked reads and writes of references, and atomic operations: functions and primitives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.refs import TransformedRef, get_p, place_text

__all__: list[str] = []

type Reference = ir.Ref | TransformedRef
type Forms = tuple[Any, ...]  # of indices, one after the other
VIEW_KINDS = ("reshape", "bitcast")  # of indices that view the whole in another shape or dtype
type AtomText = Callable[[object], str]  # of an operand in a printed equation


def masked_load(
    ref: Reference,
    mask: ir.ArrayLike | None = None,
    other: ir.ArrayLike | None = None,
    *,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> ir.Array:
    """Read a reference or a view of one.

    Args:
      ref: the reference, or ``ref.at[index]``.
      mask: which elements to read; the others may be out of bounds.
      other: the value of those; by default unspecified.
      cache_modifier, eviction_policy, volatile: for the compiler.
    """
    if mask is None and cache_modifier is None and eviction_policy is None and not volatile:
        return ref[...]
    base, transforms, positions = _parts(ref)
    if other is not None:
        other = jnp.asarray(other, ref.dtype)
    return masked_load_p.bind(
        base,
        *[x for x in (mask, other) if x is not None],
        *positions,
        transforms=transforms,
        has_mask=mask is not None,
        has_other=other is not None,
        cache_modifier=cache_modifier,
        eviction_policy=eviction_policy,
        volatile=volatile,
    )


def _masked_load_discharge(
    ref: ir.Ref,
    *operands: ir.Array,
    transforms: Forms,
    has_mask: bool,
    has_other: bool,
    **_: object,
) -> ir.Array:
    (mask, other), positions = optional(operands, has_mask, has_other)
    part = TransformedRef(ref, transforms, tuple(positions))
    if mask is None:
        return part[...]
    places = positions_of_elements(part)
    # Masked elements may lie outside of the reference, where a window would be moved to the inside
    # and shift the others: each element is read at its own position.
    value = part[...] if places is None else ref[...].at[places].get(mode="clip")
    return value if other is None else jnp.where(mask, value, other)


def masked_store(
    ref: Reference,
    value: ir.ArrayLike,
    mask: ir.ArrayLike | None = None,
    *,
    eviction_policy: str | None = None,
) -> None:
    """Write to a reference or a view of one, where a mask holds.

    Args:
      ref: the reference, or ``ref.at[index]``.
      value: an array of its shape and dtype.
      mask: which elements to write; the others may be out of bounds.
      eviction_policy: for the compiler.
    """
    if mask is None and eviction_policy is None:
        ref[...] = value
        return
    base, transforms, positions = _parts(ref)
    masked_store_p.bind(
        base,
        jnp.broadcast_to(jnp.asarray(value, ref.dtype), ref.shape),
        *([] if mask is None else [mask]),
        *positions,
        transforms=transforms,
        has_mask=mask is not None,
        eviction_policy=eviction_policy,
    )


def _masked_store_discharge(
    ref: ir.Ref,
    value: ir.Array,
    *operands: ir.Array,
    transforms: Forms,
    has_mask: bool,
    **_: object,
) -> list[Any]:
    (mask,), positions = optional(operands, has_mask)
    part = TransformedRef(ref, transforms, tuple(positions))
    places = None if mask is None else positions_of_elements(part)
    if places is None or mask is None:
        part[...] = value if mask is None else jnp.where(mask, value, part[...])
        return []
    # As for loads: elements are written one by one, at positions of their own.
    whole = ref[...]
    # A position past the end is dropped.
    first = jnp.where(mask, places[0], np.int32(whole.shape[0]))
    ref[...] = whole.at[(first, *places[1:])].set(value, mode="drop")
    return []


def optional[T](operands: Sequence[T], *flags: bool) -> tuple[list[T | None], list[T]]:
    """Split off the optional operands at the front; ``None`` for one that is absent."""
    remaining = list(operands)
    return [remaining.pop(0) if flag else None for flag in flags], remaining


def _parts(ref: Reference) -> tuple[ir.Ref, Forms, tuple[ir.ArrayLike, ...]]:
    """A view's reference, the forms of its indices, and their operands."""
    if isinstance(ref, TransformedRef):
        return ref.ref, ref.forms, ref.operands
    return ref, (), ()


def positions_of_elements(ref: Reference) -> tuple[Any, ...] | None:
    """The positions of a view's elements along each dimension, or ``None`` for a whole reference.

    They have the shape of the view.
    """
    if not isinstance(ref, TransformedRef) or len(ref.forms) != 1:
        return None
    (form,) = ref.forms
    if any(part.kind in VIEW_KINDS for part in form):
        return None
    operands = iter(ref.operands)
    arrays = []
    for part in form:
        start: Any = next(operands) if part.start is None else np.int32(part.start)
        if part.kind == "window":
            steps = np.arange(part.size, dtype=np.int32) * np.int32(part.step)
            start = lax.add(lax.convert_element_type(start, np.int32), steps)
        arrays.append((part.kind, start))
    windows = [i for i, (kind, _) in enumerate(arrays) if kind == "window"]
    # NumPy's order of dimensions for both kinds is not reproduced: callers treat the part as a
    # whole.
    if any(kind == "array" for kind, _ in arrays) and windows:
        return None
    spread = []
    for i, (_, x) in enumerate(arrays):
        if i in windows:
            place = windows.index(i)
            shape = [1] * len(windows)
            # A window's positions vary along its own dimension of the part.
            shape[place] = x.shape[0]
            x = lax.reshape(x, shape)
        spread.append(x)
    return tuple([jnp.broadcast_to(x, ref.shape) for x in spread])


def view(ref: Reference, index: object) -> Reference:
    """The view of a reference at an index, with a dimension for each part."""
    if index is None or index is Ellipsis or index == ():
        return ref
    return ref.at[index]


_operations: dict[str, Callable[[ir.Array, ir.Array], ir.Array]] = {
    "and": jnp.bitwise_and,
    "max": jnp.maximum,
    "min": jnp.minimum,
    "or": jnp.bitwise_or,
    "xchg": lambda old, new: new,
    "xor": jnp.bitwise_xor,
}


def _atomic_rmw_discharge(
    ref: ir.Ref, value: ir.Array, *operands: ir.Array, transforms: Forms, has_mask: bool, kind: str
) -> ir.Array:
    (mask,), positions = optional(operands, has_mask)
    part = TransformedRef(ref, transforms, tuple(positions))
    old = part[...]
    # Several updates of one element are all added; for the other kinds the last one counts.
    if kind == "add":
        part.addupdate(value if mask is None else jnp.where(mask, value, jnp.zeros_like(value)))
    else:
        new = _operations[kind](old, value)
        part[...] = new if mask is None else jnp.where(mask, new, old)
    return old


def _atomic_cas_discharge(
    ref: ir.Ref, expected: ir.Array, value: ir.Array, *positions: ir.Array, transforms: Forms
) -> ir.Array:
    part = TransformedRef(ref, transforms, positions)
    old = part[...]
    part[...] = jnp.where(old == expected, value, old)
    return old


def _masked_load_notation(
    eqn: ir.JaxprEqn, binder: Callable[..., object], atom: AtomText
) -> list[object]:
    params: Any = eqn.params
    ref, *operands = eqn.invars
    (mask, other), positions = optional(operands, params["has_mask"], params["has_other"])
    text = place_text(ref, positions, params["transforms"], atom)
    parts: list[object] = [binder(eqn.outvars[0]), " <- ", text]
    parts += [] if mask is None else [f" mask={atom(mask)}"]
    return parts if other is None else [*parts, f" other={atom(other)}"]


def _masked_store_notation(
    eqn: ir.JaxprEqn, binder: Callable[..., object], atom: AtomText
) -> list[object]:
    params: Any = eqn.params
    ref, value, *operands = eqn.invars
    (mask,), positions = optional(operands, params["has_mask"])
    parts: list[object] = [
        place_text(ref, positions, params["transforms"], atom),
        " <- ",
        atom(value),
    ]
    return parts if mask is None else [*parts, f" mask={atom(mask)}"]


_discharged = ir.unsupported("references exist in kernels only; discharge the jaxpr first")
_rules: dict[str, Any] = {
    "jvp": _discharged,
    "transpose": _discharged,
    "batch": _discharged,
    "lower": _discharged,
    "sharding": ir.by_program,
}
_reading = frozenset({ir.read_effect})
_writing = frozenset({ir.write_effect})


def _part(
    ref: ir.AbstractRef, positions: Sequence[ir.ShapedArray], transforms: Forms
) -> ir.AbstractValue:
    """The type of the part of a reference at some indices."""
    return get_p.result_avals((ref, *positions), {"transforms": transforms})  # pyright: ignore


# Operands: the reference, the mask and the value of masked elements, if any, the positions.
masked_load_p: ir.Primitive = ir.define(
    "masked_load",
    abstract_eval=lambda ref, *operands, transforms, has_mask, has_other, **_: _part(
        ref, operands[has_mask + has_other :], transforms
    ),
    effects=lambda params: _reading,
    discharge=_masked_load_discharge,
    notation=_masked_load_notation,
    **_rules,
)

# Operands: the reference, the value, the mask if there is one, the positions.
masked_store_p: ir.Primitive = ir.define(
    "masked_store",
    abstract_eval=lambda *_, **params: [],
    multiple_results=True,
    effects=lambda params: _writing,
    discharge=_masked_store_discharge,
    notation=_masked_store_notation,
    **_rules,
)

# Operands: the reference, the value, the mask if there is one, the positions. Its result is the
# old value.
atomic_rmw_p: ir.Primitive = ir.define(
    "atomic_rmw",
    abstract_eval=lambda ref, value, *operands, transforms, has_mask, kind: _part(
        ref, operands[has_mask:], transforms
    ),
    effects=lambda params: _writing,
    discharge=_atomic_rmw_discharge,
    **_rules,
)

# Operands: the reference, the expected value, the new one, the positions. Its result is the old
# value.
atomic_cas_p: ir.Primitive = ir.define(
    "atomic_cas",
    abstract_eval=lambda ref, expected, value, *positions, transforms: _part(
        ref, positions, transforms
    ),
    effects=lambda params: _writing,
    discharge=_atomic_cas_discharge,
    **_rules,
)


def atomic(kind: str, shown: str) -> Callable[..., ir.Array]:
    """The atomic operation of a name: it returns the old value and writes the operation's result.

    Args:
      kind: its name without ``atomic_``.
      shown: the result of the example.
    """
    name = f"atomic_{kind}"

    def update(
        x_ref_or_view: Reference, idx: Any, val: ir.ArrayLike, *, mask: ir.ArrayLike | None = None
    ) -> ir.Array:
        part = view(x_ref_or_view, idx)
        base, transforms, positions = _parts(part)
        value = jnp.broadcast_to(jnp.asarray(val, part.dtype), part.shape)
        return atomic_rmw_p.bind(
            base,
            value,
            *([] if mask is None else [mask]),
            *positions,
            transforms=transforms,
            has_mask=mask is not None,
            kind=kind,
        )

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"""Apply ``{kind}`` to a part of a reference at once.

    Args:
      x_ref_or_view: the reference, or a view of one.
      idx: the index of the part.
      val: the operand.
      mask: where to write.

    Returns:
      The old value.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> ref = ricci.new_ref(np.int32([5, 6]))
      >>> old = plgpu.{name}(ref, 0, 3)
      >>> ref
      Ref([{shown}, 6], dtype=int32)
    """
    return update


atomic_add: Callable[..., ir.Array] = atomic("add", "8")
atomic_and: Callable[..., ir.Array] = atomic("and", "1")
atomic_max: Callable[..., ir.Array] = atomic("max", "5")
atomic_min: Callable[..., ir.Array] = atomic("min", "3")
atomic_or: Callable[..., ir.Array] = atomic("or", "7")
atomic_xchg: Callable[..., ir.Array] = atomic("xchg", "3")
atomic_xor: Callable[..., ir.Array] = atomic("xor", "6")


def atomic_cas(ref: Reference, cmp: ir.ArrayLike, val: ir.ArrayLike) -> ir.Array:
    """Replace the value of a reference to a scalar, if it equals another.

    Args:
      ref: the reference, or a view of one.
      cmp: the expected value.
      val: the new value.

    Returns:
      The old value.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> ref = ricci.new_ref(np.int32([5, 6]))
      >>> int(plgpu.atomic_cas(ref.at[0], 5, 9))
      5
      >>> ref
      Ref([9, 6], dtype=int32)
    """
    base, transforms, positions = _parts(ref)
    new = [jnp.asarray(x, ref.dtype) for x in (cmp, val)]
    return atomic_cas_p.bind(base, *new, *positions, transforms=transforms)
