"""The primitives of copies and semaphores.

Kernels record them, so that a compiler sees them; an interpreter discharges them: a copy happens
when it starts, and a semaphore is a counter: one for copies counts the elements that have arrived,
and a regular one the copies.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._memory_spaces import SemaphoreType
from ricci_lax.refs import TransformedRef, copy, element_count, operand_count, place_text

from ._accesses import AtomText, Reference

__all__: list[str] = []

# For each reference, its place among the leading operands, and the forms of its indices. One that
# is named several times is one operand.
type Forms = tuple[tuple[int, tuple[Any, ...]], ...]


def flattened(references: Sequence[Reference]) -> tuple[list[Any], Forms]:
    """The operands of some references, and the forms of their indices."""
    places: dict[int, int] = {}
    operands: list[Any] = []
    positions: list[Any] = []
    forms = []
    for ref in references:
        is_view = isinstance(ref, TransformedRef)
        whole: Any = ref.ref if is_view else ref
        # Two tracers may represent one variable of a jaxpr.
        place = places.setdefault(id(getattr(whole, "atom", whole)), len(operands))
        if place == len(operands):
            operands.append(whole)
        positions += ref.operands if is_view else ()
        forms.append((place, tuple(ref.forms) if is_view else ()))
    return [*operands, *positions], tuple(forms)


def split_references(operands: Sequence[Any], forms: Forms) -> list[tuple[Any, Sequence[Any]]]:
    """Each reference with the operands of its indices; the operands after the last are left out."""
    parts = []
    # Operands are the references, then the positions of all their indices, in the order of the
    # forms.
    start = 1 + max([place for place, _ in forms], default=-1)
    for place, transforms in forms:
        count = sum(map(operand_count, transforms))
        parts.append((operands[place], operands[start : start + count]))
        start += count
    return parts


def indexed_references(eqn: ir.JaxprEqn) -> list[Any]:
    """The references that an equation of a kernel indexes by operands."""
    params: Any = eqn.params
    if "forms" in params:
        parts = split_references(eqn.invars, params["forms"])
        return [ref for ref, positions in parts if len(positions)]
    forms = params.get("transforms", ())
    return [eqn.invars[0]] if any(map(operand_count, forms)) else []


def references_of(operands: Sequence[Any], forms: Forms) -> list[Reference]:
    """The references, or views of them, that some operands are."""
    return [
        TransformedRef(ref, transforms, tuple(positions)) if transforms else ref
        for (ref, positions), (_, transforms) in zip(
            split_references(operands, forms), forms, strict=True
        )
    ]


def copy_now(source: Reference, target: Reference, semaphore: Reference | None, add: bool) -> None:
    """Copy one reference to another, and count the copy."""
    copy(source, target, is_added=add)
    if semaphore is not None:
        count_now(semaphore, 1 if counts_copies(semaphore) else element_count(source))


def counts_copies(semaphore: Reference) -> bool:
    """Whether a semaphore counts the copies that have ended, and not their elements."""
    whole = semaphore.ref if isinstance(semaphore, TransformedRef) else semaphore
    return whole.aval.kind is SemaphoreType.REGULAR


def count_now(semaphore: Reference, change: ir.ArrayLike) -> None:
    """Add to the counter of a semaphore."""
    change = lax.convert_element_type(change, np.int32)
    semaphore[...] = lax.add(semaphore[...], change)


def _start_discharge(
    *operands: ir.Ref | ir.Array, forms: Forms, add: bool, priority: int
) -> list[Any]:
    source, target, semaphore = references_of(operands, forms)
    copy_now(source, target, semaphore, add)
    return []


def _wait_discharge(*operands: ir.Ref | ir.Array, forms: Forms) -> list[Any]:
    _, target, semaphore = references_of(operands, forms)
    count_now(semaphore, -element_count(target))
    return []


def _signal_discharge(*operands: Any, forms: Forms) -> list[Any]:
    (semaphore,) = references_of(operands, forms)
    count_now(semaphore, operands[-1])
    return []


def _core_signal_discharge(*operands: ir.Ref | ir.Array, forms: Forms) -> list[Any]:
    return _signal_discharge(*operands[:-1], forms=forms)


def _semaphore_wait_discharge(*operands: Any, forms: Forms) -> list[Any]:
    (semaphore,) = references_of(operands, forms)
    count_now(semaphore, lax.neg(operands[-1]))
    return []


def _places(eqn: ir.JaxprEqn, atom: AtomText) -> list[str]:
    """The references of a printed equation with their indices."""
    forms: Any = eqn.params["forms"]
    parts = zip(split_references(eqn.invars, forms), forms, strict=True)
    return [place_text(ref, positions, form, atom) for (ref, positions), (_, form) in parts]


def _start_notation(eqn: ir.JaxprEqn, binder: object, atom: AtomText) -> list[str]:
    source, target, semaphore = _places(eqn, atom)
    options = f"p{eqn.params['priority']}{', add' if eqn.params['add'] else ''}"
    return [f"dma_start({options}) {source} -> {target} {semaphore}"]


def _wait_notation(eqn: ir.JaxprEqn, binder: object, atom: AtomText) -> list[str]:
    _, target, semaphore = _places(eqn, atom)
    return [f"dma_wait {target} {semaphore}"]


def _signal_notation(eqn: ir.JaxprEqn, binder: object, atom: AtomText) -> list[str]:
    return [f"semaphore_signal {_places(eqn, atom)[0]} {atom(eqn.invars[-1])}"]


def _semaphore_wait_notation(eqn: ir.JaxprEqn, binder: object, atom: AtomText) -> list[str]:
    return [f"semaphore_wait[dec] {_places(eqn, atom)[0]} {atom(eqn.invars[-1])}"]


_discharged = ir.unsupported("semaphores exist in kernels only; discharge the jaxpr first")
_effects = frozenset({ir.read_effect, ir.write_effect})
_rules: dict[str, Any] = {
    "effects": lambda params: _effects,
    "jvp": _discharged,
    "transpose": _discharged,
    "batch": _discharged,
    "lower": _discharged,
    "sharding": ir.by_program,
}


def statement(
    name: str, discharge: Callable[..., list[Any]], notation: Callable[..., list[str]] | None = None
) -> ir.Primitive:
    """Define a primitive without results that reads and writes references."""
    return ir.define(
        name,
        abstract_eval=lambda *_, **params: [],
        multiple_results=True,
        discharge=discharge,
        **(_rules if notation is None else {**_rules, "notation": notation}),
    )


# Operands: the source, the target and the semaphore, each with the positions of its indices.
dma_start_p: ir.Primitive = statement("dma_start", _start_discharge, notation=_start_notation)
dma_wait_p: ir.Primitive = statement("dma_wait", _wait_discharge, notation=_wait_notation)
# Operands: the semaphore with the positions of its indices, and a count.
semaphore_signal_p: ir.Primitive = statement(
    "semaphore_signal", _signal_discharge, notation=_signal_notation
)
# Operands: the same, and the number of the core whose semaphore it is.
core_signal_p: ir.Primitive = statement("core_signal", _core_signal_discharge)
semaphore_wait_p: ir.Primitive = statement(
    "semaphore_wait", _semaphore_wait_discharge, notation=_semaphore_wait_notation
)


def _read_discharge(*operands: ir.Ref | ir.Array, forms: Forms) -> ir.Array:
    (semaphore,) = references_of(operands, forms)
    return semaphore[...]


semaphore_read_p: ir.Primitive = ir.define(
    "semaphore_read",
    abstract_eval=lambda *_, **params: ir.ShapedArray((), np.dtype("int32")),
    discharge=_read_discharge,
    **_rules,
)

# Without operands: the core waits until the source of a copy within a device may be written. The
# copies of TensorCores have no such event.
dma_wait_read_p: ir.Primitive = statement("dma_wait_read", list)

# Without operands: all threads of a program read after it what each of them wrote before it.
# Interpreted, a program is one thread.
debug_barrier_p: ir.Primitive = statement("debug_barrier", list)
