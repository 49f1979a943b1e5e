"""What a program depends on besides its arguments: observed while it is traced, and found again.

While a function is traced, Python tells of every function that starts to run
(``sys.monitoring``). The modules of these functions, as files, and the values of the global names
that their code reads are what the program depends on. Nothing is guessed from the function's text.
Python's own modules, NumPy, jaxlib and Ricci are left out: their versions are part of what a bundle
is for.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Set
from dis import get_instructions
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import msgspec

from ._fingerprint import Classes, NoFingerprint, fingerprint
from ._modules import file_digest, file_of, is_fixed

_monitoring = sys.monitoring
_lock = threading.Lock()


# Global values that tracing changes, and that no program depends on.
HARMLESS: dict[str, str] = {
    "flax.linen.module.uuid": "numbers modules, to tell copies apart",
}


class ModuleRecord(msgspec.Struct, frozen=True):
    """What a program depends on in a module.

    Attributes:
      name: the module's name.
      file: the digest of its source file.
      late: whether it was imported while the function was traced, so that nobody had changed it.
      values: the fingerprint of each of its global names that was read, before it was read.
    """

    name: str
    file: bytes
    late: bool
    values: tuple[tuple[str, bytes], ...]


class Watch:
    """Observes which Python code runs, in a ``with`` block.

    Threads that ran before do not trace: what they run meanwhile, as to load data or to draw a
    progress bar, is nothing that the program depends on.

    Values are read when the first code starts that reads them, since tracing may change them, as
    libraries do that count their layers.

    Args:
      classes: what was written of the function that is traced.

    Attributes:
      codes: the code that ran, by module.
      values: the fingerprints of the global names that it reads, by module.
      failed: why some have no fingerprint, by module and name.
      imported: the modules that were imported before.
    """

    def __init__(self, classes: Classes):
        self.classes = classes
        self.codes: dict[str, list[CodeType]] = {}
        self.values: dict[str, dict[str, bytes]] = {}
        self.failed: dict[str, str] = {}
        self.imported: frozenset[str] = frozenset()
        self._others: frozenset[int] = frozenset()

    def __enter__(self) -> "Watch":
        self.imported = frozenset(sys.modules)
        self._others = frozenset(sys._current_frames()) - {threading.get_ident()}
        _events.start(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _events.stop(self)

    def concerns(self, thread: int) -> bool:
        """Whether the program may depend on what a thread runs."""
        return thread not in self._others

    def add(self, code: CodeType, known: dict[str, Any]) -> None:
        """Note that code is about to run that sees the global names ``known``."""
        module = str(known.get("__name__"))
        if _is_of(module, known) or code.co_filename.startswith("<"):
            self.codes.setdefault(module, []).append(code)
        for owner, name in _read_names(code, module, known):
            values = self.values.setdefault(owner, {})
            if name not in values and f"{owner}.{name}" not in self.failed:
                try:
                    values[name] = _value(owner, name, self.classes)
                except NoFingerprint as reason:
                    self.failed[f"{owner}.{name}"] = str(reason)


class _Events:
    """Passes Python's events on to the watches that are open."""

    def __init__(self):
        self._watches: tuple[Watch, ...] = ()
        self._tool: int | None = None

    def start(self, watch: Watch) -> None:
        with _lock:
            if self._tool is None:
                self._tool = self._take()
            self._watches = (*self._watches, watch)
            # Each place tells of itself once only, until it is asked again.
            _monitoring.set_events(self._tool, _monitoring.events.PY_START)
            _monitoring.restart_events()

    def stop(self, watch: Watch) -> None:
        with _lock:
            self._watches = tuple(w for w in self._watches if w is not watch)
            if not self._watches and self._tool is not None:
                _monitoring.set_events(self._tool, _monitoring.events.NO_EVENTS)

    def _take(self) -> int:
        for number in (4, 3, 0, 1, 2, 5):  # the last ones have a meaning for debuggers
            if _monitoring.get_tool(number) is None:
                _monitoring.use_tool_id(number, "ricci.warm_start")
                _monitoring.register_callback(number, _monitoring.events.PY_START, self._started)
                return number
        raise NoFingerprint("other tools observe all that runs, and Python allows no more of them")

    def _started(self, code: CodeType, offset: int) -> object:
        names = sys._getframe(1).f_globals
        if is_fixed(names.get("__name__")):
            return _monitoring.DISABLE
        thread, watches = threading.get_ident(), self._watches
        concerned = [watch for watch in watches if watch.concerns(thread)]
        for watch in concerned:
            watch.add(code, names)
        # A place that was told of to some watches only has to tell of itself again.
        return _monitoring.DISABLE if len(concerned) == len(watches) else None


_events = _Events()


def dependencies(watch: Watch, ignored: Set[str]) -> tuple[ModuleRecord, ...]:
    """What the code that was observed depends on.

    Raises:
      NoFingerprint: if that cannot be told: code without a source file, or other than its file's;
        a global value without a fingerprint.
    """
    failed = [f"{name}: {reason}" for name, reason in watch.failed.items() if name not in ignored]
    if failed:
        raise NoFingerprint(failed[0])
    for module, codes in watch.codes.items():
        _check(module, codes, watch.classes.codes)
    modules = {module for module in watch.codes if module in sys.modules}
    return tuple(
        ModuleRecord(
            name,
            _digest(name),
            name not in watch.imported,
            tuple(sorted(watch.values.get(name, {}).items())),
        )
        for name in sorted(modules.union(watch.values))
    )


def difference(records: tuple[ModuleRecord, ...], ignored: Set[str]) -> str | None:
    """What has changed since dependencies were recorded; ``None`` if nothing has."""
    classes = Classes()
    for record in records:
        imported = record.name in sys.modules
        if not (imported or record.late):
            return f"the module {record.name} is not imported yet"
        try:
            if _digest(record.name) != record.file:
                return f"the file of the module {record.name} has changed"
            if not imported:
                continue  # it will be as it was, when it is imported
            for name, value in record.values:
                full = f"{record.name}.{name}"
                if full not in ignored and _value(record.name, name, classes) != value:
                    return f"{full} has changed"
        except NoFingerprint as reason:
            return f"{record.name}: {reason}"
    return None


def _is_of(module: str, known: dict[str, Any]) -> bool:
    """Whether code that sees some global names is a module's, and not generated elsewhere."""
    found = sys.modules.get(module)
    return found is not None and vars(found) is known


def _read_names(code: CodeType, module: str, known: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The global names that code reads, with their modules: ``x``, and ``m.x`` for a module ``m``.

    Which attributes it reads of which module is not told apart: each name in the code is taken that
    a module in reach has.
    """
    reached: list[ModuleType] = []
    for instruction in get_instructions(code):
        if instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
            continue
        name = instruction.argval
        value = sys.modules.get(name) if instruction.opname == "IMPORT_NAME" else known.get(name)
        if isinstance(value, ModuleType):
            reached.append(value)
        if name in known and instruction.opname != "IMPORT_NAME" and _is_of(module, known):
            yield module, name
    seen: set[str] = set()
    while reached:
        found = reached.pop()
        if found.__name__ in seen or is_fixed(found.__name__) or file_of(found.__name__) is None:
            continue
        seen.add(found.__name__)
        for name in code.co_names:
            if name in vars(found):
                yield found.__name__, name
                if isinstance(vars(found)[name], ModuleType):
                    reached.append(vars(found)[name])


def _digest(module: str) -> bytes:
    """The digest of a module's source file; empty where there is none, as for interactive code.

    There all code that ran is that of functions that are known by themselves: see ``_check``.
    """
    path = file_of(module)
    if path is None:
        return b""
    try:
        return file_digest(path)
    except OSError as error:
        raise NoFingerprint(f"its source file cannot be read: {error}") from error


def _value(module: str, name: str, classes: Classes) -> bytes:
    value = vars(sys.modules[module]).get(name, "there is no such name")
    return fingerprint(value, classes=classes)


def _check(module: str, codes: list[CodeType], known: Set[CodeType]) -> None:
    """Refuse code that neither the module's file has now, nor a function whose code is known.

    It was edited after it was imported, or was generated.
    """
    unknown = [code for code in codes if code not in known]
    generated = [code for code in unknown if code.co_filename.startswith("<")]
    if generated:
        raise NoFingerprint(
            f"it runs {module}.{generated[0].co_qualname}, whose code was generated, and which it "
            "finds in a way that is not seen"
        )
    if not unknown:
        return
    path = file_of(module)
    if path is None:
        raise NoFingerprint(f"{module} has no source file, by which it could be known again")
    there = _codes_of(path, unknown[0].co_filename)
    for code in unknown:
        if code not in there:
            raise NoFingerprint(
                f"the code of {module}.{code.co_qualname} is not that of its source file {path}"
            )


def _codes_of(path: str, shown: str) -> set[CodeType]:
    source = Path(path).read_bytes()
    try:
        todo: list[Any] = [_compile(source, shown)]
    except (SyntaxError, ValueError) as error:
        raise NoFingerprint(f"its source file {path} is no Python program: {error}") from error
    found: set[CodeType] = set()
    while todo:
        code = todo.pop()
        found.add(code)
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
    return found


_compile: Callable[[bytes, str], CodeType] = lambda source, name: compile(
    source, name, "exec", dont_inherit=True
)
