"""The place in the user's code that an operation comes from.

Tracing records only the code object and the instruction offset of the innermost user frame; the
line number is computed on demand.
"""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

__all__ = [
    "caller_source",
    "excluded_paths",
    "is_internal_module",
    "no_origin",
    "register_exclusion",
    "register_inclusion",
    "register_internal_module",
    "shown_file",
    "Source",
    "unknown_source",
    "users_lines",
    "warn_user",
    "withheld_warnings",
]

_internal_roots: set[str] = {"ricci", "jaxlib", "contextlib", "functools", "importlib"}
_internal_modules: dict[str | None, bool] = {}  # by module name; unbounded, like sys.modules
# The table that ``caller_source`` reads: whether the frames of a module are passed over.
_passed_modules: dict[str | None, bool] = _internal_modules


class Source(NamedTuple):
    """A place in the user's code.

    ``code`` and ``offset`` identify the instruction; ``name_stack`` holds the names that were
    entered with ``named_scope``, outermost first.
    """

    code: CodeType | None
    offset: int
    name_stack: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The path of the file."""
        return self.code.co_filename if self.code else "<unknown>"

    @property
    def function(self) -> str:
        """The qualified name of the function."""
        return self.code.co_qualname if self.code else "<unknown>"

    @property
    def line(self) -> int:
        """The line, counted from 1; 0 if it is not known."""
        return self.position[0]

    @property
    def column(self) -> int:
        """The column, counted from 0."""
        return self.position[2]

    @property
    def traceback(self) -> "Source | None":
        """The place without the names, as ``user_context`` takes it; ``None`` if not known."""
        return None if self.code is None else Source(self.code, self.offset)

    @property
    def position(self) -> tuple[int, int, int, int]:
        """The first and the last line, the first and the last column; 0 for unknown ones."""
        if self.code is None:
            return (0, 0, 0, 0)
        if self.offset < 0:  # the function as a whole
            return (self.code.co_firstlineno, 0, 0, 0)
        # CPython's instructions have two bytes each, with one position for each.
        positions = list(self.code.co_positions())[self.offset // 2]
        first_line, last_line, first_column, last_column = (n or 0 for n in positions)
        return first_line, last_line, first_column, last_column

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}:{self.column} ({self.function})"


unknown_source: Source = Source(None, 0)
# The origin of equations in jaxprs that many callers share; each call site is their source.
no_origin: tuple[Any, int] = (None, 0)


def shown_file(file: str, short: bool = False) -> str:
    """The name of a file in messages.

    A notebook's cell is ``In[3]``, as IPython numbers it, instead of the temporary file that it is
    compiled under. Other files are named by their path.

    Args:
      file: the path of a code object's file.
      short: only the last part of a path.
    """
    shell: Any = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    if running is not None:
        label = running.compile.format_code_name(file)
        if label is not None:
            return str(label[1])
    return Path(file).name if short else file


def register_internal_module(root: str) -> None:
    """Treat a package's modules as internal: their frames do not count as the user's code."""
    _internal_roots.add(root)
    _internal_modules.clear()


class ExcludedPaths(list[str]):
    """Paths, or beginnings of paths, of files whose frames do not count as the user's code."""

    def append(self, path: str) -> None:
        """Add a path, which must be a str: any other object would make every later error fail."""
        if not isinstance(path, str):
            raise TypeError(f"a path of frames to leave out is a str, got {path!r}")
        super().append(path)
        _internal_modules.clear()

    def remove(self, path: str) -> None:
        """Remove a path."""
        super().remove(path)
        _internal_modules.clear()


excluded_paths: ExcludedPaths = ExcludedPaths()
_included_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """Treat a file, or all files whose paths begin with ``path``, as internal.

    A library calls this with its ``__file__``, so that errors and equations point at its callers.
    """
    excluded_paths.append(path)


def register_inclusion(path: str) -> None:
    """Treat a file, or all files whose paths begin with ``path``, as the user's code.

    This takes precedence over ``register_exclusion`` and over the package of the file.
    """
    if not isinstance(path, str):
        raise TypeError(f"a path of frames to include is a str, got {path!r}")
    _included_paths.append(path)
    _internal_modules.clear()


def is_internal_module(name: str | None) -> bool:
    """Whether a module is part of Ricci (or of the machinery under it) rather than the user's."""
    internal = _internal_modules.get(name)
    if internal is None:
        root = (name or "").partition(".")[0]
        internal = root in _internal_roots or root.startswith("ricci_")
        if _included_paths or excluded_paths:
            file = getattr(sys.modules.get(name or ""), "__file__", None) or ""
            internal = internal or file.startswith(tuple(excluded_paths))
            internal = internal and not file.startswith(tuple(_included_paths))
        _internal_modules[name] = internal
    return internal


def is_own_frame(frame: FrameType) -> bool:
    """Whether a frame runs a function of an internal module."""
    return is_internal_module(frame.f_globals.get("__name__"))


def entries(tb: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the entries of a traceback, the outermost first."""
    while tb is not None:
        yield tb
        tb = tb.tb_next


@contextmanager
def users_lines() -> Iterator[None]:
    """Attribute operations to the nearest line outside of installed libraries, in a ``with`` block.

    Where there is none, as when a library is run on its own, it is the innermost line as always.
    The block counts for all threads.
    """
    global _passed_modules
    outside, _passed_modules = _passed_modules, {}
    try:
        yield
    finally:
        _passed_modules = outside


@cache
def _library_folders() -> tuple[str, ...]:
    import sysconfig  # noqa: PLC0415 - lazy: it takes 2 ms

    paths = sysconfig.get_paths()
    return tuple({paths["purelib"], paths["platlib"], paths["stdlib"]})


def _is_passed(name: str | None) -> bool:
    """Whether ``caller_source`` passes over a module: an internal one, or a library's."""
    passed = is_internal_module(name)
    if _passed_modules is not _internal_modules:
        file = getattr(sys.modules.get(name or ""), "__file__", None) or ""
        folder = Path(file).parent
        passed = passed or file.startswith(_library_folders()) or "site-packages" in folder.parts
        _passed_modules[name] = passed
    return passed


def caller_source(depth: int, name_stack: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """The innermost frame of user code, at least ``depth`` calls up from this function.

    Returns the fields of a ``Source`` as a plain tuple, which is faster to build while tracing.
    """
    frame: FrameType | None = sys._getframe(depth)
    passed = _passed_modules
    while frame is not None:
        module = frame.f_globals.get("__name__")
        is_passed = passed.get(module)
        # The table is read here directly, since a call for each frame would slow down tracing.
        if is_passed or (is_passed is None and _is_passed(module)):
            frame = frame.f_back
        else:
            return (frame.f_code, frame.f_lasti, name_stack)
    if passed is _internal_modules:
        return unknown_source
    frame = sys._getframe(depth)  # all of it is libraries': the innermost line of theirs
    while frame is not None and is_internal_module(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return unknown_source if frame is None else (frame.f_code, frame.f_lasti, name_stack)


_withheld = threading.local()


@contextmanager
def withheld_warnings() -> Iterator[list[str]]:
    """Collect the messages of ``warn_user`` in this thread inside a ``with`` block, unshown.

    For a function that is traced beside a call that warns itself.
    """
    outer: list[str] | None = getattr(_withheld, "messages", None)
    _withheld.messages = messages = []
    try:
        yield messages
    finally:
        _withheld.messages = outer


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line of user code, where Python shows a warning once."""
    withheld: list[str] | None = getattr(_withheld, "messages", None)
    if withheld is not None:
        withheld.append(message)
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal_module(frame.f_globals.get("__name__")):
        frame = frame.f_back
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__", "sys"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
