"""Events of Python's monitoring: the code that starts, and the calls in it."""

import sys
import threading
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Protocol

from ._classes import NoFingerprint
from ._purity import is_fixed, is_of_python, is_pure, self_contained

_monitoring = sys.monitoring
_lock = threading.Lock()
# Modules of Python whose functions run texts that they have composed of their arguments.
_GENERATORS = frozenset(("collections", "dataclasses"))


class Watcher(Protocol):
    """Observer of the code that runs: see ``Watch``."""

    def concerns(self, thread: int) -> bool: ...
    def start(self, code: CodeType, names: dict[str, Any], builtins: dict[str, Any]) -> None: ...
    def use(self, package: str) -> None: ...
    def start_impure(self, frame: FrameType) -> None: ...
    def generate(self, code: CodeType) -> None: ...
    def call(self, code: CodeType, offset: int, function: object, first: object) -> bool: ...


def finds_modules(frame: FrameType) -> bool:
    """Whether a frame finds or loads a module for an ``import``, as the import hook of a tool does.

    What such a hook reads is not among the values that a function depends on. The code of a module
    that is imported is.
    """
    caller: FrameType | None = frame
    while caller is not None and caller.f_code.co_name != "<module>":
        if caller.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        caller = caller.f_back
    return False


class Events:
    """Forwards Python's monitoring events to the open watches."""

    def __init__(self):
        self._watches: tuple[Watcher, ...] = ()
        self._tool: int | None = None
        self._codes: set[CodeType] = set()  # code whose calls are monitored
        self._harmless: set[Any] = set()  # functions that were checked

    def start(self, watch: Watcher) -> None:
        kinds = _monitoring.events
        with _lock:
            if self._tool is None:
                self._tool = self._take()
            self._watches = (*self._watches, watch)
            # A location that returned DISABLE reports no more events until a restart.
            _monitoring.set_events(self._tool, kinds.PY_START)
            _monitoring.restart_events()

    def stop(self, watch: Watcher) -> None:
        kinds = _monitoring.events
        with _lock:
            self._watches = tuple(w for w in self._watches if w is not watch)
            # Monitoring slows down all Python code, so events are off while no watch is open.
            if not self._watches and self._tool is not None:
                _monitoring.set_events(self._tool, kinds.NO_EVENTS)
                for code in self._codes:
                    _monitoring.set_local_events(self._tool, code, kinds.NO_EVENTS)
                self._codes.clear()

    def _take(self) -> int:
        kinds = _monitoring.events
        for number in (4, 3, 0, 1, 2, 5):  # the last ones have a meaning for debuggers
            if _monitoring.get_tool(number) is None:
                _monitoring.use_tool_id(number, "ricci.warm_start")
                _monitoring.register_callback(number, kinds.PY_START, self._started)
                _monitoring.register_callback(number, kinds.CALL, self._called)
                return number
        raise NoFingerprint("other tools use all of Python's monitoring slots")

    def _started(self, code: CodeType, offset: int) -> object:
        frame = sys._getframe(1)
        names = frame.f_globals
        module = str(names.get("__name__"))
        is_fixed_module = is_fixed(module)
        # DISABLE turns off the event for this code, so that pure functions are reported only once.
        if is_fixed_module and _is_pure(module, code.co_qualname):
            return _monitoring.DISABLE
        thread, watches = threading.get_ident(), self._watches
        concerned = [watch for watch in watches if watch.concerns(thread)]
        if is_fixed_module:
            for watch in concerned:
                watch.start_impure(frame)
            return None
        package = _self_contained(module, code.co_filename)
        if package is not None:
            for watch in concerned:
                watch.use(package)
            return _monitoring.DISABLE if len(concerned) == len(watches) else None
        if finds_modules(frame):
            return None
        for watch in concerned:
            watch.start(code, names, frame.f_builtins)
            if _is_generated(frame):
                watch.generate(code)
        if concerned and self._tool is not None:
            self._codes.add(code)
            _monitoring.set_local_events(self._tool, code, _monitoring.events.CALL)
        # A location that was reported to some of the watches only must report again.
        return _monitoring.DISABLE if len(concerned) == len(watches) else None

    def _called(self, code: CodeType, offset: int, function: object, first: object) -> None:
        kind = type(function)
        is_module = issubclass(type(first), ModuleType)
        # Functions in Python report their own start; a fixed one may read all of a module.
        if kind is FunctionType and not (is_module and is_fixed(function.__module__)):
            return
        is_cached = kind.__module__ == "builtins" and kind.__hash__ is not None
        if is_cached and not is_module and function in self._harmless:
            return
        if first is _monitoring.MISSING:
            first = None
        thread = threading.get_ident()
        concerned = [watch for watch in self._watches if watch.concerns(thread)]
        judged = [watch.call(code, offset, function, first) for watch in concerned]
        # Whether a call is pure may depend on its first argument, so only calls without one are
        # remembered.
        if is_cached and first is None and all(judged):
            self._harmless.add(function)


def _is_generated(frame: FrameType) -> bool:
    """Whether a frame runs a text that a pure function of Python's has composed."""
    caller = frame.f_back
    if frame.f_code.co_name != "<module>" or caller is None:
        return False
    module = str(caller.f_globals.get("__name__"))
    return module in _GENERATORS and is_of_python(module)


events = Events()
_is_pure = lru_cache(maxsize=16384)(is_pure)
_self_contained = lru_cache(maxsize=16384)(self_contained)
