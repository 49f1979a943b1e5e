"""Masked reads and writes of references, and atomic operations."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.refs import TransformedRef

__all__: list[str] = []

type Reference = ir.Ref | TransformedRef


def masked_load(ref: Reference, mask: ir.ArrayLike | None, other: ir.ArrayLike | None) -> ir.Array:
    """Read a reference or a view of one.

    Args:
      ref: the reference, or ``ref.at[index]``.
      mask: which elements to read; the others may be out of bounds.
      other: the value of those; by default unspecified.
    """
    if mask is None:
        return ref[...]
    positions = _positions(ref)
    value = ref[...] if positions is None else _base(ref)[...].at[positions].get(mode="clip")
    return value if other is None else jnp.where(mask, value, jnp.asarray(other, value.dtype))


def masked_store(ref: Reference, value: ir.ArrayLike, mask: ir.ArrayLike | None) -> None:
    """Write to a reference or a view of one, where a mask holds.

    Args:
      ref: the reference, or ``ref.at[index]``.
      value: an array of its shape and dtype.
      mask: which elements to write; the others may be out of bounds.
    """
    if mask is None:
        ref[...] = value
        return
    positions = _positions(ref)
    if positions is None:
        ref[...] = jnp.where(mask, value, ref[...])
        return
    base = _base(ref)
    whole = base[...]
    # A position past the end is dropped.
    first = jnp.where(mask, positions[0], np.int32(whole.shape[0]))
    base[...] = whole.at[(first, *positions[1:])].set(value, mode="drop")


def _base(ref: Reference) -> ir.Ref:
    return ref.ref if isinstance(ref, TransformedRef) else ref


def _positions(ref: Reference) -> tuple[Any, ...] | None:
    """The positions of a view's elements along each dimension, or ``None`` for a whole reference.

    They have the shape of the view.
    """
    if not isinstance(ref, TransformedRef) or len(ref.transforms) != 1:
        return None
    (form,) = ref.transforms
    operands = iter(ref.operands)
    arrays = []
    for part in form:
        start: Any = next(operands) if part.start is None else np.int32(part.start)
        if part.kind == "window":
            steps = np.arange(part.size, dtype=np.int32) * np.int32(part.step)
            start = lax.add(lax.convert_element_type(start, np.int32), steps)
        arrays.append((part.kind, start))
    windows = [i for i, (kind, _) in enumerate(arrays) if kind == "window"]
    if any(kind == "array" for kind, _ in arrays) and windows:
        return None
    spread = []
    for i, (_, x) in enumerate(arrays):
        if i in windows:
            place = windows.index(i)
            shape = [1] * len(windows)
            shape[place] = x.shape[0]
            x = lax.reshape(x, shape)
        spread.append(x)
    return tuple([jnp.broadcast_to(x, ref.shape) for x in spread])


def view(ref: Reference, index: Any) -> Reference:
    """The view of a reference at an index, with a dimension for each part."""
    if index is None or index is Ellipsis or index == ():
        return ref
    return ref.at[index]


def atomic(
    name: str, operation: Callable[[ir.Array, ir.Array], ir.ArrayLike], shown: str
) -> Callable[..., ir.Array]:
    """The atomic operation of a name: it returns the old value and writes the operation's result.

    Args:
      name: its name.
      operation: from the old value and the operand to the new value.
      shown: the result of the example.
    """

    def update(
        x_ref_or_view: Reference, idx: Any, val: ir.ArrayLike, *, mask: ir.ArrayLike | None = None
    ) -> ir.Array:
        part = view(x_ref_or_view, idx)
        old = part[...]
        val = jnp.broadcast_to(jnp.asarray(val, old.dtype), old.shape)
        if name == "atomic_add":
            added = val if mask is None else jnp.where(mask, val, jnp.zeros((), val.dtype))
            part.addupdate(added)
        else:
            new = operation(old, val)
            part[...] = new if mask is None else jnp.where(mask, new, old)
        return old

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"""Apply ``{name.removeprefix("atomic_")}`` to a part of a reference at once.

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


atomic_add: Callable[..., ir.Array] = atomic("atomic_add", jnp.add, "8")
atomic_and: Callable[..., ir.Array] = atomic("atomic_and", jnp.bitwise_and, "1")
atomic_max: Callable[..., ir.Array] = atomic("atomic_max", jnp.maximum, "5")
atomic_min: Callable[..., ir.Array] = atomic("atomic_min", jnp.minimum, "3")
atomic_or: Callable[..., ir.Array] = atomic("atomic_or", jnp.bitwise_or, "7")
atomic_xchg: Callable[..., ir.Array] = atomic("atomic_xchg", lambda old, new: new, "3")
atomic_xor: Callable[..., ir.Array] = atomic("atomic_xor", jnp.bitwise_xor, "6")


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
    old = ref[...]
    ref[...] = jnp.where(old == cmp, jnp.asarray(val, old.dtype), old)
    return old
