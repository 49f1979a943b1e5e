"""Tables of the pure functions of Python, NumPy and Ricci, and modules of fixed code.

The code of these packages is identified by a version. The functions of them that a traced function
calls must not read anything else: a file, the clock, the environment, random numbers, a frame, a
mutable global table. The tables list the functions that are known to be pure; all others are
impure.
"""

import hashlib
import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
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


def is_lazy(module: str) -> bool:
    """Whether a module of Ricci's may export names when they are first read."""
    return module.partition(".")[0] in ("ricci", "jax") or module.startswith("ricci_")


def is_of_python(module: str) -> bool:
    """Whether a module belongs to Python's standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def is_imported(value: object) -> bool:
    """Whether a value is a module that an import of its name gives.

    Others are placeholders, which import a module when an attribute is read, and modules that were
    made or replaced by hand: objects like any other.
    """
    return isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value


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


# Names that the import system sets in modules.
SET_BY_IMPORT = frozenset("__builtins__ __cached__ __loader__ __spec__ __warningregistry__".split())
# Modules of Python's standard library, with the C modules behind them.
_PURE_MODULES = frozenset(
    "__future__ _abc _ast _bisect _blake2 _codecs _collections _collections_abc _contextvars "
    "_csv _datetime _functools _hashlib _heapq _json _md5 _opcode _operator _sha1 _sha2 _sha3 "
    "_sre _statistics _string _struct _thread _tokenize _typing _warnings _weakref _weakrefset "
    "abc array ast base64 binascii bisect builtins cmath codecs collections colorsys contextlib "
    "contextvars copy copyreg dataclasses datetime difflib dis encodings enum fractions "
    "functools graphlib hashlib heapq html inspect itertools json keyword logging math numbers "
    "opcode operator pprint re reprlib sre_compile sre_parse statistics string struct textwrap "
    "threading token tokenize traceback types typing unicodedata warnings weakref zlib".split()
)
# Other modules, of which only these functions are pure.
_PURE_FUNCTIONS = {
    "posix": {"fspath"},
    "nt": {"fspath"},
    "posixpath": set(
        "_get_sep basename commonprefix dirname isabs join normpath split splitext".split()
    ),
    "genericpath": {"_splitext", "_check_arg_types", "commonprefix"},
    "sys": set("exc_info exception getsizeof intern is_finalizing".split()),
    "uuid": {"UUID.__init__", "UUID.__eq__", "UUID.__hash__", "UUID.__str__"},
    "pathlib": {  # paths as text
        *("PurePath." + name for name in "__new__ __init__ __reduce__ __str__ __fspath__".split()),
        *("PurePath." + name for name in "__hash__ __eq__ __truediv__ joinpath name stem".split()),
        *("PurePath." + name for name in "suffix parent parts with_suffix with_name".split()),
        *("PurePath." + name for name in "with_segments drive root anchor _tail".split()),
        *("PurePath." + name for name in "_load_parts _parse_path _format_parsed_parts".split()),
        *("PurePath." + name for name in "_from_parsed_parts _str_normcase".split()),
        *("Path.__init__", "Path.__new__"),
    },
}
# Impure functions of pure modules.
_IMPURE_FUNCTIONS = {
    "builtins": set("__import__ breakpoint help input open".split()),
    "_abc": {"get_cache_token"},
    "_contextvars": {"copy_context"},
    "_csv": set("field_size_limit get_dialect list_dialects".split()),
    "_thread": {"locked"},
    "codecs": {"open"},
    # Naive times are in the zone of the machine.
    "datetime": set("astimezone fromtimestamp now timestamp today utcnow".split()),
    "inspect": set(
        "currentframe getframeinfo getinnerframes getmodule getouterframes getsource "
        "getsourcefile getsourcelines findsource stack trace".split()
    ),
    "logging": set(
        # The levels of a logger are among its state.
        "getLevelName getLogger Logger.hasHandlers LoggerAdapter.hasHandlers".split()
    ),
    "threading": set("active_count current_thread enumerate".split()),
    "tokenize": {"open"},
    "traceback": set("extract_stack walk_stack print_stack format_stack".split()),
    "numpy": {"fromfile"},
    "numpy._core._ufunc_config": {"getbufsize", "geterr", "geterrcall"},
    "ricci_numpy": {"fromfile", "load"},
    "numpy._core._multiarray_umath": {"fromfile"},
}
# Parts of NumPy and Ricci that read files or settings, or keep random state.
_IMPURE_PARTS = (
    "numpy._core.arrayprint",
    *("numpy.random", "numpy._core.memmap", "numpy.ctypeslib", "numpy.lib._datasource"),
    *("numpy.lib._npyio_impl", "numpy.lib._format_impl", "numpy.lib.format", "ricci_storage"),
)
# Generators of random numbers are pure if they are given a seed.
_SEEDED = frozenset(
    "default_rng RandomState Generator SeedSequence PCG64 PCG64DXSM MT19937 Philox SFC64".split()
)
# Functions of libraries that read unwatched values for the texts of errors and warnings, by module
# and name. The texts of errors are in Python callbacks, with which no executable is kept.
ERROR_REPORTERS = frozenset(
    (
        ("equinox._errors", "branched_error_if_impl"),
        ("equinox._jit", "_call"),
        ("numpyro.util", "find_stack_level"),
    )
)
# Functions of libraries whose cached results depend on the arguments and the library's code alone.
PURE_CACHES = frozenset((("jaxtyping._array_types", "_make_array_cached"),))
# Libraries outside of Python whose functions in C are known to keep no state that is not written
# with their objects.
_PURE_LIBRARIES = frozenset(("scipy", "flaxlib", "flaxlib_cpp", "optree", "msgpack", "plum"))
# Libraries in Python whose results depend on the arguments and their version alone, with the
# beginning of the file names of code that they generate. Checkers of types that beartype generates
# draw the items of a list that they check.
_SELF_CONTAINED = {"beartype": "<@beartype("}
_DESCRIPTORS = (ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType)
# Modules of the types of extension functions that have a ``__module__``.
_WITH_MODULES = ("nanobind", "_cython")


def is_pure(module: str, function: str) -> bool:
    """Whether a function depends on its arguments only, by the tables.

    Args:
      module: the function's module.
      function: its qualified name.
    """
    if function in _IMPURE_FUNCTIONS.get(module, ()) or module.startswith(_IMPURE_PARTS):
        return False
    if module.startswith("importlib._bootstrap"):
        return True  # the code that it imports is watched
    root = module.partition(".")[0]
    if root in _PURE_MODULES or root in _PURE_LIBRARIES:
        return True
    if is_of_python(module):
        return function in _PURE_FUNCTIONS.get(module, ())
    return is_fixed(module)


def self_contained(module: str, file: str) -> str | None:
    """The package of code whose results depend on its arguments and the package's version alone.

    Args:
      module: the name of the code's module.
      file: the name of the code's file.
    """
    root = module.partition(".")[0]
    if root in _SELF_CONTAINED:
        return root
    generated = (name for name, file_name in _SELF_CONTAINED.items() if file.startswith(file_name))
    return next(generated, None)


def impurity(function: object, first: object = None) -> str | None:
    """Return the name of an impure function without Python code, or ``None``.

    ``None`` is returned for pure functions, and for functions with Python code, which are checked
    when that code runs.

    Args:
      function: anything that can be called.
      first: the first argument, if there is one.
    """
    if isinstance(function, type):
        bad = [kind for kind in function.__mro__ if _is_impure_type(kind, first)]
        return f"{bad[0].__module__}.{bad[0].__qualname__}" if bad else None
    if isinstance(function, MethodType):
        return impurity(function.__func__, function.__self__)
    if isinstance(function, FunctionType):
        return None
    call = _call_of(type(function))
    if call is not None:  # the method of a class in Python, which may be a jitted function
        return impurity(call, function)
    owner, module, name = _home(function)
    if module.startswith("numpy.random"):
        generator = first if owner is None or isinstance(owner, type) else owner
        if type(generator).__module__.startswith("numpy.random"):
            # Its state is fingerprinted, unless it is the generator of NumPy's global functions.
            is_harmless = generator is not _global_generator()
        else:
            is_harmless = name in _SEEDED and first is not None
    else:
        # Such a function of a class in Python only calls the Python code of its methods.
        is_in_python = owner is not None and not (is_fixed(module) or is_compiled(module))
        is_harmless = is_in_python or is_pure(module, name)
    return None if is_harmless else f"{module}.{name}"


def _is_impure_type(kind: type, first: object) -> bool:
    module, name = kind.__module__, kind.__qualname__
    if not is_compiled(module) or is_pure(module, name):
        return False
    return not (module.startswith("numpy.random") and name in _SEEDED and first is not None)


def _call_of(kind: type) -> object:
    """The object that a class in Python has as ``__call__``; ``None`` for one in C."""
    members = (cls.__dict__["__call__"] for cls in kind.__mro__ if "__call__" in cls.__dict__)
    call = next(members, None)
    call = call.__func__ if isinstance(call, staticmethod | classmethod) else call
    return None if isinstance(call, WrapperDescriptorType) else call


def _home(function: object) -> tuple[object, str, str]:
    """The object or class that a function belongs to, if any; its module, and its name."""
    kind = type(function)
    name = str(getattr(function, "__name__", kind.__qualname__))
    if isinstance(function, BuiltinFunctionType | MethodWrapperType):
        owner = function.__self__
        if owner is None or isinstance(owner, ModuleType):
            return None, str(function.__module__ or getattr(owner, "__name__", "")), name
        classes = (owner if isinstance(owner, type) else type(owner)).__mro__
        definer = next((cls for cls in classes if name in cls.__dict__), classes[0])
        return owner, definer.__module__, name
    if isinstance(function, _DESCRIPTORS):
        return function.__objclass__, function.__objclass__.__module__, name
    if kind.__module__.startswith(_WITH_MODULES):
        return None, str(function.__module__), name
    # Objects of a class in Python may be called by one in C, as weak references are.
    caller = next((cls for cls in kind.__mro__ if "__call__" in cls.__dict__), kind)
    return None, caller.__module__, caller.__qualname__


def _global_generator() -> object:
    module = sys.modules.get("numpy.random.mtrand")
    return getattr(module, "_rand", module)
