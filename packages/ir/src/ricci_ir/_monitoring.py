"""Monitoring events and their listeners: counts, durations, time spans and scalars."""

from collections.abc import Callable

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]


class Listeners:
    """The listeners for one kind of event."""

    __slots__ = ("_callbacks", "kind")

    def __init__(self, kind: str):
        self.kind = kind
        self._callbacks: list[Callable[..., None]] = []

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def tell(self, event: str, *values: float, **metadata: str | int) -> None:
        """Call every listener."""
        for callback in list(self._callbacks):
            callback(event, *values, **metadata)

    def add(self, callback: Callable[..., None]) -> None:
        """Call a function for each event from now on."""
        self._callbacks.append(callback)

    def remove(self, callback: Callable[..., None]) -> None:
        """Call a function no longer.

        Raises:
          ValueError: if it is no listener.
        """
        try:
            self._callbacks.remove(callback)
        except ValueError:
            raise ValueError(f"{callback!r} does not listen to {self.kind}") from None

    def clear(self) -> None:
        """Call none of them any more."""
        self._callbacks.clear()


_events = Listeners("events")
_scalars = Listeners("scalars")
_spans = Listeners("time spans")
durations = Listeners("durations")


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell listeners that something happened.

    Args:
      event: its name, a path such as ``/app/cache/hit``.
      kwargs: further data on it.

    Example:
      >>> register_event_listener(lambda event, **about: print(event, about))
      >>> record_event("/app/started", attempt=2)
      /app/started {'attempt': 2}
      >>> clear_event_listeners()
    """
    _events.tell(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell listeners how many seconds something took."""
    durations.tell(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell listeners when something began and ended, in seconds since the epoch."""
    _spans.tell(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell listeners a number."""
    _scalars.tell(event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, **metadata)`` for each ``record_event``."""
    _events.add(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, seconds, **metadata)`` for each duration that is recorded.

    Tracing, lowering and compiling record theirs, with ``fun_name``.
    """
    durations.add(callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, start, end, **metadata)`` for each ``record_event_time_span``."""
    _spans.add(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, value, **metadata)`` for each ``record_scalar``."""
    _scalars.add(callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_event_listener``; ``ValueError`` if it was not done."""
    _events.remove(callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_event_duration_secs_listener``; ``ValueError`` if it was not done."""
    durations.remove(callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_event_time_span_listener``; ``ValueError`` if it was not done."""
    _spans.remove(callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_scalar_listener``; ``ValueError`` if it was not done."""
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Remove all listeners, of every kind."""
    for listeners in (_events, _scalars, _spans, durations):
        listeners.clear()
