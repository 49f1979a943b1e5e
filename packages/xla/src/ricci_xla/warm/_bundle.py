"""Bundles: the cached calls of a run in one file, and a log of their use in this process.

Its executables are for one environment: versions, the machine, devices and options. A thread loads
them while the main thread imports modules and loads weights, since the runtime takes about a tenth
of an executable's compile time to load it.
"""

import logging
import os
import platform
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ricci_ir import OPTIONS, config, warn_user
from ricci_xla.compile._background import Background
from ricci_xla.devices import machine_of
from ricci_xla.devices._jaxlib import jaxlib_version
from ricci_xla.devices._listing import local_devices
from ricci_xla.devices._native import NATIVE
from ricci_xla.files import FileError, read_bytes, read_file, replace_file, write_file

from ._dependencies import HARMLESS, ModuleRecord
from ._fingerprint import fingerprint
from ._records import BUNDLE, BundleRecord, CallRecord, Programs, load_program


class Prefetch[R, T]:
    """Applies a function to records, in order, on a background thread.

    Args:
      load: the function.
      records: the records; they are distinguished by identity.
    """

    def __init__(self, load: Callable[[R], T], records: Iterable[R]):
        self._load = load
        self._background = Background("ricci.warm_start")
        # By identity, which is quick for large records. The entry has the record, so that its id is
        # not used for another one.
        self._futures: dict[int, tuple[R, Future[T]]] = {
            id(record): (record, self._background.submit(lambda record=record: load(record)))
            for record in records
        }

    def get(self, record: R) -> T:
        """Return the function's result for a record, computing it now if it has not begun.

        Raises:
          RuntimeError, ValueError: if the function does.
        """
        _, future = self._futures.get(id(record), (record, None))
        if future is None or future.cancel():
            return self._load(record)
        return future.result()

    def end(self) -> None:
        """Cancel pending records, and wait for the running one."""
        self._background.end()


# Options for logging, caching and checks, which do not change results.
_WITHOUT_EFFECT = (
    *("jax_compilation_cache", "jax_enable_compilation_cache", "jax_persistent_cache"),
    *("jax_raise_persistent_cache", "jax_log", "jax_explain_cache_misses", "jax_debug_log_modules"),
    *("jax_dump_", "jax_traceback_filtering"),
    *("jax_tracer_error", "jax_include_full_tracebacks_in_locations"),
)


def environment() -> dict[str, str]:
    """The environment that all executables of this process depend on, by topic."""
    device = local_devices()[0]
    values = config.values
    options = {
        name: values[name]
        for name, option in sorted(OPTIONS.items())
        if values[name] != option.default and not name.startswith(_WITHOUT_EFFECT)
    }
    return {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "jaxlib": jaxlib_version,
        "Ricci": fingerprint(*_ricci()).hex(),
        "platform": f"{device.platform}: {device.device_kind}",
        "machine": machine_of(device.client),
        "devices": " ".join(str(device.id) for device in local_devices()),
        "options": repr(options),
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    }


def _ricci() -> Iterator[str]:
    """Identify Ricci's code: the digests in its installation's RECORD, or its files' times."""
    installed: dict[str, list[str]] = {}
    for name, module in sorted(sys.modules.items()):
        # One package is imported late: the names of its kernels, which records have, tell its code.
        if "." in name or not name.startswith("ricci") or name == NATIVE:
            continue
        if module.__file__ is None:
            continue
        folder = os.path.dirname(module.__file__)
        parent = os.path.dirname(folder)
        if parent not in installed:
            installed[parent] = os.listdir(parent)
        # An installed package lists the digests of its files: one file is read instead of hundreds.
        # An editable installation does not, and is identified by sizes and times.
        about = [d for d in installed[parent] if d.startswith(f"{name}-") and d.endswith("-info")]
        # Other installers than pip may leave out the list of files.
        listed = read_bytes(os.path.join(parent, about[0], "RECORD")) if about else None
        if listed is not None and f"{name}/__init__.py".encode() in listed:
            yield name + listed.decode("utf-8", "replace")
        else:
            yield from _files(folder, name)


def _files(folder: str, name: str) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry.path, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            status = entry.stat()
            yield f"{name}/{entry.name} {status.st_size} {status.st_mtime_ns}"


_log = logging.getLogger("ricci.warm_start")


class WarmCall(NamedTuple):
    """The outcome of the first call of a function with some types.

    Attributes:
      function: the function's module and qualified name.
      outcome: ``"warm"``: a hit in the bundle. ``"kept"``: traced and compiled, and cached for the
        next process. ``"not kept"``: traced and compiled, as it will be the next time.
      reason: why it was traced and compiled, or why it is not cached.
      seconds: the duration of the call.
      saved: the seconds that tracing and compiling took when the call was cached.
    """

    function: str
    outcome: str
    reason: str
    seconds: float
    saved: float


class Bundle:
    """The calls of a file, and those that were added since.

    Args:
      path: the file. If it exists and is for this environment, its calls are used.
      ignored: global names, such as ``"library.module.counter"``, whose values do not matter.
    """

    def __init__(self, path: str | os.PathLike[str], ignored: Iterable[str] = ()):
        self.ignored = frozenset({*ignored, *HARMLESS})
        self.path = Path(path)
        self.log: list[WarmCall] = []
        self.changed: str | None = None
        self.programs = Programs()
        self._lock = threading.Lock()
        self._environment = environment()
        self._modules: dict[ModuleRecord, int] = {}
        self._calls: dict[str, list[CallRecord]] = {}
        self._saved_calls: dict[str, list[CallRecord]] = {}
        self.loaded: dict[Hashable, Any] = {}  # the executables that were loaded, by key
        self._is_new = False
        self._read()
        devices = local_devices()
        self.prefetch = Prefetch(
            lambda program: load_program(program, self.programs, devices),
            [call.program for calls in self._calls.values() for call in calls],
        )

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            self.changed = "the bundle does not exist yet"
            return
        except OSError as error:
            self._refuse(f"{self.path}: the bundle cannot be read: {error}.")
            return
        try:
            record = read_file(BUNDLE, data, self.path)
            if any(i not in range(len(record.modules)) for c in record.calls for i in c.modules):
                raise FileError(f"{self.path}: a call refers to a module that is not listed.")
        except FileError as error:
            self._refuse(str(error))
            return
        current = self._environment
        changed = [t for t in current if record.environment.get(t) != current[t]]
        if changed:
            text = "; ".join(
                f"{t}: {_short(record.environment.get(t))}, here {_short(current[t])}"
                for t in changed
            )
            self._refuse(f"{self.path}: the bundle is for another environment: {text}.")
            return
        self.programs.add(record.programs)
        self._modules = {module: i for i, module in enumerate(record.modules)}
        if len(self._modules) != len(record.modules):
            self._modules = {}
            self._refuse(f"{self.path}: the bundle lists a module twice.")
            return
        for call in record.calls:
            self._calls.setdefault(call.function, []).append(call)
        self._saved_calls = {name: list(calls) for name, calls in self._calls.items()}

    def _refuse(self, message: str) -> None:
        self.changed = message
        warn_user(f"{message} Functions are traced and compiled, and a new bundle is written.")

    def calls_of(self, function: str) -> Sequence[CallRecord]:
        """The calls of a function."""
        return self._calls.get(function, ())

    def saved_calls_of(self, function: str) -> Sequence[CallRecord]:
        """The calls of a function in the file as it was read."""
        return self._saved_calls.get(function, ())

    def positions(self, modules: Iterable[ModuleRecord]) -> tuple[int, ...]:
        """The positions of modules in the bundle's list, to which new ones are added."""
        with self._lock:
            # A module's number is how many were added before it, and none is ever removed, so the
            # order of the dictionary is that of the numbers. The lock makes the count and the
            # insertion one step.
            return tuple(self._modules.setdefault(m, len(self._modules)) for m in modules)

    def modules_of(self, call: CallRecord) -> tuple[ModuleRecord, ...]:
        """The modules that a call depends on, with the values that were read."""
        modules = list(self._modules)
        return tuple(modules[i] for i in call.modules)

    def add(self, call: CallRecord) -> None:
        """Add a call, in place of one with the same key."""
        with self._lock:
            calls = self._calls.setdefault(call.function, [])
            calls[:] = [other for other in calls if other.key != call.key]
            calls.append(call)
            self._is_new = True

    def report(
        self,
        function: str,
        outcome: str,
        reason: str = "",
        *,
        took: float = 0.0,
        saved: float = 0.0,
    ) -> None:
        """Log the outcome of a call."""
        with self._lock:
            self.log.append(WarmCall(function, outcome, reason, took, saved))
        is_miss = bool(self._saved_calls) and outcome == "kept"
        level = logging.WARNING if is_miss else logging.INFO
        _log.log(level, "%s: %s%s", function, outcome, f": {reason}" if reason else "")

    def save(self) -> bool:
        """Write the file, if calls were added; return whether it was written.

        Raises:
          OSError: if it cannot be written.
        """
        with self._lock:
            if not (self._is_new or self.programs.is_new):
                return False
            calls = [call for group in self._calls.values() for call in group]
            # Modules to which no call refers any more, since calls were replaced, are left out, and
            # the others numbered without gaps.
            order = sorted({i for call in calls for i in call.modules})
            at = {old: new for new, old in enumerate(order)}
            modules = list(self._modules)
            record = BundleRecord(
                self._environment,
                [modules[i] for i in order],
                [_renumbered(call, at) for call in calls],
                self.programs.codes,
            )
            replace_file(self.path, write_file(BUNDLE, record))
            self._is_new = self.programs.is_new = False
            return True


def _renumbered(call: CallRecord, at: dict[int, int]) -> CallRecord:
    modules = tuple(at[i] for i in call.modules)
    return CallRecord(call.function, call.key, modules, call.seconds, call.program)


def _short(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text if len(text) <= 60 else f"{text[:57]}..."
