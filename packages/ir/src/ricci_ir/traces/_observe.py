"""Events of tracing and compilation, for tools that observe them: checks and compile contracts.

Code that builds a jaxpr calls ``notify(...)`` for an event that the finished jaxpr no longer
shows. Events are created only if this thread is ``observing``.
"""

from collections.abc import Callable
from typing import Any

from ricci_ir._cache import Cache
from ricci_ir._records import TupleRecord
from ricci_ir._source import Source, caller_source

from ._trace import ContextBlock, Trace, context

__all__ = ["CarryPromoted", "CondSelected", "ConstantRounded", "current_source", "DigitsLost"]
__all__ += ["DonatingCall", "note_rounding"]
__all__ += ["is_observed", "exempt_from_retracing", "active_cache", "notify", "NotReversible"]
__all__ += ["observing", "ProgramCompiled", "TraceAbandoned"]


class TraceAbandoned(TupleRecord):
    """Tracing a function raised an exception; ``trace`` holds the equations recorded so far."""

    trace: Trace


class CondSelected(TupleRecord):
    """A ``cond`` became a selection that runs all branches, because its predicate is batched.

    Attributes:
      source: the place where the user called it.
      branches: the jaxprs of the branches.
    """

    source: Source
    branches: tuple[Any, ...]


class CarryPromoted(TupleRecord):
    """Weakly typed parts of a loop's carry were promoted to the types that the body returns.

    Attributes:
      source: the place where the user called the loop.
      loop: the kind of loop, such as ``scan``.
      changes: for each part of the carry its name, its old type and its new type.
    """

    source: Source
    loop: str
    changes: tuple[tuple[str, Any, Any], ...]


class DigitsLost(TupleRecord):
    """Integers were promoted to a dtype that does not hold all integers of theirs.

    Attributes:
      source: the place where the user called the operation.
      old, new: the dtype of the integers, and the one that they are promoted to.
    """

    source: Source
    old: Any
    new: Any


class ConstantRounded(TupleRecord):
    """A number, or an array of numbers, became a constant of a dtype.

    Attributes:
      source: the place where the user has it.
      value: the number as it is in the user's code.
      constant: the constant, which may be rounded.
    """

    source: Source
    value: object
    constant: object


class NotReversible(TupleRecord):
    """An operation cannot be differentiated in reverse mode; an error follows."""

    source: Source
    operation: str


class DonatingCall(TupleRecord):
    """A function that donates arguments was called inside a function that is being traced.

    Attributes:
      source: the place where the user called it.
      name: the function's name.
      jaxpr: its jaxpr, whose arguments are ``consts`` constants followed by the function's.
      consts: the number of constants.
      arg_names: the names of the function's arguments.
      donated: for each of them, whether it is donated.
      is_nested: whether a further function is traced between that one and the call, such as a
        jitted one or a loop's body: then nothing is donated.
    """

    source: Source
    name: str
    jaxpr: Any
    consts: int
    arg_names: tuple[str, ...]
    donated: tuple[bool, ...]
    is_nested: bool = False


class ProgramCompiled(TupleRecord):
    """A jitted function was compiled.

    Attributes:
      source: the place where the user called it.
      function: the function's module and qualified name.
      arguments: the name and the type of each array among the arguments.
      static: the name and the ``repr`` of each static argument.
      jaxpr: its jaxpr.
    """

    source: Source
    function: str
    arguments: tuple[tuple[str, Any], ...]
    static: tuple[tuple[str, str], ...]
    jaxpr: Any


Event = (
    TraceAbandoned
    | CondSelected
    | CarryPromoted
    | DigitsLost
    | ConstantRounded
    | NotReversible
    | DonatingCall
    | ProgramCompiled
)


class observing(ContextBlock):
    """Call ``observer(event)`` for each event on this thread inside a ``with`` block.

    Args:
      observer: called with each event when it happens; it must not raise.
      anew: whether functions are retraced although their jaxprs are cached, so that no event of
        their tracing is missed. The new jaxprs are dropped afterwards.

    Example:
      >>> from ricci_ir import NotReversible, Source, notify, observing
      >>> events = []
      >>> with observing(events.append):
      ...     notify(NotReversible(Source(None, 0), "while_loop"))
      >>> events[0].operation
      'while_loop'
    """

    __slots__ = ("anew", "observer")

    def __init__(self, observer: Callable[[Any], object], *, anew: bool = False):
        super().__init__()
        self.observer: Callable[[Any], object] = observer
        self.anew: bool = anew

    def __enter__(self) -> None:
        self._enter((context.observers, context.temporary_caches))
        # A new tuple: the earlier one, which the end of the block restores, does not change.
        context.observers = (*context.observers, self.observer)
        if self.anew:
            context.temporary_caches = {}

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            context.observers, context.temporary_caches = previous


def is_observed() -> bool:
    """Whether this thread has an observer."""
    return bool(context.observers)


def notify(event: Event) -> None:
    """Pass an event to this thread's observers; call ``is_observed()`` before making the event."""
    for observer in context.observers:
        observer(event)


def note_rounding[T](value: object, constant: T) -> T:
    """Return the constant that a number of the user's code became, and notify observers of it."""
    if context.observers:
        notify(ConstantRounded(current_source(), value, constant))
    return constant


def active_cache[K, V](table: Cache[K, V]) -> Cache[K, V]:
    """Return the cache to use for jaxprs of user functions: ``table`` itself.

    While an observer has functions retraced, it is a temporary cache instead.
    """
    temporary = context.temporary_caches
    if temporary is None:
        return table
    entry = temporary.get(id(table))
    if entry is None:
        # The entry refers to the table, so that its id is not reused while the block lasts.
        entry = temporary[id(table)] = table, Cache(table.name, table.limit)
    return entry[1]


def exempt_from_retracing(table: Cache[Any, Any]) -> None:
    """Exempt a cache from the retracing that an observer asked for: it is used as usual."""
    temporary = context.temporary_caches
    if temporary is not None:
        # ``active_cache`` returns the table that is listed here: for this one, itself.
        temporary[id(table)] = table, table


def current_source() -> Source:
    """The place in the user's code of the operation that is being bound or transformed."""
    if context.origin is not None:
        return Source(*context.origin, context.name_stack)
    return Source(*caller_source(2, context.name_stack))
