"""What happens while programs are made, for tools that watch it: checks, and contracts in tests.

Whoever makes a program says ``notify(...)`` of what a watcher may want to know and the program
itself no longer shows. Nothing is collected unless this thread is ``observing``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ricci_ir._cache import Cache
from ricci_ir._source import Source, caller_source

from ._trace import Trace, context

__all__ = [
    "CarryPromoted",
    "CondSelected",
    "current_source",
    "DonatingCall",
    "is_observed",
    "kept_programs",
    "notify",
    "NotReversible",
    "observing",
    "ProgramCompiled",
    "TraceAbandoned",
]


class TraceAbandoned(NamedTuple):
    """Tracing a function raised an exception; ``trace`` holds what was recorded before."""

    trace: Trace


class CondSelected(NamedTuple):
    """A batched predicate made a ``cond`` run all of its branches.

    Attributes:
      source: where the user called it.
      branches: the programs of the branches.
    """

    source: Source
    branches: tuple[Any, ...]


class CarryPromoted(NamedTuple):
    """Weakly typed parts of a loop's carry took the types that the body gives them.

    Attributes:
      source: where the user called the loop.
      loop: what the loop is, such as ``scan``.
      changes: the name, the type before and the type after of each part.
    """

    source: Source
    loop: str
    changes: tuple[tuple[str, Any, Any], ...]


class NotReversible(NamedTuple):
    """Reverse mode met an operation that it cannot differentiate; an error follows."""

    source: Source
    operation: str


class DonatingCall(NamedTuple):
    """A function that donates arguments was called inside a function that is being traced.

    Attributes:
      source: where the user called it.
      name: the function's name.
      jaxpr: its program, whose arguments are ``consts`` constants followed by its own.
      consts: how many constants there are.
      arg_names: what its own arguments are called.
      donated: for each of them, whether it is donated.
    """

    source: Source
    name: str
    jaxpr: Any
    consts: int
    arg_names: tuple[str, ...]
    donated: tuple[bool, ...]


class ProgramCompiled(NamedTuple):
    """A jitted function was compiled.

    Attributes:
      source: where the user called it.
      function: the function's module and qualified name.
      arguments: the name and the type of each array among the arguments.
      static: the name and the ``repr`` of each static argument.
      jaxpr: its program.
    """

    source: Source
    function: str
    arguments: tuple[tuple[str, Any], ...]
    static: tuple[tuple[str, str], ...]
    jaxpr: Any


Event = (
    TraceAbandoned | CondSelected | CarryPromoted | NotReversible | DonatingCall | ProgramCompiled
)


class observing:
    """Call ``observer(event)`` for what happens on this thread inside a ``with`` block.

    Args:
      observer: is called with each event, where it happens; it must not raise.
      anew: whether functions are traced although their programs are known, so that all that
        happens when they are traced happens now. The programs are forgotten afterwards.

    Example:
      >>> events = []
      >>> with observing(events.append):
      ...     notify(NotReversible(Source(None, 0), "while_loop"))
      >>> events[0].operation
      'while_loop'
    """

    __slots__ = ("anew", "observer", "previous")

    def __init__(self, observer: Callable[[Any], object], *, anew: bool = False):
        self.observer = observer
        self.anew = anew

    def __enter__(self) -> None:
        self.previous = context.observers, context.kept_anew
        context.observers = (*context.observers, self.observer)
        if self.anew:
            context.kept_anew = {}

    def __exit__(self, *exception: object) -> None:
        context.observers, context.kept_anew = self.previous


def is_observed() -> bool:
    """Whether anybody on this thread wants to be told of events."""
    return bool(context.observers)


def notify(event: Event) -> None:
    """Tell all observers on this thread what happened; ask ``is_observed()`` before making it."""
    for observer in context.observers:
        observer(event)


def kept_programs[K, V](table: Cache[K, V]) -> Cache[K, V]:
    """Where the programs of users' functions are kept: ``table``.

    Where an observer has functions traced anew, a table of that time's own.
    """
    anew = context.kept_anew
    if anew is None:
        return table
    found = anew.get(id(table))
    if found is None:
        found = anew[id(table)] = table, Cache(table.name, table.limit)
    return found[1]


def current_source() -> Source:
    """Where in the user's code the operation comes from that is being bound or transformed."""
    if context.origin is not None:
        return Source(*context.origin, context.name_stack)
    return Source(*caller_source(2, context.name_stack))
