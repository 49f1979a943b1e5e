"""Settings with a global value and thread-local overrides, and the key of all their values."""

import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

from ._option_kinds import Bool, Kind

__all__ = [
    "define_context",
    "follow_trace_key",
    "global_trace_key",
    "make_user_context",
    "Override",
    "SettingsSwitch",
    "settings_keys",
    "State",
    "trace_key",
    "TraceKey",
    "UNSET",
]


class _Unset:
    """Stands for "no value"; as an argument and as the end of an override."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()
_lock = threading.RLock()


class State:
    """One option. ``state.value`` reads it; ``with state(new):`` overrides it in this thread.

    Args:
      name: what the option is called.
      kind: checks new values.
      default: the global value until it is set.
      traced: whether the value is part of ``trace_key()``; such values must be hashable.
      held: whether an operation holds the value that it was applied under; see
        ``SettingsSwitch``. Such options are ``traced``.
    """

    __slots__ = (
        "_global",
        "_hooks",
        "_local",
        "_overrides",
        "default",
        "held",
        "kind",
        "name",
        "traced",
    )

    def __init__(
        self,
        name: str,
        kind: Kind | None,
        default: object,
        traced: bool = False,
        held: bool = False,
    ):
        self.name: str = name
        self.kind: Kind | None = kind
        self.default: Any = default
        self.traced: bool = traced
        self.held: bool = held
        self._global = default
        self._overrides = 0  # how many overrides are entered now, over all threads
        self._local = threading.local()
        self._hooks: list[Callable[[Any, bool], object]] = []

    @property
    def value(self) -> Any:
        """The override of this thread if there is one, else the global value."""
        if not self._overrides:
            return self._global
        stack = getattr(self._local, "stack", None)
        return stack[-1].value if stack else self._global

    @property
    def shared_value(self) -> Any:
        """The global value, whatever this thread overrides it with."""
        return self._global

    @property
    def is_overridden(self) -> bool:
        """Whether any thread has an override."""
        return self._overrides > 0

    def parse(self, value: object) -> Any:
        """The value to store for one given by the user."""
        return value if self.kind is None else self.kind.parse(self.name, value)

    def set_global(self, value: object) -> None:
        """Set the value that holds in every thread without an override."""
        value = self.parse(value)
        before = self._global
        self._store(value)
        try:
            for hook in self._hooks:
                hook(value, False)
        except BaseException:
            self._store(before)
            raise

    def _store(self, value: object) -> None:
        with _lock:
            self._global = value
            if self.traced:
                _keys.refresh()

    def get_local(self) -> Any:
        """The override of this thread, or ``UNSET``."""
        stack = getattr(self._local, "stack", None)
        return stack[-1].value if stack else UNSET

    def on_change(self, callback: Callable[[Any, bool], object]) -> None:
        """Call ``callback(value, local)`` now and after each change.

        ``local`` is false for the global value and true for the override of the calling thread.
        When the last override of a thread ends, the value is ``UNSET``. If a callback raises, the
        new value is refused and the former one stays.
        """
        self.after_change(callback)
        callback(self._global, False)

    def after_change(self, callback: Callable[[Any, bool], object]) -> None:
        """Call ``callback(value, local)`` after each change, but not now; see ``on_change``."""
        self._hooks.append(callback)

    def __call__(self, new_val: object = UNSET) -> "Override":
        if new_val is UNSET:
            if not isinstance(self.kind, Bool):
                raise TypeError(f"{self.name}: say which value to use, as in {self.name}(value)")
            new_val = True
        return Override(self, self.parse(new_val))

    def __bool__(self) -> bool:
        raise TypeError(f"the option {self.name} has no truth of its own: read its .value")

    def __repr__(self) -> str:
        return f"State({self.name}={self.value!r})"

    def _push(self, override: "Override") -> None:
        local = self._local
        stack = getattr(local, "stack", None)
        if stack is None:
            stack = local.stack = []
        with _lock:
            stack.append(override)
            self._overrides += 1
            if self.traced:
                _keys.count_overrides(1)
        try:
            self._changed_here(override.value)
        except BaseException:
            self._pop(override)
            raise

    def _pop(self, override: "Override") -> None:
        """End an override of this thread, and those that were entered after it and never left.

        An override that was entered in another thread stays in force there, since the C++
        dispatcher's options of a thread can only be changed by that thread.
        """
        stack = getattr(self._local, "stack", None) or []
        start = next((i for i in reversed(range(len(stack))) if stack[i] is override), None)
        if start is None:
            return
        with _lock:
            ended = len(stack) - start
            del stack[start:]
            self._overrides -= ended
            if self.traced:
                _keys.count_overrides(-ended)
        self._changed_here(stack[-1].value if stack else UNSET)

    def swap(self, value: object) -> Any:
        """Set the value of this thread, as a plain statement does, until it is swapped again.

        Within a block that overrides the setting, the value holds until the block is left. A value
        that is the global one, outside of such blocks, needs no override.

        Args:
          value: the new value; ``UNSET`` to have none of one's own.

        Returns:
          What to swap back: the former value that was set in this way, or ``UNSET``.
        """
        stack = getattr(self._local, "stack", None) or []
        standing = stack[-1] if stack and type(stack[-1]) is _Standing else None
        if standing is not None:
            self._pop(standing)
        if value is not UNSET and (stack or value is not self._global):
            self._push(_Standing(self, value))
        return UNSET if standing is None else standing.value

    def _changed_here(self, value: object) -> None:
        if self.traced:
            _keys.local.cached = (-1, None)
        for hook in self._hooks:
            hook(value, True)


class Override:
    """A value for an option within a ``with`` block or a decorated function; reusable.

    It holds in the thread that entered it, until that thread leaves it.
    """

    __slots__ = ("state", "value")

    def __init__(self, state: State, value: object):
        self.state: State = state
        self.value: Any = value

    def __enter__(self) -> None:
        self.state._push(self)

    def __exit__(self, *exc_info: object) -> None:
        self.state._pop(self)

    def __call__(self, fun: Callable) -> Callable:
        @wraps(fun)
        def overridden(*args, **kwargs):
            with self:
                return fun(*args, **kwargs)

        return overridden


class _Standing(Override):
    """An override that no block ends."""

    __slots__ = ()


class TraceKey:
    """The values of all options and contexts that affect tracing, as a key for caches.

    Keys are interned: keys with the same values are one object, so they are hashed and compared
    by identity.

    Attributes:
      values: the value of each setting.
      held: the settings that operations hold, with their values.
    """

    __slots__ = ("__weakref__", "held", "values")

    def __init__(self, values: tuple[Any, ...], held: tuple[tuple[State, Any], ...]):
        self.values: tuple[Any, ...] = values
        self.held: tuple[tuple[State, Any], ...] = held

    def otherwise_held(self) -> "TraceKey | None":
        """The settings in force, if an operation would hold others than these, else ``None``."""
        here = trace_key()
        return None if here is self or here.held == self.held else here

    def differences(self, other: "TraceKey") -> list[tuple[str, Any, Any]]:
        """The settings in which two keys differ: name, value in this key, value in the other."""
        settings = zip(_keys.states, self.values, other.values, strict=False)
        return [(state.name, here, there) for state, here, there in settings if here != there]

    def __repr__(self) -> str:
        pairs = zip(_keys.states, self.values, strict=False)
        return f"TraceKey({', '.join(f'{s.name}={v!r}' for s, v in pairs if v != s.default)})"


class _Keys:
    """The key of all threads without overrides, and one for each thread that has overrides.

    Attributes:
      everywhere: the key of all threads without overrides.
      only: that key while no thread has overrides, else ``None``. ``settings_keys.only is key`` is
        the quick way to know that ``trace_key() is key``, for the loops that record operations.
    """

    everywhere: TraceKey
    only: TraceKey | None

    def __init__(self):
        self.states: list[State] = []
        self.interned: weakref.WeakValueDictionary[tuple[Any, ...], TraceKey] = (
            weakref.WeakValueDictionary()
        )
        self.overrides: int = 0
        self.version: int = 0  # counts changes that concern all threads
        self.local: threading.local = threading.local()
        self.refresh()

    def intern(self, values: tuple[Any, ...]) -> TraceKey:
        """The one key for these values of the settings."""
        with _lock:
            key = self.interned.get(values)
            if key is None:
                pairs = zip(self.states, values, strict=True)
                held = tuple((state, value) for state, value in pairs if state.held)
                key = self.interned[values] = TraceKey(values, held)
            return key

    def add(self, state: State) -> None:
        """Make a setting part of the keys.

        Keys that exist stand for its default from now on: what was traced under them did not read
        it. So a package that is imported late has nothing traced and compiled again.
        """
        known = list(self.interned.values())
        self.states.append(state)
        self.interned.clear()
        for key in known:
            key.values = (*key.values, state.default)
            if state.held:
                key.held = (*key.held, (state, state.default))
            self.interned[key.values] = key
        self.refresh()

    def refresh(self) -> None:
        """Note that a setting has another value for all threads."""
        self.version += 1
        self.everywhere = self.intern(tuple(state._global for state in self.states))
        self.count_overrides(0)

    def count_overrides(self, more: int) -> None:
        """Note that there are more overrides of traced settings now, or fewer."""
        self.overrides += more
        self.only = None if self.overrides else self.everywhere

    def current(self) -> TraceKey:
        """The key of this thread, which may have overrides."""
        version, key = getattr(self.local, "cached", (-1, None))
        if version != self.version or key is None:
            with _lock:
                key = self.intern(tuple(state.value for state in self.states))
                self.local.cached = (self.version, key)
        return key


_keys = _Keys()
settings_keys: _Keys = _keys
_followers: list[Callable[[Any, bool], object]] = []


def trace_key() -> TraceKey:
    """The settings of this thread on which traces of functions depend, as one key.

    Example:
      >>> from ricci_ir import define_context, trace_key
      >>> mode = define_context("mode")
      >>> before = trace_key()
      >>> with mode("fast"):
      ...     trace_key() is before
      False
      >>> trace_key() is before
      True
    """
    return _keys.only or _keys.current()


def global_trace_key() -> TraceKey:
    """The ``trace_key()`` of threads that override no option."""
    return _keys.everywhere


class SettingsSwitch:
    """Puts settings in force again that an operation was applied under.

    The rules of an operation may run long after it was recorded, as when its program is lowered or
    transposed. They must find the width of types, and the random bits, that were chosen where it
    was written. Other settings are read when the operation is applied, and are not held.

    Inside its ``with`` block, ``switch.to(key)`` overrides the held settings in which ``key``
    differs from what is in force outside, and ``switch.to(None)`` ends that.

    Args:
      first: what the block begins with, as for ``to``.

    Attributes:
      key: the settings that are in force; ``None`` for those from outside.

    Example:
      >>> import ricci
      >>> from ricci_ir import SettingsSwitch, trace_key
      >>> with ricci.enable_x64(True):
      ...     key = trace_key()
      >>> with SettingsSwitch() as switch:
      ...     switch.to(key)
      ...     ricci.enable_x64.value
      True
      >>> ricci.enable_x64.value
      False
    """

    __slots__ = ("_entered", "_first", "key")

    def __init__(self, first: TraceKey | None = None):
        self.key: TraceKey | None = None
        self._first: TraceKey | None = first
        self._entered: list[Override] = []

    def __enter__(self) -> "SettingsSwitch":
        if self._first is not None:
            self.to(self._first)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.key is not None:
            self.to(None)

    def to(self, key: TraceKey | None) -> None:
        """Put the settings of ``key`` in force, or those from outside."""
        if key is self.key:
            return
        while self._entered:
            override = self._entered.pop()
            override.state._pop(override)
        self.key = key
        if key is None:
            return
        for state, value in key.held:
            if state.value != value:
                override = Override(state, value)
                state._push(override)
                self._entered.append(override)


def define_context(name: str, default: object = None, held: bool = False) -> State:
    """A thread-local setting that affects tracing but is not an option, such as the current mesh.

    Args:
      name: the name in messages.
      default: the value without an override. All its values must be hashable.
      held: whether an operation holds the value that it was applied under; see
        ``SettingsSwitch``.

    Returns:
      a ``State``; ``with state(value):`` sets it, and each value has its own ``trace_key()``.
    """
    state = State(name, None, default, traced=True, held=held)
    trace_on(state)
    return state


class UserContext:
    """A setting defined by the user; ``jit`` traces a function once for each value of it."""

    __slots__ = ("_state",)

    def __init__(self, default: object):
        self._state = define_context("user_context", default)

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return self._state.value

    def __call__(self, value: object) -> Override:
        return self._state(value)


def make_user_context(default_value: object = None) -> UserContext:
    """Define a setting of the user's; jitted functions are traced once for each value of it.

    Args:
      default_value: the value without an override. All its values must be hashable.

    Returns:
      ``context``; inside ``with context(value):``, ``context.value`` is ``value``.

    Example:
      >>> import ricci
      >>> precision = ricci.make_user_context("fast")
      >>> with precision("exact"):
      ...     precision.value
      'exact'
      >>> precision.value
      'fast'
    """
    return UserContext(default_value)


def trace_on(state: State) -> None:
    """Make a setting's value part of ``trace_key()``."""
    with _lock:
        _keys.add(state)
        followers = list(_followers)
    for callback in followers:
        state.on_change(callback)


def follow_trace_key(callback: Callable[[Any, bool], object]) -> None:
    """Call ``callback(value, local)`` when any setting that is part of ``trace_key()`` changes.

    Settings made later count as well; see ``State.on_change``.
    """
    with _lock:
        _followers.append(callback)
        states = list(_keys.states)
    for state in states:
        state.on_change(callback)
