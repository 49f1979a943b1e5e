"""Modules whose code is identified by a version, and digests of the files of all others."""

import hashlib
import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

# Packages whose versions, or whose files' sizes and times, are part of a bundle's environment.
FIXED = ("ricci", "numpy", "jaxlib", "ml_dtypes", "msgspec", "jax")
# Ricci's own, and the constructors of named tuples, which the standard library generates.
_PREFIXES = ("ricci_", "namedtuple_")


def is_fixed(module: str | None) -> bool:
    """Whether a module belongs to Python, to Ricci or to one of Ricci's dependencies."""
    if module is None:
        return True
    root = module.partition(".")[0]
    return root in FIXED or root in sys.stdlib_module_names or root.startswith(_PREFIXES)


def is_of_python(module: str) -> bool:
    """Whether a module belongs to Python's standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def is_compiled(module: str) -> bool:
    """Whether a module has machine code in place of Python's."""
    return module in sys.builtin_module_names or compiled_file(module) is not None


def compiled_file(module: str) -> str | None:
    """The file of a module's machine code, if it has one."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file if isinstance(file, str) and file.endswith((".so", ".pyd")) else None


def file_of(module: str) -> str | None:
    """The source file of a module, if it has one. The module is not imported for this."""
    if module in sys.modules:
        path = getattr(sys.modules[module], "__file__", None)
    else:
        path = find_source(module)
    return path if path is not None and path.endswith(".py") else None


def find_source(module: str) -> str | None:
    """The file from which a module would be imported; no code of it or its parents runs."""
    path: Any = None
    spec = None
    parts = module.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return None if spec is None else spec.origin


def file_digest(path: str) -> bytes:
    """The digest of a source file as it is now."""
    status = Path(path).stat()
    return _digest(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _digest(path: str, changed: int, size: int) -> bytes:
    return hashlib.blake2b(Path(path).read_bytes(), digest_size=16).digest()
