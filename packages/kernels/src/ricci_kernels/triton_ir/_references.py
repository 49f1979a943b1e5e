"""Reads and writes of references, and atomic operations."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.calls._batching import example_ref_p
from ricci_kernels.calls._interpreter import filler
from ricci_kernels.primitives._accesses import (
    atomic_cas_p,
    atomic_rmw_p,
    masked_load_p,
    masked_store_p,
    optional,
)

from ._addresses import Addresses, addresses
from ._conversions import converted
from ._elementwise import is_unsigned
from ._rules import Local, Reference, Rule, evaluate, triton_rules
from ._writer import Value, Writer, element_of

# MLIR's numbers of the hints of loads and stores.
_caches: dict[str | None, int] = {
    None: 1,
    ".ca": 2,
    ".cg": 3,
    ".wb": 4,
    ".cs": 5,
    ".wt": 6,
    ".cv": 7,
}
_evictions: dict[str | None, int] = {None: 1, "evict_first": 2, "evict_last": 3}
_atomics: dict[str, int] = {"and": 1, "or": 2, "xor": 3, "add": 4, "max": 6, "min": 7, "xchg": 10}
_atomic_add_of_floats = 5
_unsigned_by_signed: dict[int, int] = {6: 8, 7: 9}
# Acquire and release, among the programs of one device.
_order = "scope = 1 : i32, sem = 4 : i32"


def _number(numbers: dict[str | None, int], name: str, value: str | None) -> int:
    if value not in numbers:
        allowed = ", ".join([repr(v) for v in numbers])
        raise NotImplementedError(f"has {name}={value!r}; it is one of {allowed}")
    return numbers[value]


def _mask(writer: Writer, place: Addresses, mask: Value | None) -> Value | None:
    """The elements that are accessed: those of the mask inside of the array."""
    if mask is not None:
        mask = writer.expanded(mask, place.shape, range(len(place.shape)))
    if place.inside is None or mask is None:
        return place.inside if mask is None else mask
    return writer.binary("arith.andi", mask, place.inside)


def read(
    writer: Writer,
    ref: Reference,
    place: Addresses,
    mask: Value | None = None,
    other: Value | None = None,
    hints: str = "",
) -> Value:
    """Append a load; masked elements have the value ``other``."""
    element = element_of(ref.dtype)
    stored = "i8" if element == "i1" else element
    mask = _mask(writer, place, mask)
    operands = [place.pointers]
    if mask is not None:
        # Triton does not specify the masked elements of a load without ``other``: they are the
        # interpreter's, so that both agree.
        if other is None:
            other = writer.constant(filler(ref.dtype), element)
        other = writer.spread(other, place.shape)
        operands += [mask, converted(writer, other, stored)]
    count = 0 if mask is None else 1
    attributes = f"{hints}operandSegmentSizes = array<i32: 1, {count}, {count}>"
    value = writer.op("tt.load", operands, place.shape, stored, attributes)
    return value if stored == element else converted(writer, value, element)


def write(
    writer: Writer,
    ref: Reference,
    place: Addresses,
    value: Value,
    mask: Value | None = None,
    hints: str = "",
) -> None:
    """Append a store.

    Raises:
      NotImplementedError: if the reference is to an input that no output has the buffer of.
    """
    if not ref.is_writable:
        raise NotImplementedError(
            f"writes to the input {ref.origin}, whose array the caller keeps. Give it an output "
            "with input_output_aliases, and write to that"
        )
    mask = _mask(writer, place, mask)
    if value.element == "i1":
        value = converted(writer, value, "i8")
    value = writer.spread(value, place.shape)
    writer.ops("tt.store", [place.pointers, value, *([] if mask is None else [mask])], [], hints)


# Rules


def _access(rule: Rule) -> Rule:
    """The rule of an access, from that of references to operands.

    A buffer that the kernel allocates is a value of the program: the discharged access replaces it.
    """

    def either(
        writer: Writer, eqn: ir.JaxprEqn, ref: Reference | Local, *operands: Value
    ) -> Value | Sequence[Value] | Sequence[Local]:
        if isinstance(ref, Reference):
            return rule(writer, eqn, ref, *operands)
        bind = lambda *xs: eqn.primitive.bind(*xs, **eqn.params)
        several = bind if eqn.primitive.multiple_results else lambda *xs: [bind(*xs)]
        program = ir.trace_to_jaxpr(several, [v.aval for v in eqn.invars], origin=ir.no_origin)
        discharged = ir.discharged(program, (0,)).jaxpr
        # The discharged jaxpr returns the buffer's new value behind the results.
        *results, ref.value = evaluate(writer, discharged, [ref.value, *operands])
        return results

    return either


def _get(writer: Writer, eqn: ir.JaxprEqn, ref: Reference, *operands: Value) -> Value:
    _note(writer.reads, ref, operands)
    return read(writer, ref, addresses(writer, ref, eqn.params["transforms"], operands))


def _swap(
    writer: Writer, eqn: ir.JaxprEqn, ref: Reference, value: Value, *operands: Value
) -> list[Value]:
    place = addresses(writer, ref, eqn.params["transforms"], operands)
    is_read = type(eqn.outvars[0]).__name__ != "DropVar"
    old = read(writer, ref, place) if is_read else value
    _note(writer.writes, ref, operands)
    write(writer, ref, place, value)
    return [old]


def _addupdate(
    writer: Writer, eqn: ir.JaxprEqn, ref: Reference, value: Value, *operands: Value
) -> list[Value]:
    place = addresses(writer, ref, eqn.params["transforms"], operands)
    old = read(writer, ref, place)
    _note(writer.reads, ref, operands)
    _note(writer.writes, ref, operands)
    write(writer, ref, place, writer.add(old, writer.spread(value, old.shape)))
    return []


def _note(origins: set[str], ref: Reference, operands: Sequence[Value]) -> None:
    """Note an access to a part that all steps along an axis of the grid share."""
    # Without traced positions, each step accesses the same elements of the shared block.
    if ref.shared is not None and not operands:
        origins.add(ref.origin)


def _masked_load(writer: Writer, eqn: ir.JaxprEqn, ref: Reference, *operands: Value) -> Value:
    params = eqn.params
    (mask, other), positions = optional(operands, params["has_mask"], params["has_other"])
    place = addresses(writer, ref, params["transforms"], positions)
    hints = f"{_hints(params)}isVolatile = {str(params['volatile']).lower()}, "
    return read(writer, ref, place, mask, other, hints)


def _masked_store(
    writer: Writer, eqn: ir.JaxprEqn, ref: Reference, value: Value, *operands: Value
) -> list[Value]:
    params = eqn.params
    (mask,), positions = optional(operands, params["has_mask"])
    place = addresses(writer, ref, params["transforms"], positions)
    write(writer, ref, place, value, mask, _hints(params).removesuffix(", "))
    return []


def _hints(params: dict[str, Any]) -> str:
    cache = _number(_caches, "cache_modifier", params.get("cache_modifier"))
    eviction = _number(_evictions, "eviction_policy", params["eviction_policy"])
    return f"cache = {cache} : i32, evict = {eviction} : i32, "


def _atomic(
    writer: Writer, eqn: ir.JaxprEqn, ref: Reference, value: Value, *operands: Value
) -> Value:
    params = eqn.params
    (mask,), positions = optional(operands, params["has_mask"])
    place = addresses(writer, ref, params["transforms"], positions)
    # ``write`` raises the error for a reference that must not be written.
    if not ref.is_writable:
        write(writer, ref, place, value)
    mask = _mask(writer, place, mask)
    if mask is None:
        mask = writer.constant(True, "i1", place.shape)
    value = writer.spread(value, place.shape)
    kind, number = params["kind"], _atomics[params["kind"]]
    if value.element not in ("i32", "i64", "f16", "bf16", "f32", "f64"):
        raise NotImplementedError(
            f"updates elements of dtype {ref.dtype} at once; GPUs do so for 32 and 64 bits. "
            "Convert the array before the kernel"
        )
    if not value.is_float:
        if is_unsigned(ref.dtype):
            number = _unsigned_by_signed.get(number, number)
        return _update(writer, number, place.pointers, value, mask)
    match kind:
        case "add":
            return _update(writer, _atomic_add_of_floats, place.pointers, value, mask)
        case "xchg" if value.bits >= 32:
            return _update(writer, number, place.pointers, value, mask)
        case "max" | "min" if value.bits >= 32:
            return _float_extreme(writer, kind, place.pointers, value, mask)
    raise NotImplementedError(f"is not possible for {ref.dtype}; use float32, or integers")


def _update(writer: Writer, number: int, pointers: Value, value: Value, mask: Value) -> Value:
    attributes = f"atomic_rmw_op = {number} : i32, {_order}"
    operands = [pointers, value, mask]
    return writer.op("tt.atomic_rmw", operands, value.shape, value.element, attributes)


def _float_extreme(writer: Writer, kind: str, pointers: Value, value: Value, mask: Value) -> Value:
    """The larger or smaller of floats, as integers: in order from 0 on, reversed below it."""
    element = f"i{value.bits}"
    bits = writer.op("tt.bitcast", [value], value.shape, element)
    # Seen as integers, floats from 0 on are in order, and negative ones below them in reverse
    # order. Read without a sign, the bits of negative floats are above all others, and larger for
    # smaller floats. So a value from 0 on is a signed maximum, one below 0 an unsigned minimum; a
    # mask selects the one of the two that each element takes part in.
    pointers = writer.op("tt.bitcast", [pointers], value.shape, f"!tt.ptr<{element}>")
    above = writer.compare(5, bits, writer.like(bits, 0))
    below = writer.compare(2, bits, writer.like(bits, 0))
    signed, unsigned = (6, 9) if kind == "max" else (7, 8)
    old = [
        _update(writer, number, pointers, bits, writer.binary("arith.andi", mask, part))
        for number, part in ((signed, above), (unsigned, below))
    ]
    result = writer.select(above, *old)
    return writer.op("tt.bitcast", [result], value.shape, value.element)


def _compare_and_swap(
    writer: Writer,
    eqn: ir.JaxprEqn,
    ref: Reference,
    expected: Value,
    value: Value,
    *operands: Value,
) -> Value:
    place = addresses(writer, ref, eqn.params["transforms"], operands)
    if not ref.is_writable:
        write(writer, ref, place, value)
    spread = [writer.spread(x, place.shape) for x in (expected, value)]
    return writer.op("tt.atomic_cas", [place.pointers, *spread], place.shape, value.element, _order)


def _new_ref(_: Writer, eqn: ir.JaxprEqn, value: Value) -> list[Local]:
    return [Local(value, eqn.invars[0].aval.dtype)]  # pyright: ignore[reportAttributeAccessIssue]


def _example_ref(writer: Writer, _: ir.JaxprEqn, ref: Reference, example: Value) -> list[Reference]:
    row, *dims = ref.dims
    offset = writer.scaled(writer.resized(example, ref.integer), row.stride)
    pointer = writer.op("tt.addptr", [ref.pointer, offset], (), ref.pointer.element)
    return [ref._replace(pointer=pointer, dims=tuple(dims))]


def _freeze(_: Writer, eqn: ir.JaxprEqn, ref: Reference | Local) -> Value:
    if isinstance(ref, Reference):
        raise NotImplementedError("freezes a reference of the kernel; read it: ref[...]")
    return ref.value


_rules: dict[ir.Primitive, Rule] = {
    lax.refs.get_p: _get,
    lax.refs.swap_p: _swap,
    lax.refs.addupdate_p: _addupdate,
    masked_load_p: _masked_load,
    masked_store_p: _masked_store,
    atomic_rmw_p: _atomic,
    atomic_cas_p: _compare_and_swap,
}
triton_rules.update(
    {
        **{primitive: _access(rule) for primitive, rule in _rules.items()},
        example_ref_p: _example_ref,
        lax.refs.new_ref_p: _new_ref,
        lax.refs.freeze_p: _freeze,
    }
)
