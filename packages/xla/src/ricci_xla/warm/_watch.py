"""Observation of the code that Python runs while a function is traced, and of its reads.

``sys.monitoring`` reports every function that starts, and every call in the code of users and
libraries. A value is fingerprinted if a later process can look it up by a name; a read of any other
value makes that the call is not cached.
"""

import inspect
import os
import sys
import threading
from collections.abc import Set
from decimal import Decimal
from importlib.util import resolve_name
from operator import attrgetter
from types import CodeType, FrameType, ModuleType
from typing import Any

from ._classes import Classes, NoFingerprint, TooManyValues
from ._events import events, finds_modules
from ._fingerprint import fingerprint, is_plain, state_digest
from ._purity import (
    ERROR_REPORTERS,
    PURE_CACHES,
    SET_BY_IMPORT,
    find_source,
    impurity,
    is_compiled,
    is_fixed,
    is_imported,
    is_lazy,
    is_of_python,
    is_pure,
    self_contained,
)
from ._reads import Import, Read, reads_of, returns_nothing

_monitoring = sys.monitoring
_lock = threading.Lock()
# Owners of values other than modules: variables of the environment; modules that may be imported.
ENVIRONMENT = "os.environ"
IMPORTS = "import"
# The name that represents all names of a module.
ALL = "*"
ABSENT = object()
_REFLECTORS: tuple[Any, ...] = (getattr, hasattr, vars, dir, attrgetter)
_LOOK_AT_TYPE: tuple[Any, ...] = (isinstance, issubclass, type, id, callable, inspect.ismodule)
_ENVIRONMENT_LISTINGS = frozenset(
    "_Environ." + name for name in "__iter__ __len__ __repr__ copy __or__ __ror__".split()
)
_ENVIRONMENT_ACCESS = frozenset(
    "getenv _createenviron.<locals>.encode _createenviron.<locals>.decode "
    "_createenviron.<locals>.check_str".split()
)
_INTROSPECTIVE = frozenset(("typing_extensions",))  # only to name the caller's module
_WITHOUT_STATE_READ = frozenset((("sys", "stdout"), ("sys", "stderr")))


class Watch:
    """Observes the Python code that runs, in a ``with`` block.

    Threads that ran before do not trace: the jaxpr does not depend on the code that they run
    meanwhile, such as a data loader or a progress bar.

    Values are fingerprinted when the first code that reads them starts, since tracing may change
    them, as in libraries that count their layers.

    Args:
      classes: the fingerprints of the traced function's classes.
      ignored: names of global values, or of modules, that are not recorded.

    Attributes:
      codes: the code that ran, by module.
      values: the fingerprints of the global names that it reads, by module.
      failed: the reasons why some have no fingerprint, by module and name.
      imported: the modules that were imported before.
      generated: the code that Python's own modules compiled of texts that they wrote meanwhile, as
        ``dataclass`` does. It depends on the observed code alone.
    """

    def __init__(self, classes: Classes, ignored: Set[str] = frozenset()):
        self.classes = classes
        self.ignored = ignored
        self.codes: dict[str, list[CodeType]] = {}
        self.values: dict[str, dict[str, bytes]] = {}
        self.failed: dict[str, str] = {}
        self.imported: frozenset[str] = frozenset()
        self.generated: set[CodeType] = set()
        self._others: frozenset[int] = frozenset()
        self._attributes: set[str] = set()
        self._imports: set[tuple[Import, str | None]] = set()
        self._escaped: dict[str, ModuleType] = {}
        self._wholes: set[str] = set()
        self._reflects = False
        self._is_full = False
        self._introspective: set[CodeType] = set()
        self._foreign: list[tuple[CodeType, str]] = []
        self._holders: dict[int, str] = {}  # of iterators: the global name that leads to each

    def __enter__(self) -> "Watch":
        self.imported = frozenset(sys.modules)
        self._others = frozenset(sys._current_frames()) - {threading.get_ident()}
        events.start(self)
        return self

    def __exit__(self, *exception: object) -> None:
        events.stop(self)

    def concerns(self, thread: int) -> bool:
        """Whether the jaxpr may depend on the code that a thread runs."""
        return thread not in self._others

    def start(self, code: CodeType, names: dict[str, Any], builtins: dict[str, Any]) -> None:
        """Record code that is about to run, and its reads of global and built-in names."""
        module = str(names.get("__name__"))
        is_own = is_of(module, names)
        if is_own or code.co_filename.startswith("<"):
            self.codes.setdefault(module, []).append(code)
        reads = reads_of(code)
        # A module that is passed on may be read anywhere later. Its attributes that count are those
        # whose names occur in any code that ran.
        self._attributes |= reads.attributes
        if module in _INTROSPECTIVE or (module, code.co_qualname) in ERROR_REPORTERS:
            self._introspective.add(code)
        elif reads.introspection:
            self._fail(
                f"{module}.{code.co_qualname}",
                f"it reads {min(reads.introspection)}, which gives the variables of other code",
            )
        for statement in reads.imports:
            self._imports.add((statement, names.get("__package__") or module))
        for read in reads.reads:
            self._read(read, code, module, names, builtins, is_own)

    def use(self, package: str) -> None:
        """Record the version of a package whose code depends on nothing else."""
        self._note_value(package, "__version__")

    def generate(self, code: CodeType) -> None:
        """Record code that was generated, and the code in it."""
        if code not in self.generated:
            self.generated.add(code)
            for const in code.co_consts:
                if isinstance(const, CodeType):
                    self.generate(const)

    def call(self, code: CodeType, offset: int, function: object, first: object) -> bool:
        """Check a call of a function in C or of a class; return whether it is pure."""
        if isinstance(first, ModuleType):
            if is_imported(first) and not (
                function in _LOOK_AT_TYPE
                or offset in reads_of(code).constant_names
                or (isinstance(function, type) and not is_compiled(function.__module__))
            ):
                self._escape(first)
                self._wholes.add(first.__name__)
            return False
        if isinstance(first, str) and getattr(function, "__name__", "") in ("format", "format_map"):
            self._reflects |= "." in first or "[" in first
            return False
        name = impurity(function, first)
        if name is not None and code not in self._introspective:
            self._fail(name, f"{code.co_qualname} calls it, and its results are not watched")
        return name is None

    def start_impure(self, frame: FrameType) -> None:
        """Check impure code of Python or NumPy: record the environment variable, or fail."""
        module, name = str(frame.f_globals.get("__name__")), frame.f_code.co_qualname
        caller = _users_caller(frame)
        if caller is None:
            return
        if module == "os" and name == "_Environ.__getitem__":
            self._note_value(ENVIRONMENT, os.fsdecode(frame.f_locals["key"]))  # or of os.environb
        elif module == "os" and name in _ENVIRONMENT_LISTINGS:
            self._note_value(ENVIRONMENT, ALL)
        elif module == "os" and name in _ENVIRONMENT_ACCESS:
            return
        elif caller.f_code not in self._introspective:
            self._fail(f"{module}.{name}", "its results are not watched")

    def finish(self) -> None:
        """Complete ``values`` and ``failed`` by the reads of modules that were passed on.

        Such a module may have any attribute read whose name occurs in code that ran; modules among
        these attributes are passed on as well, hence the loop.
        """
        for statement, package in self._imports:
            self._imported(statement, package)
        done: set[str] = set()
        while True:
            for name in self.classes.modules:
                if name in sys.modules:
                    self._escape(sys.modules[name])
            todo = [module for name, module in self._escaped.items() if name not in done]
            if not todo:
                break
            for module in todo:
                done.add(module.__name__)
                self._read_escaped(module)
        for code, name in self._foreign:
            if code not in self.classes.with_globals:
                self._fail(f"{code.co_qualname}.{name}", "it is a global name outside of modules")
        for identity, (value, before) in self.classes.stateful.items():
            if state_digest(value, Classes()) != before:
                kind = f"{type(value).__module__}.{type(value).__qualname__}"
                self._fail(
                    self._holders.get(identity, kind),
                    f"its {kind} is advanced, so that later reads depend on this call",
                )
        # A result that was cached before the trace hides the reads of the call that computed it,
        # unless it is always None.
        for function, before in self.classes.caches.values():
            code = getattr(function.__wrapped__, "__code__", None)
            is_used = before.currsize and function.cache_info().hits > before.hits
            if is_used and (function.__module__, function.__qualname__) in PURE_CACHES:
                self.values.setdefault(function.__module__, {})  # its file is a dependency
            elif is_used and (code is None or not returns_nothing(code)):
                self._fail(
                    f"{function.__module__}.{function.__qualname__}",
                    "it gave a result that was cached before",
                )

    def _fail(self, name: str, reason: str) -> None:
        if not is_ignored(name, self.ignored):
            self.failed.setdefault(name, reason)

    def _read(
        self,
        read: Read,
        code: CodeType,
        module: str,
        names: dict[str, Any],
        builtins: dict[str, Any],
        is_own: bool,
    ) -> None:
        value: Any = ABSENT
        attributes, reflector = read.attributes, read.reflector
        is_called = read.is_called and not attributes
        if read.name in names:
            value = names[read.name]
            if is_own:
                self._note(module, read.name, value)
            elif not (is_imported(value) or _is_by_name(value)):
                home = _home_of(value)
                if home is None:
                    self._foreign.append((code, read.name))
                else:
                    self._note(*home, value)
        else:
            if is_own and code.co_name != "<module>":
                self._note(module, read.name, ABSENT)
            if read.name not in builtins:
                return
            value = builtins[read.name]
            self._note_fixed("builtins", read.name, value, is_called)
            if value is globals:
                self._wholes.add(module)
                self._escape(sys.modules[module]) if is_own else self._foreign.append(
                    (code, "globals")
                )
        if reflector is not None and reflector in names:
            attributes = attributes[:-1]  # another function of that name
        for i, attribute in enumerate(attributes):
            if not isinstance(value, ModuleType):
                return
            # ``hasattr`` does not pass the value on.
            is_called = read.is_called or reflector == "hasattr" or i < len(read.attributes) - 1
            value = self._attribute(value, attribute, is_called)
        if isinstance(value, ModuleType):
            self._escape(value)

    def _attribute(self, module: ModuleType, name: str, is_called: bool) -> Any:
        """Record the read of a module's attribute, and return its value."""
        owner = module.__name__
        if not is_imported(module):  # an object that was fingerprinted when it was read
            return vars(module).get(name, ABSENT)
        if name == "__dict__":
            self._wholes.add(owner)
            self._escape(module)
            return ABSENT
        value = vars(module).get(name, ABSENT)
        if value is ABSENT:  # perhaps one that is imported when it is read
            value = sys.modules.get(f"{owner}.{name}", ABSENT)
            self._check_imported(f"{owner}.{name}", value)
        if not is_fixed(owner):
            self._note(owner, name, value)
        elif value is not ABSENT:
            self._note_fixed(owner, name, value, is_called)
        return value

    def _check_imported(self, name: str, value: object) -> None:
        """Refuse another object that a name of ``sys.modules`` refers to."""
        if value is not ABSENT and not is_imported(value):
            self._fail(name, "it is imported, and is not the module of its name")

    def _note(self, owner: str, name: str, value: object) -> None:
        if value is ABSENT or is_imported(value) or f"{owner}.{name}" not in self.failed:
            self._note_value(owner, name)

    def _note_fixed(self, owner: str, name: str, value: object, is_called: bool) -> None:
        if (owner, name) in _WITHOUT_STATE_READ:
            return
        if (owner, name) == ("sys", "modules"):
            self._fail("sys.modules", "it holds all modules")
            return
        if isinstance(value, ModuleType):
            return  # some are imported when they are first read
        is_reflector = any(value is reflector for reflector in _REFLECTORS)
        self._reflects |= value is attrgetter or (is_reflector and not is_called)
        impure = None if isinstance(value, type) else _impure_value(value)
        if impure is None:
            self._note_value(owner, name)
        elif not is_called:  # calls are checked when they happen
            self._fail(impure, "its results are not watched")

    def _note_value(self, owner: str, name: str) -> None:
        values = self.values.setdefault(owner, {})
        full = f"{owner}.{name}"
        if name in values or full in self.failed or is_ignored(full, self.ignored):
            return
        try:
            values[name] = value_of(owner, name, self.classes)
        except TooManyValues as reason:
            if not self._is_full:  # the values after the one that reached the limit are small
                self.failed[full] = str(reason)
            self._is_full = True
        except NoFingerprint as reason:
            self.failed[full] = str(reason)
        for identity in self.classes.stateful:
            self._holders.setdefault(identity, f"{owner}.{name}")

    def _escape(self, module: ModuleType) -> None:
        if is_imported(module):  # others were fingerprinted when they were read
            self._escaped.setdefault(module.__name__, module)

    def _imported(self, statement: Import, package: str | None) -> None:
        name = statement.name
        if statement.level:
            name = resolve_name("." * statement.level + name, package)
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            part = ".".join(parts[:i])
            module = sys.modules.get(part)
            if module is None:
                self._note_value(IMPORTS, part)
                return
            self._check_imported(part, module)
            if not isinstance(module, ModuleType):
                return
            self._escape(module)
            if statement.has_star:
                self._wholes.add(part)

    def _read_escaped(self, module: ModuleType) -> None:
        owner = module.__name__
        names = vars(module)
        reflects = self._reflects or self.classes.reflects
        if not is_fixed(owner) and (reflects or owner in self._wholes):
            self._note_value(owner, ALL)
            for value in tuple(names.values()):
                if isinstance(value, ModuleType):
                    self._escape(value)
        elif owner in self._wholes and is_of_python(owner) and not is_pure(owner, ""):
            self._fail(owner, "it is read by a name that is computed")
        elif owner in self._wholes and not is_lazy(owner):
            self._note_value(owner, ALL)
        for name in sorted(self._attributes.intersection(names)):
            value = self._attribute(module, name, True)
            if isinstance(value, ModuleType):
                self._escape(value)


def is_ignored(name: str, ignored: Set[str]) -> bool:
    """Whether a global name, or a module or a package that it is in, is among some names."""
    parts = name.split(".")
    return any(".".join(parts[: i + 1]) in ignored for i in range(len(parts)))


def value_of(owner: str, name: str, classes: Classes) -> bytes:
    """Return the fingerprint of the value with a name in a module, or in ``os.environ``.

    Raises:
      NoFingerprint: if it has none.
    """
    if owner == ENVIRONMENT:
        return fingerprint(dict(os.environ) if name == ALL else os.environ.get(name))
    if owner == IMPORTS:
        return b"found" if find_source(name) is not None else b"missing"
    values = vars(sys.modules[owner])
    if name == ALL:
        return _fingerprint_all(owner, values, classes)
    value = values.get(name, ABSENT)
    if value is ABSENT and is_fixed(owner):  # perhaps one that is exported when it is first read
        value = getattr(sys.modules[owner], name, ABSENT)
    if value is ABSENT:
        is_submodule = "__path__" in values and find_source(f"{owner}.{name}") is not None
        return f"module {owner}.{name}".encode() if is_submodule else b"absent"
    if isinstance(value, ModuleType) and is_imported(value):
        return b"module " + value.__name__.encode()
    if is_fixed(owner):
        if _is_by_name(value) and value is not Decimal:
            kind = type(value).__qualname__
            return f"{kind} {value.__module__}.{getattr(value, '__qualname__', '')}".encode()
        if not is_of_python(owner):
            try:
                return fingerprint(value, classes=classes)
            except NoFingerprint:  # the version identifies it
                return f"object {type(value).__qualname__}".encode()
    return fingerprint(value, classes=classes)


def is_of(module: str, names: dict[str, Any]) -> bool:
    """Whether global names are those of a module, and not of generated code."""
    owner = sys.modules.get(module)
    return owner is not None and vars(owner) is names


def _fingerprint_all(owner: str, values: dict[str, Any], classes: Classes) -> bytes:
    """Fingerprint all values of a module; of those that a version identifies, the plain ones."""
    parts: list[object] = []
    for name in sorted(values.keys() - SET_BY_IMPORT):
        value = values[name]
        if not is_fixed(owner):
            parts += [name, value.__name__ if is_imported(value) else value]
        elif is_plain(value) and not name.startswith("_"):
            parts += [name, value]
    return fingerprint(*parts, classes=classes)


def _is_by_name(value: object) -> bool:
    """Whether a value is a function or a class whose code is identified by a version."""
    module = getattr(value, "__module__", None)
    return (
        callable(value)
        and isinstance(module, str)
        and is_fixed(module)
        and isinstance(getattr(value, "__qualname__", None), str)
    )


def _home_of(value: object) -> tuple[str, str] | None:
    """Return the module of an object's class and the object's global name there, if it has one."""
    module = type(value).__module__
    names = vars(sys.modules[module]) if module in sys.modules else {}
    return next(((module, name) for name, other in names.items() if other is value), None)


def _impure_value(value: object) -> str | None:
    return impurity(value) if callable(value) else None


def _users_caller(frame: FrameType) -> FrameType | None:
    """The frame of other code that called one of Python, NumPy or Ricci; none for internal use."""
    if finds_modules(frame):
        return None
    name = str(frame.f_globals.get("__name__"))
    is_python = is_of_python(name)
    caller = frame.f_back
    while caller is not None:
        module = str(caller.f_globals.get("__name__"))
        if self_contained(module, caller.f_code.co_filename) is not None:
            return None
        if not is_fixed(module):
            return caller
        # Imported now, or used by NumPy or Ricci for itself, or by the threads of Python; or the
        # source line in the text of a warning.
        if module in ("importlib._bootstrap", "warnings") or name == module == "threading":
            return None
        if not is_of_python(module) if is_python else is_lazy(module):
            return None
        caller = caller.f_back
    return None
