"""Records of a traced function's dependencies besides its arguments, and their comparison.

Dependencies are the modules of the functions that ran while it was traced, as files, and the values
that their code read: see ``_watch``. Of Python's own modules, NumPy, jaxlib and Ricci, whose
versions are part of the bundle's environment, only the values are recorded.
"""

import sys
from collections.abc import Callable, Set
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec

from ._classes import Classes, NoFingerprint
from ._purity import compiled_file, file_digest, file_of, is_fixed
from ._watch import ENVIRONMENT, IMPORTS, Watch, is_ignored, value_of

# Global values that tracing changes, and that no jaxpr depends on.
HARMLESS: dict[str, str] = {
    "flax.core.scope.uuid": "numbers modules, to tell copies apart",
    "flax.ids.uuid": "numbers modules, to tell copies apart",
    "flax.linen.module.uuid": "numbers modules, to tell copies apart",
    "flax.nnx.graphlib.GRAPH_CONTEXT": "holds the graph of the arguments, which is in their types",
    "haiku._src.base.frame_ids": "numbers frames, to tell copies apart",
    "haiku._src.base.current_context": "holds the context of the trace, whose frame is in a stack",
    "haiku._src.base.current_frame": "holds the frame of the trace; there is none before",
}


_MOST_NAMES = 8  # in a reason
_NOT_MODULES = (ENVIRONMENT, IMPORTS)


class ModuleRecord(msgspec.Struct, frozen=True):
    """A module that a traced function depends on.

    Attributes:
      name: the module's name.
      file: the digest of its source file.
      late: whether it need not be imported yet: it was first imported while the function was
        traced, so that its values had not been changed.
      values: the fingerprint of each of its global names that was read, before it was read.
    """

    name: str
    file: bytes
    late: bool
    values: tuple[tuple[str, bytes], ...]


def dependencies(watch: Watch) -> tuple[ModuleRecord, ...]:
    """Records of the modules that the observed code depends on.

    Raises:
      NoFingerprint: for code without a source file, or other than its file's, or a global value
        without a fingerprint.
    """
    watch.finish()
    if watch.failed:
        name, reason = next(iter(watch.failed.items()))
        remedy = f"ignore={_names_to_ignore(list(watch.failed))}"
        raise NoFingerprint(f"{name}: {reason}. If no result depends on it, pass {remedy}")
    for module, codes in watch.codes.items():
        _check(module, codes, watch.classes.codes | watch.generated)
    modules = {module for module in watch.codes if module in sys.modules}
    return tuple(
        ModuleRecord(
            name,
            _digest(name),
            name not in watch.imported or is_fixed(name),
            tuple(sorted(watch.values.get(name, {}).items())),
        )
        for name in sorted(modules.union(watch.values))
    )


def _names_to_ignore(names: list[str]) -> list[str]:
    """The names, or the packages that they are in if there are many."""
    if len(names) <= _MOST_NAMES:
        return names
    return list(dict.fromkeys(name.partition(".")[0] for name in names))


def difference(records: tuple[ModuleRecord, ...], ignored: Set[str]) -> str | None:
    """The first change since dependencies were recorded, as text, or ``None``."""
    classes = Classes()
    for record in records:
        imported = record.name in sys.modules or record.name in _NOT_MODULES
        if not (imported or record.late):
            return f"the module {record.name} is not imported yet"
        try:
            if _digest(record.name) != record.file:
                return f"the file of the module {record.name} has changed"
            if not imported:
                continue  # importing it gives the same values
            for name, value in record.values:
                full = f"{record.name}.{name}"
                if not is_ignored(full, ignored) and value_of(record.name, name, classes) != value:
                    return f"{full} has changed"
        except NoFingerprint as reason:
            return f"{record.name}: {reason}"
    return None


def _digest(module: str) -> bytes:
    """The digest of a module's source file; empty without a file, as for interactive code.

    All code that ran of such a module belongs to functions with fingerprints: see ``_check``.
    """
    path = None if is_fixed(module) else file_of(module) or compiled_file(module)
    if path is None or module in _NOT_MODULES:
        return b""
    try:
        return file_digest(path)
    except OSError as error:
        raise NoFingerprint(f"its source file cannot be read: {error}") from error


def _check(module: str, codes: list[CodeType], fingerprinted: Set[CodeType]) -> None:
    """Refuse code that has no fingerprint and is not in the module's file.

    It was edited after it was imported, or was generated.
    """
    unknown = [code for code in codes if code not in fingerprinted]
    generated = [code for code in unknown if code.co_filename.startswith("<")]
    if generated:
        raise NoFingerprint(
            f"it runs {module}.{generated[0].co_qualname}, whose code was generated, by a "
            "reference that is not observed; such a call is traced in each process"
        )
    if not unknown:
        return
    path = file_of(module)
    if path is None:
        raise NoFingerprint(f"{module} has no source file to compare with")
    # Code objects are equal if their instructions, constants and names are. The file is compiled
    # again, to see that it contains the code that ran: it may have changed since it was imported.
    codes_of_file = _codes_of(path, unknown[0].co_filename, file_digest(path))
    for code in unknown:
        if code not in codes_of_file:
            raise NoFingerprint(
                f"the code of {module}.{code.co_qualname} is not that of its source file {path}"
            )


@lru_cache(maxsize=512)
def _codes_of(path: str, shown: str, digest: bytes) -> frozenset[CodeType]:
    source = Path(path).read_bytes()
    try:
        todo: list[Any] = [_compile(source, shown)]
    except (SyntaxError, ValueError) as error:
        raise NoFingerprint(f"its source file {path} cannot be compiled: {error}") from error
    codes: set[CodeType] = set()
    while todo:
        code = todo.pop()
        codes.add(code)
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
    return frozenset(codes)


_compile: Callable[[bytes, str], CodeType] = lambda source, name: compile(
    source, name, "exec", dont_inherit=True
)
