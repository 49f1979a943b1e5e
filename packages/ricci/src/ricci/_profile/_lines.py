"""Recorder of the line of the user's code that the main thread is at, over time."""

import importlib.util
import pkgutil
import sys
import sysconfig
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns, thread_time_ns
from types import CodeType
from typing import NamedTuple

# A line that was reached so often is no longer watched: its later time counts with the line
# that was reached before it.
MOST_HITS = 20_000

# A shorter time, in nanoseconds, never counts as waiting.
_SHORT = 50_000
# A number without a name, so that the script can use cProfile, coverage or a debugger.
_TOOL = 3
_EVENTS = sys.monitoring.events
_RECORDED = (
    *(_EVENTS.PY_START, _EVENTS.PY_RESUME, _EVENTS.LINE, _EVENTS.PY_RETURN, _EVENTS.PY_YIELD),
    *(_EVENTS.PY_THROW, _EVENTS.PY_UNWIND),
)
_ROOTS = ("jax", "jaxlib", "ricci")
_INSTALLED = ("site-packages", "dist-packages")


class SourceLine(NamedTuple):
    """A line of a file."""

    file: str
    line: int


def _library_folders() -> tuple[str, ...]:
    """Return the folders of Python, of installed packages, and of Ricci."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    # Those of the user, of the system, and of other environments that this one extends.
    folders.update(path for path in sys.path if Path(path).name in _INSTALLED)
    ours = [info.name for info in pkgutil.iter_modules() if info.name.startswith("ricci_")]
    for name in (*_ROOTS, *ours):
        spec = importlib.util.find_spec(name)
        if spec is not None:
            folders.update(spec.submodule_search_locations or ())
    return tuple(str(Path(folder)) + "/" for folder in folders)


class LineRecorder:
    """Records lines of the user's files: not of Python's library, installed packages or Ricci.

    A line's time is that until another line of such files is reached. Lines of functions that the
    user's code calls through a library are lines of their own.

    Attributes:
      places: every line that was reached; a key is a position in this list. The first represents
        everything outside of the user's files.
      hits: for each of them the number of times it was reached.
      times, keys: the times (``perf_counter_ns``) at which the line changed, and the new lines.
      waits: for each of these times but the last, the time until the next one in which the
        thread did not use the processor.
    """

    def __init__(self):
        self.places: list[SourceLine] = [SourceLine("", 0)]
        self.hits: list[int] = [0]
        self.times = array("q", [perf_counter_ns()])
        self.keys = array("l", [0])
        self.waits = array("q")
        self._used = thread_time_ns()
        self._busy = 0
        self._stack: list[int] = [0]
        # By the code object's id, since hashing one reads all of it; so the objects are referenced.
        self._key_of: dict[tuple[int, int], int] = {}
        self._watched: dict[int, CodeType] = {}
        self._by_place: dict[SourceLine, int] = {self.places[0]: 0}
        self._known: dict[str, bool] = {}
        self._main = threading.main_thread().ident
        self._libraries: Sequence[str] = ()

    @property
    def current_line(self) -> int:
        """The key of the line that the main thread is at."""
        return self._stack[-1]

    def start(self) -> None:
        """Begin to record."""
        self._libraries = _library_folders()
        monitoring = sys.monitoring
        monitoring.use_tool_id(_TOOL, "ricci.profile")
        callbacks = (
            *(self._enter, self._enter, self._reach, self._leave, self._leave),
            *(self._resume_by_error, self._unwind),
        )
        for event, callback in zip(_RECORDED, callbacks, strict=True):
            monitoring.register_callback(_TOOL, event, callback)
        # Other events are enabled for the code objects of the user's files alone. Those of errors
        # cannot be.
        everywhere = _EVENTS.PY_START | _EVENTS.PY_THROW | _EVENTS.PY_UNWIND
        monitoring.set_events(_TOOL, everywhere)

    def stop(self) -> None:
        """Stop recording."""
        monitoring = sys.monitoring
        monitoring.set_events(_TOOL, 0)
        # The events of single code objects outlive those of the whole process, and the tool's id.
        for code in self._watched.values():
            monitoring.set_local_events(_TOOL, code, 0)
        for event in _RECORDED:
            monitoring.register_callback(_TOOL, event, None)
        monitoring.free_tool_id(_TOOL)
        self._move(0)

    def is_users(self, file: str) -> bool:
        """Whether a file is the user's."""
        is_user = self._known.get(file)
        if is_user is None:
            is_user = not file.startswith(("<", *self._libraries))
            self._known[file] = is_user
        return is_user

    def _move(self, key: int) -> None:
        if self.keys[-1] != key:
            now = perf_counter_ns()
            took = now - self.times[-1]
            if took < _SHORT:
                # Asking for the processor's time costs more than such a line.
                self._busy += took
                self.waits.append(0)
            else:
                used = thread_time_ns()
                self.waits.append(took - min(took, max(0, used - self._used - self._busy)))
                self._used, self._busy = used, 0
            self.times.append(now)
            self.keys.append(key)

    def _new_key(self, code: CodeType, line: int) -> int:
        place = SourceLine(code.co_filename, line)
        key = self._by_place.get(place)
        if key is None:
            key = self._by_place[place] = len(self.places)
            self.places.append(place)
            self.hits.append(0)
        self._key_of[id(code), line] = key
        return key

    # Callbacks

    def _enter(self, code: CodeType, offset: int) -> object:
        if id(code) not in self._watched:
            if not self.is_users(code.co_filename):
                return sys.monitoring.DISABLE
            self._watched[id(code)] = code
            events = _EVENTS.LINE | _EVENTS.PY_RETURN | _EVENTS.PY_YIELD | _EVENTS.PY_RESUME
            sys.monitoring.set_local_events(_TOOL, code, events)
        if threading.get_ident() == self._main:
            line = code.co_firstlineno
            key = self._key_of.get((id(code), line)) or self._new_key(code, line)
            self._stack.append(key)
            self._move(key)
        return None

    def _reach(self, code: CodeType, line: int) -> object:
        if threading.get_ident() != self._main:
            return None
        key = self._key_of.get((id(code), line)) or self._new_key(code, line)
        self._stack[-1] = key
        self._move(key)
        hits = self.hits[key] = self.hits[key] + 1
        return sys.monitoring.DISABLE if hits >= MOST_HITS else None

    def _leave(self, code: CodeType, offset: int, value: object) -> None:
        if threading.get_ident() == self._main and len(self._stack) > 1:
            self._stack.pop()
            self._move(self._stack[-1])

    def _resume_by_error(self, code: CodeType, offset: int, error: BaseException) -> None:
        if self.is_users(code.co_filename):
            self._enter(code, offset)

    def _unwind(self, code: CodeType, offset: int, error: BaseException) -> None:
        if self.is_users(code.co_filename):
            self._leave(code, offset, None)
