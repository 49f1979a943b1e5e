"""Monitoring events and their listeners: counts, durations, time spans and scalars."""

from collections.abc import Callable

__all__ = ["clear_event_listeners", "record_event", "record_event_duration_secs"]
__all__ += ["record_event_time_span", "record_scalar", "register_event_duration_secs_listener"]
__all__ += ["register_event_listener", "register_event_time_span_listener"]
__all__ += ["register_scalar_listener", "unregister_event_duration_listener"]
__all__ += ["unregister_event_listener", "unregister_event_time_span_listener"]
__all__ += ["unregister_scalar_listener"]


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
        """Add a listener: a function that is called for each event."""
        self._callbacks.append(callback)

    def remove(self, callback: Callable[..., None]) -> None:
        """Remove a listener.

        Raises:
          ValueError: if the function is not a listener.
        """
        try:
            self._callbacks.remove(callback)
        except ValueError:
            raise ValueError(f"{callback!r} does not listen to {self.kind}") from None

    def clear(self) -> None:
        """Remove all listeners."""
        self._callbacks.clear()


_events = Listeners("events")
_scalars = Listeners("scalars")
_spans = Listeners("time spans")
durations = Listeners("durations")


def record_event(event: str, **kwargs: str | int) -> None:
    """Report an event to the listeners.

    Args:
      event: its name, a path such as ``/app/cache/hit``.
      kwargs: further data on it.

    Example:
      >>> from ricci import monitoring
      >>> monitoring.register_event_listener(lambda event, **about: print(event, about))
      >>> monitoring.record_event("/app/started", attempt=2)
      /app/started {'attempt': 2}
      >>> monitoring.clear_event_listeners()
    """
    _events.tell(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Report a duration in seconds to the listeners.

    Args:
      event: the name of the event.
      duration: the number of seconds.
      kwargs: further facts, given to the listeners.

    Example:
      >>> from ricci import monitoring
      >>> monitoring.record_event_duration_secs("/app/loading", 0.5)
    """
    durations.tell(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Report the start and end of a time span to the listeners.

    Args:
      event: the name of the event.
      start_time, end_time: seconds since the epoch.
      kwargs: further facts, given to the listeners.

    Example:
      >>> from ricci import monitoring
      >>> monitoring.record_event_time_span("/app/loading", 10.0, 12.5)
    """
    _spans.tell(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Report a number to the listeners.

    Args:
      event: the name of the event.
      value: the number.
      kwargs: further facts, given to the listeners.

    Example:
      >>> from ricci import monitoring
      >>> monitoring.record_scalar("/app/files", 3, folder="data")
    """
    _scalars.tell(event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, **metadata)`` for each ``record_event``.

    Args:
      callback: the function.

    Example:
      >>> from ricci import monitoring
      >>> seen = []
      >>> listener = lambda event, **about: seen.append(event)
      >>> monitoring.register_event_listener(listener)
      >>> monitoring.record_event("/app/started")
      >>> monitoring.unregister_event_listener(listener)
      >>> seen
      ['/app/started']
    """
    _events.add(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, seconds, **metadata)`` for each duration that is recorded.

    Tracing, lowering and compiling record theirs, with ``fun_name``.

    Args:
      callback: the function.

    Example:
      >>> from ricci import monitoring
      >>> seconds = []
      >>> listener = lambda event, duration, **about: seconds.append((event, duration))
      >>> monitoring.register_event_duration_secs_listener(listener)
      >>> monitoring.record_event_duration_secs("/app/loading", 0.5)
      >>> monitoring.unregister_event_duration_listener(listener)
      >>> seconds
      [('/app/loading', 0.5)]
    """
    durations.add(callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, start, end, **metadata)`` for each ``record_event_time_span``.

    Args:
      callback: the function.

    Example:
      >>> from ricci import monitoring
      >>> spans = []
      >>> listener = lambda event, start, end, **about: spans.append(end - start)
      >>> monitoring.register_event_time_span_listener(listener)
      >>> monitoring.record_event_time_span("/app/loading", 10.0, 12.5)
      >>> monitoring.unregister_event_time_span_listener(listener)
      >>> spans
      [2.5]
    """
    _spans.add(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Call ``callback(event, value, **metadata)`` for each ``record_scalar``.

    Args:
      callback: the function.

    Example:
      >>> from ricci import monitoring
      >>> values = []
      >>> listener = lambda event, value, **about: values.append(value)
      >>> monitoring.register_scalar_listener(listener)
      >>> monitoring.record_scalar("/app/files", 3)
      >>> monitoring.unregister_scalar_listener(listener)
      >>> values
      [3]
    """
    _scalars.add(callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_event_listener``.

    Args:
      callback: the function that was registered.

    Raises:
      ValueError: if it is not registered.

    Example:
      >>> from ricci import monitoring
      >>> listener = lambda event, **about: print(event)
      >>> monitoring.register_event_listener(listener)
      >>> monitoring.unregister_event_listener(listener)
      >>> monitoring.record_event("/app/started")
    """
    _events.remove(callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_event_duration_secs_listener``.

    Args:
      callback: the function that was registered.

    Raises:
      ValueError: if it is not registered.

    Example:
      >>> from ricci import monitoring
      >>> listener = lambda event, seconds, **about: print(event)
      >>> monitoring.register_event_duration_secs_listener(listener)
      >>> monitoring.unregister_event_duration_listener(listener)
    """
    durations.remove(callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_event_time_span_listener``.

    Args:
      callback: the function that was registered.

    Raises:
      ValueError: if it is not registered.

    Example:
      >>> from ricci import monitoring
      >>> listener = lambda event, start, end, **about: print(event)
      >>> monitoring.register_event_time_span_listener(listener)
      >>> monitoring.unregister_event_time_span_listener(listener)
    """
    _spans.remove(callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Undo ``register_scalar_listener``.

    Args:
      callback: the function that was registered.

    Raises:
      ValueError: if it is not registered.

    Example:
      >>> from ricci import monitoring
      >>> listener = lambda event, value, **about: print(event)
      >>> monitoring.register_scalar_listener(listener)
      >>> monitoring.unregister_scalar_listener(listener)
    """
    _scalars.remove(callback)


def clear_event_listeners() -> None:
    """Remove all listeners, of every kind.

    Example:
      >>> from ricci import monitoring
      >>> monitoring.register_event_listener(lambda event, **about: print(event))
      >>> monitoring.clear_event_listeners()
      >>> monitoring.record_event("/app/started")
    """
    for listeners in (_events, _scalars, _spans, durations):
        listeners.clear()
