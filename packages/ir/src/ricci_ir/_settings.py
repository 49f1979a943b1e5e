"""Settings with a global value and thread-local overrides, and the cache key of their values."""

import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

from ._by_name import PickledByName
from ._option_kinds import Bool, Kind

__all__ = ["follow_trace_key", "global_trace_key", "Override", "SettingsSwitch", "settings_keys"]
__all__ += ["State", "trace_key", "TraceKey", "UNSET"]


class _Unset:
    """The class of ``UNSET``: "no value", as an argument and as the end of an override."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()
_lock = threading.RLock()


class State(PickledByName):
    """One option. ``state.value`` reads it; ``with state(new):`` overrides it in this thread.

    Args:
      name: the option's name.
      kind: the parser of new values.
      default: the global value until it is set.
      traced: whether the value is part of ``trace_key()``; such values must be hashable.
      per_equation: whether equations store the value that they were traced under; see
        ``SettingsSwitch``. Such options are ``traced``.
    """

    __slots__ = (
        "_global",
        "_hooks",
        "_local",
        "_overrides",
        "default",
        "per_equation",
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
        per_equation: bool = False,
    ):
        self.name: str = name
        self.kind: Kind | None = kind
        self.default: Any = default
        self.traced: bool = traced
        self.per_equation: bool = per_equation
        self._global = default
        self._overrides = 0  # the number of entered overrides in all threads
        self._local = threading.local()
        self._hooks: list[Callable[[Any, bool], object]] = []

    @property
    def value(self) -> Any:
        """The override of this thread if there is one, else the global value."""
        # The usual case costs one attribute: no thread overrides the option.
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
        """Validate and convert a value from the user."""
        return value if self.kind is None else self.kind.parse(self.name, value)

    def get_global(self) -> Any:
        """The global value, whatever this thread overrides it with."""
        return self._global

    def set_global(self, value: object) -> None:
        """Set the value of all threads without an override."""
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
            if self.traced:
                # The value becomes part of keys of caches.
                hash(value)  # raises TypeError before anything has changed
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
                raise TypeError(f"{self.name}: a value is required, as in {self.name}(value)")
            new_val = True
        return Override(self, self.parse(new_val))

    def __bool__(self) -> bool:
        raise TypeError(f"the option {self.name} is neither true nor false: read its .value")

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
            self._notify_thread(override.value)
        except BaseException:
            self._pop(override)
            raise

    def _pop(self, override: "Override") -> None:
        """End an override of this thread, and those that were entered after it and never exited.

        An override that was entered in another thread stays active there, since the C++
        dispatcher's options of a thread can only be changed by that thread.
        """
        stack = getattr(self._local, "stack", None) or []
        # By identity from the end: a generator may leave its ``with`` block after others were
        # entered, and an override that such an exit has removed is gone already.
        start = next((i for i in reversed(range(len(stack))) if stack[i] is override), None)
        if start is None:
            return
        with _lock:
            ended = len(stack) - start
            del stack[start:]
            self._overrides -= ended
            if self.traced:
                _keys.count_overrides(-ended)
        self._notify_thread(stack[-1].value if stack else UNSET)

    def swap(self, value: object) -> Any:
        """Set the value of this thread, by a statement instead of a ``with`` block.

        Within a block that overrides the setting, the value holds until the block is exited. A
        value that is the global one, outside of such blocks, needs no override.

        Args:
          value: the new value; ``UNSET`` to remove the one that was set in this way.

        Returns:
          The value to restore: the one that was set in this way before, or ``UNSET``.
        """
        stack = getattr(self._local, "stack", None) or []
        former = stack[-1] if stack and type(stack[-1]) is _StatementOverride else None
        if former is not None:
            self._pop(former)
        if value is not UNSET and (stack or value is not self._global):
            self._push(_StatementOverride(self, value))
        return UNSET if former is None else former.value

    def _notify_thread(self, value: object) -> None:
        if self.traced:
            _keys.local.cached = (-1, None)
        for hook in self._hooks:
            hook(value, True)


class Override:
    """An override of an option within a ``with`` block or a decorated function; reusable.

    It is active in the thread that entered it, until that thread exits it.
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


class _StatementOverride(Override):
    """An override by ``State.swap``, which no ``with`` block ends."""

    __slots__ = ()


class TraceKey:
    """The values of all options and contexts that affect tracing, as a key for caches.

    Keys are interned: keys with the same values are one object, so they are hashed and compared
    by identity.

    Attributes:
      values: the value of each setting.
      per_equation: the settings that equations store, with their values.
    """

    __slots__ = ("__weakref__", "per_equation", "values")

    def __init__(self, values: tuple[Any, ...], per_equation: tuple[tuple[State, Any], ...]):
        self.values: tuple[Any, ...] = values
        self.per_equation: tuple[tuple[State, Any], ...] = per_equation

    def equation_settings(self) -> "TraceKey | None":
        """The current key if it differs from this one in settings of equations, else ``None``."""
        current = trace_key()
        return None if current is self or current.per_equation == self.per_equation else current

    def differences(self, other: "TraceKey") -> list[tuple[str, Any, Any]]:
        """The settings in which two keys differ: name, value in this key, value in the other."""
        settings = zip(_keys.states, self.values, other.values, strict=False)
        return [(state.name, mine, theirs) for state, mine, theirs in settings if mine != theirs]

    def __repr__(self) -> str:
        pairs = zip(_keys.states, self.values, strict=False)
        return f"TraceKey({', '.join(f'{s.name}={v!r}' for s, v in pairs if v != s.default)})"


class _Keys:
    """The key of all threads without overrides, and one for each thread that has overrides.

    Attributes:
      everywhere: the key of all threads without overrides.
      only: that key while no thread has overrides, else ``None``. ``settings_keys.only is key`` is
        a fast sufficient test for ``trace_key() is key``, for the loops that record equations.
    """

    everywhere: TraceKey
    only: TraceKey | None

    def __init__(self):
        self.states: list[State] = []
        # Interned, so that keys compare by identity; weak, so that settings of the past are dropped
        # with the caches that used them.
        self.interned: weakref.WeakValueDictionary[tuple[Any, ...], TraceKey] = (
            weakref.WeakValueDictionary()
        )
        self.overrides: int = 0
        self.version: int = 0  # the number of changes that concern all threads
        self.local: threading.local = threading.local()
        self.refresh()

    def intern(self, values: tuple[Any, ...]) -> TraceKey:
        """The one key for these values of the settings."""
        with _lock:
            key = self.interned.get(values)
            if key is None:
                pairs = zip(self.states, values, strict=True)
                per_equation = tuple((state, value) for state, value in pairs if state.per_equation)
                key = self.interned[values] = TraceKey(values, per_equation)
            return key

    def add(self, *states: State) -> None:
        """Make settings part of the keys.

        Existing keys are extended by their defaults, since jaxprs that were traced under them did
        not read them. So the late import of a package does not invalidate caches.
        """
        for state in states:
            hash(state._global)  # raises TypeError before anything has changed
        keys = list(self.interned.values())
        self.states.extend(states)
        self.interned.clear()
        defaults = [state.default for state in states]
        per_equation = [(state, state.default) for state in states if state.per_equation]
        for key in keys:
            # Existing keys get the new settings' defaults, under which their entries were made.
            key.values = (*key.values, *defaults)
            key.per_equation = (*key.per_equation, *per_equation)
            self.interned[key.values] = key
        self.refresh()

    def refresh(self) -> None:
        """Update the keys after a change of a global value."""
        self.version += 1
        self.everywhere = self.intern(tuple(state._global for state in self.states))
        self.count_overrides(0)

    def count_overrides(self, more: int) -> None:
        """Add to the number of active overrides of traced settings."""
        # While no thread has an override, all of them have one key, which is read from ``only``
        # without a look at the thread. Every trace and every dispatch in Python reads it.
        self.overrides += more
        self.only = None if self.overrides else self.everywhere

    def current(self) -> TraceKey:
        """The key of this thread, which may have overrides."""
        # A change that concerns all threads increases ``version``, so that each thread's key is
        # computed again; a change of this thread's overrides resets the version it is cached for.
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
    """Restore the settings that an equation was traced under.

    The rules of a primitive may run long after an equation was recorded, as when its jaxpr is
    lowered or transposed. They must read the width of types, and the kind of random bits, that
    were set where the operation was called. Other settings are read when an operation is bound,
    and are not stored in equations.

    Inside its ``with`` block, ``switch.to(key)`` overrides the settings of equations in which
    ``key`` differs from those outside of the block, and ``switch.to(None)`` ends that.

    Args:
      first: the key that the block begins with, as for ``to``.

    Attributes:
      key: the key whose settings are active; ``None`` for those from outside.

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
        """Activate the settings of ``key``, or those from outside."""
        if key is self.key:
            return
        while self._entered:
            override = self._entered.pop()
            override.state._pop(override)
        self.key = key
        if key is None:
            return
        for state, value in key.per_equation:
            if state.value != value:
                override = Override(state, value)
                state._push(override)
                self._entered.append(override)


def trace_on(*states: State) -> None:
    """Make the values of settings part of ``trace_key()``."""
    with _lock:
        _keys.add(*states)
        followers = list(_followers)
    for callback in followers:
        for state in states:
            state.on_change(callback)


def follow_trace_key(callback: Callable[[Any, bool], object]) -> None:
    """Call ``callback(value, local)`` when any setting that is part of ``trace_key()`` changes.

    This includes settings that are defined later; see ``State.on_change``.
    """
    with _lock:
        _followers.append(callback)
        states = list(_keys.states)
    for state in states:
        state.on_change(callback)
