"""Calls of jitted functions that use references.

Such a program is compiled as a function of the arrays in its references, which it takes first and
returns ahead of its results. What it writes is donated, so that it is replaced in place.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

from ricci_ir import (
    AbstractRef,
    Jaxpr,
    ShapeDtypeStruct,
    TupleRecord,
    described_type,
    discharged,
    locked,
    reference_arguments,
    uses_references,
)
from ricci_xla.compile._place import Options
from ricci_xla.tracing._program import Program


class _Order(TupleRecord):
    """A program as a function of arrays.

    Attributes:
      jaxpr: takes the constants, the arrays of the references, and the other arguments.
      plain: the positions of constants that are no references.
      refs: the positions of the references, those that are written first.
      others: the positions of the arguments that are no references.
      written: how many references are written.
      freed: the positions of the references that are freed.
    """

    jaxpr: Jaxpr
    plain: tuple[int, ...]
    refs: tuple[int, ...]
    others: tuple[int, ...]
    written: int
    freed: tuple[int, ...]


def _ordered(jaxpr: Jaxpr, count: int) -> _Order:
    return jaxpr.derived(("with arrays of references", count), lambda: _order(jaxpr, count))


def _order(jaxpr: Jaxpr, count: int) -> _Order:
    found, written, freed = discharged(jaxpr)
    refs = reference_arguments(jaxpr)
    refs = (*written, *(i for i in refs if i not in written))
    plain = tuple(i for i in range(count) if i not in refs)
    others = tuple(i for i in range(count, len(jaxpr.invars)) if i not in refs)
    results = len(jaxpr.outvars)
    pure = found.replace(
        invars=[found.invars[i] for i in (*plain, *refs, *others)],
        outvars=[*found.outvars[results:], *found.outvars[:results]],
    )
    return _Order(pure, plain, refs, others, len(written), freed)


class HeldCall:
    """A call of a program that uses references.

    Args:
      program: the program.
      leaves: the arguments of the call.

    Attributes:
      program: the function of arrays.
      refs: the references, those that are written first.
      others: the other arguments.
    """

    __slots__ = ("_count", "_freed", "_order", "others", "program", "refs")

    def __init__(self, program: Program, leaves: Sequence[Any]):
        count = len(program.consts)
        order = _ordered(program.jaxpr, count)
        values = [*program.consts, *leaves]
        self.refs: list[Any] = [values[i] for i in order.refs]
        self.others: list[Any] = [values[i] for i in order.others]
        pure = program.copied()
        pure.jaxpr = order.jaxpr
        pure.consts = tuple(values[i] for i in order.plain)
        names = program.arg_names
        if names:
            places = (*order.refs, *order.others)
            pure.arg_names = tuple(
                names[i - count] if i >= count else "a closed-over reference" for i in places
            )
        if program.result_info:
            held = tuple(f"reference {i}" for i in range(order.written))
            pure.result_info = (*held, *program.result_info)
        self.program: Program = pure
        self._freed: list[Any] = [values[i] for i in order.freed]
        self._order = order
        self._count = count

    @property
    def written(self) -> list[Any]:
        """The references that the program writes."""
        return self.refs[: self._order.written]

    def options(self, options: Options, donates: bool) -> Options:
        """What ``jit`` was given, for the function of arrays.

        Args:
          options: for the program with references.
          donates: whether the arrays of references that are written are donated.
        """
        order, count = self._order, self._count
        written = order.written
        leaves = len(order.refs) + len(order.others)

        def arranged(given: Sequence[Any] | None) -> tuple[Any, ...] | None:
            if not given:
                return None
            return tuple(
                given[i - count] if i >= count else None for i in (*order.refs, *order.others)
            )

        given = arranged(options.donated) or (False,) * leaves
        donated = tuple((donates and i < written) or bool(d) for i, d in enumerate(given))
        places = [_several(ref) for ref in self.written]
        out_shardings = options.out_shardings
        if out_shardings is not None or any(places):
            results = len(order.jaxpr.outvars) - written
            out_shardings = (*places, *(out_shardings or (None,) * results))
        out_layouts = options.out_layouts
        return options._replace(
            in_shardings=arranged(options.in_shardings),
            in_layouts=arranged(options.in_layouts),
            out_shardings=out_shardings,
            out_layouts=None if out_layouts is None else (*(None,) * written, *out_layouts),
            donated=donated if any(donated) else (),
        )

    def locked(self) -> locked:
        """Keep other threads from the references in a ``with`` block."""
        return locked(self.refs)

    def leaves(self, donates: bool) -> list[Any]:
        """The arguments of the function of arrays. What is donated is held by nobody else."""
        values = [
            copy(ref.read()) if donates and not ref.is_owned else _array(ref)
            for ref in self.written
        ]
        return [*values, *map(_array, self.refs[len(values) :]), *self.others]

    def settle(self, outs: Sequence[Any]) -> list[Any]:
        """Write and free the references, and return the results of the program."""
        written = self.written
        for ref, value in zip(written, outs, strict=False):
            ref.write(value, fresh=True)
        for ref in self._freed:
            ref.free()
        return list(outs[len(written) :])


def _array(ref: Any) -> Any:
    """What a reference holds; for the type of one, or a description, that of an array."""
    if isinstance(ref, ShapeDtypeStruct):
        return ref.update(is_ref=False)
    return described_type(ref.inner_aval) if isinstance(ref, AbstractRef) else ref.read()


def _several(ref: Any) -> Any:
    """The sharding of what a reference holds, if it lies on several devices."""
    if isinstance(ref, AbstractRef):
        return None
    sharding = _array(ref).sharding
    return sharding if sharding is not None and len(sharding.device_set) > 1 else None


def held_call(program: Program, leaves: Sequence[Any]) -> HeldCall | None:
    """The call of a program that uses references; ``None`` for any other."""
    if uses_references(program.jaxpr.effects) or reference_arguments(program.jaxpr):
        return HeldCall(program, leaves)
    return None
