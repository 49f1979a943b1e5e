"""Guards of transfers and of memory: jaxlib watches, and the options tell it what for.

jaxlib has one state for the process and one for each thread. A transfer that the user asked for
by name (``device_put``, ``device_get``) is explicit, and forbidden only by ``disallow_explicit``.
"""

import logging
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from ricci_ir import UNSET, State, array_garbage_collection_guard, config

from ._jaxlib import runtime

_states = runtime.guard_lib
_Level = _states.TransferGuardLevel
_transfer_levels = {name.lower(): level for name, level in _Level.__members__.items()}
_collection_levels = {
    name.lower(): level for name, level in _states.GarbageCollectionGuardLevel.__members__.items()
}
_directions = ("host_to_device", "device_to_device", "device_to_host")
_log = logging.getLogger("ricci.transfers")


class _Watch:
    """Whether a guard of transfers has ever been set, so that copies must be told apart."""

    __slots__ = ("on",)

    def __init__(self):
        self.on = False


watch = _Watch()


def _tell_jaxlib(state: State, attribute: str, levels: Mapping[str, Any]) -> None:
    """Keep an attribute of jaxlib's guards at the value of an option, in every thread."""

    def update(value: Any, local: bool) -> None:
        level = None if value is None or value is UNSET else levels[value]
        if level is not None:
            watch.on = True
        setattr(_states.thread_local_state() if local else _states.global_state(), attribute, level)

    state.on_change(update)


for _direction in _directions:
    _tell_jaxlib(config.state(f"jax_transfer_guard_{_direction}"), _direction, _transfer_levels)
_tell_jaxlib(array_garbage_collection_guard, "garbage_collect_array", _collection_levels)


def _level(direction: str) -> Any:
    """The level that holds in this thread."""
    level = getattr(_states.thread_local_state(), direction)
    if level is None:
        level = getattr(_states.global_state(), direction)
    return _Level.ALLOW if level is None else level


def transfers_are_guarded() -> bool:
    """Whether copies between the host and devices are logged or forbidden in this thread."""
    if not watch.on:
        return False
    return any(_level(d) != _Level.ALLOW for d in ("host_to_device", "device_to_host"))


def begin_explicit(attribute: str) -> tuple[str, bool]:
    """Count what this thread copies as asked for by the user, until ``end_explicit``.

    Args:
      attribute: of jaxlib's guards, ``"explicit_device_put"`` or ``"explicit_device_get"``.
    """
    here = _states.thread_local_state()
    before = getattr(here, attribute)
    setattr(here, attribute, True)
    return attribute, before


def end_explicit(mark: tuple[str, bool]) -> None:
    """Undo what ``begin_explicit`` did."""
    setattr(_states.thread_local_state(), *mark)


def explicit_transfer[**P, R](attribute: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark what a function copies as asked for by the user; see ``begin_explicit``."""

    def mark(fun: Callable[P, R]) -> Callable[P, R]:
        @wraps(fun)
        def marked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not watch.on:
                return fun(*args, **kwargs)
            mark = begin_explicit(attribute)
            try:
                return fun(*args, **kwargs)
            finally:
                end_explicit(mark)

        return marked

    return mark


class unguarded:
    """In this block nothing counts as a transfer: the values belong to a program, or stay."""

    __slots__ = ("levels",)

    def __enter__(self) -> None:
        self.levels = None
        if watch.on:
            here = _states.thread_local_state()
            self.levels = [getattr(here, direction) for direction in _directions]
            for direction in _directions:
                setattr(here, direction, _Level.ALLOW)

    def __exit__(self, *exception: object) -> None:
        if self.levels is not None:
            here = _states.thread_local_state()
            for direction, level in zip(_directions, self.levels, strict=True):
                setattr(here, direction, level)


def check_device_to_device(aval: Any, sharding: Any) -> None:
    """Log or forbid a copy between devices that goes through the host, so that jaxlib sees none.

    Raises:
      JaxRuntimeError: if such a copy is forbidden.
    """
    if not watch.on:
        return
    level = _level("device_to_device")
    explicit = _states.thread_local_state().explicit_device_put
    what = f"device-to-device transfer: aval={aval}, dst_sharding={sharding}"
    if level == _Level.DISALLOW_EXPLICIT or (level == _Level.DISALLOW and not explicit):
        raise runtime.JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {what}")
    if level == _Level.LOG_EXPLICIT or (level == _Level.LOG and not explicit):
        _log.warning(what)
