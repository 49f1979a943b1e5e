"""Records of what a program depends on besides its arguments, and the search for differences.

The modules of the functions that ran while it was traced, as files, and the values that their code
read: see ``_watch``. Of Python's own modules, NumPy, jaxlib and Ricci, whose versions are part of
what a bundle is for, only the values are recorded.
"""

import sys
from collections.abc import Callable, Set
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec

from ._fingerprint import Classes, NoFingerprint
from ._modules import compiled_file, file_digest, file_of, is_fixed
from ._watch import ENVIRONMENT, IMPORTS, Watch, value_of

# Global values that tracing changes, and that no program depends on.
HARMLESS: dict[str, str] = {
    "flax.core.scope.uuid": "numbers modules, to tell copies apart",
    "flax.ids.uuid": "numbers modules, to tell copies apart",
    "flax.linen.module.uuid": "numbers modules, to tell copies apart",
}


_NOT_MODULES = (ENVIRONMENT, IMPORTS)


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


def dependencies(watch: Watch, ignored: Set[str]) -> tuple[ModuleRecord, ...]:
    """What the code that was observed depends on.

    Raises:
      NoFingerprint: if that cannot be told: code without a source file, or other than its file's;
        a global value without a fingerprint.
    """
    watch.finish()
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
            name not in watch.imported or is_fixed(name),
            tuple(sorted(watch.values.get(name, {}).items())),
        )
        for name in sorted(modules.union(watch.values))
    )


def difference(records: tuple[ModuleRecord, ...], ignored: Set[str]) -> str | None:
    """What has changed since dependencies were recorded; ``None`` if nothing has."""
    classes = Classes()
    for record in records:
        imported = record.name in sys.modules or record.name in _NOT_MODULES
        if not (imported or record.late):
            return f"the module {record.name} is not imported yet"
        try:
            if _digest(record.name) != record.file:
                return f"the file of the module {record.name} has changed"
            if not imported:
                continue  # it will be as it was, when it is imported
            for name, value in record.values:
                full = f"{record.name}.{name}"
                if full not in ignored and value_of(record.name, name, classes) != value:
                    return f"{full} has changed"
        except NoFingerprint as reason:
            return f"{record.name}: {reason}"
    return None


def _digest(module: str) -> bytes:
    """The digest of a module's source file; empty where there is none, as for interactive code.

    There all code that ran is that of functions that are known by themselves: see ``_check``.
    """
    path = None if is_fixed(module) else file_of(module) or compiled_file(module)
    if path is None or module in _NOT_MODULES:
        return b""
    try:
        return file_digest(path)
    except OSError as error:
        raise NoFingerprint(f"its source file cannot be read: {error}") from error


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
    there = _codes_of(path, unknown[0].co_filename, file_digest(path))
    for code in unknown:
        if code not in there:
            raise NoFingerprint(
                f"the code of {module}.{code.co_qualname} is not that of its source file {path}"
            )


@lru_cache(maxsize=512)
def _codes_of(path: str, shown: str, digest: bytes) -> frozenset[CodeType]:
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
    return frozenset(found)


_compile: Callable[[bytes, str], CodeType] = lambda source, name: compile(
    source, name, "exec", dont_inherit=True
)
