"""Calls of jitted functions that use references.

Such a jaxpr is compiled in discharged form: as a function that takes the arrays in its references
first, and returns the written ones ahead of its results. Written arrays are donated, so that they
are updated in place.
"""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_xla.compile._place import Options
from ricci_xla.tracing._program import Program


class _Discharged(ir.TupleRecord):
    """The discharged form of a jaxpr: a function of arrays.

    Attributes:
      jaxpr: takes the constants, the arrays of the references, and the other arguments.
      plain_consts: the positions of constants that are not references.
      refs: the positions of the references, the written ones first.
      others: the positions of the arguments that are not references.
      written: the number of references that are written.
      freed: the positions of the references that are freed.
    """

    jaxpr: ir.Jaxpr
    plain_consts: tuple[int, ...]
    refs: tuple[int, ...]
    others: tuple[int, ...]
    written: int
    freed: tuple[int, ...]


def _discharge(jaxpr: ir.Jaxpr, num_consts: int) -> _Discharged:
    key = ("with arrays of references", num_consts)
    return jaxpr.derived(key, lambda: _find_discharged(jaxpr, num_consts))


def _find_discharged(jaxpr: ir.Jaxpr, num_consts: int) -> _Discharged:
    pure, written, freed = ir.discharged(jaxpr)
    refs = ir.reference_arguments(jaxpr)
    # Written references come first, in the order of the arrays that the discharged jaxpr returns,
    # so that argument i is donated to result i.
    refs = (*written, *(i for i in refs if i not in written))
    plain_consts = tuple(i for i in range(num_consts) if i not in refs)
    others = tuple(i for i in range(num_consts, len(jaxpr.invars)) if i not in refs)
    results = len(jaxpr.outvars)
    reordered = pure.replace(
        invars=[pure.invars[i] for i in (*plain_consts, *refs, *others)],
        outvars=[*pure.outvars[results:], *pure.outvars[:results]],
    )
    return _Discharged(reordered, plain_consts, refs, others, len(written), freed)


class ReferenceCall:
    """A call of a program that uses references.

    Args:
      program: the program.
      leaves: the arguments of the call.

    Attributes:
      program: the discharged program.
      refs: the references, the written ones first.
      others: the other arguments.
    """

    __slots__ = ("_discharged", "_freed", "_num_consts", "others", "program", "refs")

    def __init__(self, program: Program, leaves: Sequence[Any]):
        count = len(program.consts)
        form = _discharge(program.jaxpr, count)
        values = [*program.consts, *leaves]
        self.refs: list[Any] = [values[i] for i in form.refs]
        self.others: list[Any] = [values[i] for i in form.others]
        names, result_info = program.arg_names, program.result_info
        if names:
            names = tuple(
                names[i - count] if i >= count else "a closed-over reference"
                for i in (*form.refs, *form.others)
            )
        if result_info:
            result_info = (*[f"reference {i}" for i in range(form.written)], *result_info)
        self.program: Program = program._replace(
            jaxpr=form.jaxpr,
            consts=tuple(values[i] for i in form.plain_consts),
            arg_names=names,
            result_info=result_info,
        )
        self._freed: list[Any] = [values[i] for i in form.freed]
        self._discharged = form
        self._num_consts = count

    @property
    def written(self) -> list[Any]:
        """The references that the program writes."""
        return self.refs[: self._discharged.written]

    def options(self, options: Options, donates: bool) -> Options:
        """Return the options of ``jit`` for the discharged program.

        Args:
          options: the options for the program with references.
          donates: whether the arrays of written references are donated.
        """
        form, count = self._discharged, self._num_consts
        written = form.written
        positions = (*form.refs, *form.others)

        def reorder(of_leaves: Sequence[Any] | None) -> tuple[Any, ...] | None:
            if not of_leaves:
                return None
            return tuple(of_leaves[i - count] if i >= count else None for i in positions)

        requested = reorder(options.donated) or (False,) * len(positions)
        donated = tuple((donates and i < written) or bool(d) for i, d in enumerate(requested))
        # A written array must have the sharding of the one that it replaces.
        ref_shardings = [_sharding_of(ref) for ref in self.written]
        out_shardings = options.out_shardings
        if out_shardings is not None or any(ref_shardings):
            results = len(form.jaxpr.outvars) - written
            out_shardings = (*ref_shardings, *(out_shardings or (None,) * results))
        out_layouts = options.out_layouts
        return options._replace(
            in_shardings=reorder(options.in_shardings),
            in_layouts=reorder(options.in_layouts),
            out_shardings=out_shardings,
            out_layouts=None if out_layouts is None else (*(None,) * written, *out_layouts),
            donated=donated if any(donated) else (),
        )

    def locked(self) -> ir.locked:
        """Lock the references against other threads in a ``with`` block."""
        return ir.locked(self.refs)

    def leaves(self, donates: bool) -> list[Any]:
        """Return the discharged program's arguments, with copies of shared arrays if it donates."""
        values = [
            _copied(ref.read()) if donates and not ref.is_owned else _array(ref)
            for ref in self.written
        ]
        return [*values, *map(_array, self.refs[len(values) :]), *self.others]

    def write_back(self, outs: Sequence[Any]) -> list[Any]:
        """Write and free the references, and return the results of the program."""
        written = self.written
        for ref, value in zip(written, outs, strict=False):
            ref.write(value, fresh=True)
        for ref in self._freed:
            ref.free()
        return list(outs[len(written) :])


def _copied(array: object) -> object:
    """Return a copy of an array that the user may also hold: donation destroys the array."""
    from copy import copy  # noqa: PLC0415 - lazy: few programs have references

    return copy(array)


def _array(ref: Any) -> Any:
    """Return the array in a reference; of a reference's type or description, the array's."""
    if isinstance(ref, ir.ShapeDtypeStruct):
        return ref.update(is_ref=False)
    return ir.described_type(ref.inner_aval) if isinstance(ref, ir.AbstractRef) else ref.read()


def _sharding_of(ref: object) -> Any:
    """Return the sharding of a reference's array if it is on several devices, else ``None``."""
    if isinstance(ref, ir.AbstractRef):
        return None
    sharding = _array(ref).sharding
    return sharding if sharding is not None and len(sharding.device_set) > 1 else None


def reference_call(program: Program, leaves: Sequence[Any]) -> ReferenceCall | None:
    """Return the discharged call of a program that uses references, else ``None``."""
    if ir.uses_references(program.jaxpr.effects) or ir.reference_arguments(program.jaxpr):
        return ReferenceCall(program, leaves)
    return None
