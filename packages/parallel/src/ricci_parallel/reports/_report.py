"""``communication``: list the collectives of a function's executable, line by line."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, overload

from ricci_ir import call_with_arguments, html_table, shown_file
from ricci_xla import Traced, compile_with_lines, trace_call

from ._attribution import Attribution
from ._collective import Collective, shown_bytes
from ._device_groups import MeshAxes
from ._hlo_text import HloModule
from ._program_lines import ProgramLines

__all__ = ["Communication", "communication", "communication_of"]

_HEADINGS: tuple[str, ...] = ("place", "operation", "collective", "over", "times", "sends", "why")


class Communication(Sequence[Collective]):
    """The collectives of an executable, in the order of the user's lines.

    Attributes:
      text: the optimized HLO module.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.parallel import communication
      >>> report = communication(lambda x: x + 1.0)(jnp.ones(3))
      >>> report.bytes, list(report)
      (0, [])
    """

    __slots__ = ("_collectives", "text")

    text: str

    def __init__(self, rows: Sequence[Collective], text: str):
        self._collectives: tuple[Collective, ...] = tuple(
            sorted(rows, key=lambda r: (r.file, r.line, r.column, r.kind))
        )
        self.text = text

    @overload
    def __getitem__(self, index: int) -> Collective: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Collective, ...]: ...

    def __getitem__(self, index: int | slice) -> Collective | tuple[Collective, ...]:
        return self._collectives[index]

    def __len__(self) -> int:
        return len(self._collectives)

    @property
    def rows(self) -> list[dict[str, object]]:
        """The collectives as data."""
        return [asdict(collective) for collective in self._collectives]

    @property
    def bytes(self) -> int:
        """The bytes that each device sends in a step, at least."""
        return sum(row.bytes for row in self._collectives)

    @property
    def kinds(self) -> Counter[str]:
        """The number of collectives in the module by kind; merged ones count once."""
        # Several rows may be of one instruction, which XLA has merged of the collectives of several
        # lines.
        return Counter(
            kind for kind, _ in {(row.kind, row.instruction) for row in self._collectives}
        )

    @property
    def involuntary(self) -> tuple[Collective, ...]:
        """The collectives that exist only because an array is needed in another sharding."""
        return tuple(row for row in self._collectives if row.reason == "involuntary")

    def at(self, function: str) -> tuple[Collective, ...]:
        """Return the collectives that are due to lines of a function, by its name."""
        return tuple(r for r in self._collectives if r.function.rpartition(".")[2] == function)

    def __str__(self) -> str:
        """Format a table with a row for each collective, and a first line with the sums."""
        if not self._collectives:
            return "no collectives"
        count = sum(self.kinds.values())
        sent = shown_bytes(self.bytes)
        head = f"{count} collective{'s' * (count > 1)}; each device sends {sent} a step"
        cells = [_HEADINGS, *map(_cells, self._collectives)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        cells: list[dict[str, object]] = [
            dict(zip(_HEADINGS, _cells(row), strict=True)) for row in self._collectives
        ]
        return html_table(cells, str(self).partition("\n")[0])

    def __repr__(self) -> str:
        kinds = ", ".join(f"{kind}: {count}" for kind, count in sorted(self.kinds.items()))
        return f"Communication({kinds or 'no collectives'})"


@overload
def communication(fun: Callable[..., Any]) -> Callable[..., Communication]: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def communication(fun: Callable[..., Any], *args: object, **kwargs: object) -> Communication: ...
def communication(
    fun: Callable[..., Any], *args: object, **kwargs: object
) -> Communication | Callable[..., Communication]:
    """Compile a function, run nothing, and report the collectives that XLA added, line by line.

    Args:
      fun: a function of pytrees of arrays, jitted (with its ``in_shardings``, ``out_shardings`` and
        donated arguments) or not.
      args, kwargs: its arguments, or none: ``communication(f, x)`` is ``communication(f)(x)``.

    Returns:
      A function of ``fun``'s arguments that returns a ``Communication``; with arguments, that. A
      ``ShapeDtypeStruct`` with a sharding may take the place of an array; its devices may be those
      of a topology.

    Raises:
      TypeError: if ``fun`` cannot be called.

    Example:
      A product that sums over a sharded dimension needs one ``all-reduce``, here on 8 described
      devices:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.topologies import get_topology_desc, make_mesh
      >>> from ricci.parallel import communication
      >>> mesh = make_mesh(get_topology_desc("cpu:8"), (8,), ("data",))
      >>> sharded = ricci.NamedSharding(mesh, ricci.P("data"))
      >>> x = ricci.ShapeDtypeStruct((64,), jnp.float32, sharding=sharded)
      >>> report = communication(lambda x: jnp.dot(x, x))(x)
      >>> report.kinds
      Counter({'all-reduce': 1})
    """

    def communication(
        fun: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]
    ) -> Communication:
        return communication_of(trace_call(fun, args, kwargs))

    return call_with_arguments(communication, fun, args, kwargs)


def communication_of(traced: Traced) -> Communication:
    """Report the collectives in the executable of a traced call."""
    # Only the optimized module has the collectives: the partitioner adds them.
    program = compile_with_lines(traced)
    text = program.text
    module = HloModule(text)
    lines = ProgramLines(program.jaxpr, program.arg_names, program.out_shardings)
    axes = MeshAxes(program.meshes, program.devices)
    rows = Attribution(module, lines, axes, len(program.devices)).rows()
    return Communication(rows, text)


def _cells(row: Collective) -> tuple[str, ...]:
    place = f"{shown_file(row.file, short=True)}:{row.line}" if row.line else "?"
    times = "?" if row.times is None else str(row.times)
    cost = times, row.bytes_text
    return place, row.operation, row.kind, row.axes_text, *cost, row.explanation
