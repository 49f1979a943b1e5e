"""List what the docstrings of public names lack, and check the numbers against floors.

    python tools/docstrings.py              count by package, and check against `FLOORS`
    python tools/docstrings.py ricci_lax    say what is lacking in one, name by name

The names are those of Ricci's public namespaces, and of the packages in `ALONE`, which users import
themselves. Each is counted once, in the package that defines it. A docstring has

- a summary: a first paragraph that ends with a full stop;
- ``Args:`` that name every parameter (``a, axis: as for `sum`.`` names two), or ``Attributes:`` for
  the fields of a class;
- ``Returns:``, or ``Yields:``, where there are parameters and a result;
- ``Raises:`` with each class that the function's own body raises;
- an example, with the imports that a user writes, so that it runs as it is pasted.

Methods and properties need the summary alone. Exceptions, protocols and types that hold data need
no example.
"""

import ast
import builtins
import doctest
import enum
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import ricci_ir as ir

ALONE = (
    "ricci_autodiff",
    "ricci_batching",
    "ricci_buckets",
    "ricci_check",
    "ricci_pytree",
    "ricci_reference",
    "ricci_testing",
)


class Floor(NamedTuple):
    """The floor of a package.

    Attributes:
      bare: how many public names may have no summary.
      complete: how many percent of them must have a docstring that lacks nothing.
    """

    bare: int
    complete: float


FLOORS = {
    "ricci": Floor(bare=0, complete=0.0),
    "ricci_autodiff": Floor(bare=0, complete=50.6),
    "ricci_batching": Floor(bare=0, complete=78.9),
    "ricci_buckets": Floor(bare=0, complete=90.9),
    "ricci_check": Floor(bare=0, complete=100.0),
    "ricci_compat": Floor(bare=3, complete=46.7),
    "ricci_examples": Floor(bare=0, complete=100.0),
    "ricci_export": Floor(bare=0, complete=100.0),
    "ricci_ir": Floor(bare=1, complete=94.0),
    "ricci_kernels": Floor(bare=0, complete=100.0),
    "ricci_lax": Floor(bare=0, complete=91.5),
    "ricci_native": Floor(bare=0, complete=50.0),
    "ricci_nn": Floor(bare=0, complete=100.0),
    "ricci_numpy": Floor(bare=0, complete=100.0),
    "ricci_parallel": Floor(bare=0, complete=84.0),
    "ricci_pytree": Floor(bare=0, complete=97.5),
    "ricci_random": Floor(bare=0, complete=100.0),
    "ricci_reference": Floor(bare=3, complete=90.2),
    "ricci_scipy": Floor(bare=0, complete=100.0),
    "ricci_sparse": Floor(bare=1, complete=88.1),
    "ricci_stablehlo": Floor(bare=0, complete=0.0),
    "ricci_storage": Floor(bare=0, complete=75.6),
    "ricci_testing": Floor(bare=0, complete=49.0),
    "ricci_xla": Floor(bare=5, complete=82.2),
}

_SECTION = re.compile(r"^(\w[\w ]*):(.*)$")
_ENTRY = re.compile(r"^(\*{0,2}\w+(?:(?:, | and )\*{0,2}\w+)*):")
_OWN = re.compile(r"^\s*(?:import|from) ricci_(\w+)", re.MULTILINE)


class Docstring:
    """A docstring, parted.

    >>> doc = Docstring('''Adds.
    ...
    ...     Args:
    ...       x, y: numbers.
    ...     ''')
    >>> doc.summary, sorted(doc.entries("Args"))
    ('Adds.', ['x', 'y'])
    """

    def __init__(self, text: str):
        self.text = inspect.cleandoc(text)

    @cached_property
    def summary(self) -> str:
        """The first paragraph, on one line."""
        first = self.text.partition("\n\n")[0]
        return "" if first.startswith(">>>") else " ".join(first.split())

    @cached_property
    def sections(self) -> dict[str, list[str]]:
        """The lines of each section, without their common indentation."""
        lacks: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in self.text.splitlines():
            head = _SECTION.match(line)
            if head:
                lines = lacks.setdefault(head[1], [head[2].strip()] if head[2].strip() else [])
            elif not line or line[0].isspace():
                lines.append(line)
            else:
                lines = []
        return {name: textwrap.dedent("\n".join(text)).splitlines() for name, text in lacks.items()}

    def entries(self, *names: str) -> set[str]:
        """The names that are explained in sections, without stars."""
        lines = (line for name in names for line in self.sections.get(name, ()))
        heads = filter(None, map(_ENTRY.match, lines))
        return {part.lstrip("*") for head in heads for part in re.split(", | and ", head[1])}

    @cached_property
    def examples(self) -> str:
        """The source of the examples."""
        try:
            return "".join(part.source for part in doctest.DocTestParser().get_examples(self.text))
        except ValueError:  # an example that doctest cannot read, which it will say itself
            return ""


def unbound(source: str) -> set[str]:
    """Return the names that a program uses and does not make.

    >>> sorted(unbound("import numpy as np; x = np.ones(3); jnp.sum(x)"))
    ['jnp']
    """
    tree = ast.parse(source)
    used: set[str] = set()
    available = set(dir(builtins)) | {"__name__"}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                available.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.TypeVar(name=name):
                available.add(name)
            case ast.alias(name=name, asname=given):
                available.add(given or name.partition(".")[0])
            case _:
                pass
    return used - available


class _Raised(ast.NodeVisitor):
    """Collects the classes that a function's own body raises, without functions inside of it."""

    def __init__(self) -> None:
        self.classes: set[str] = set()

    def visit_Raise(self, node: ast.Raise) -> None:
        match node.exc:
            case (
                ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
                | ast.Name(id=name)
                | ast.Attribute(attr=name)
            ) if name[0].isupper():
                self.classes.add(name)
            case _:
                pass

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Pass over it."""

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Pass over it."""


def raised(function: FunctionType) -> set[str]:
    """Return the classes of the errors that a function raises in its own body."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # made from a row of a table
        return set()
    finder = _Raised()
    for statement in getattr(tree.body[0], "body", ()):
        finder.visit(statement)
    return finder.classes


def documentation(thing: Any) -> Docstring:
    """Return a thing's own docstring, which is not that of its class."""
    text = getattr(thing, "__doc__", None)
    inherited = text is getattr(type(thing), "__doc__", None)
    return Docstring(text if isinstance(text, str) and not inherited else "")


def lacks(thing: Any, public: bool = True) -> Iterator[str]:
    """Say what the docstring of a function, a class or an object that is called lacks.

    Args:
      thing: what has the docstring.
      public: whether `ricci` names it, so that examples import that.
    """
    doc = documentation(thing)
    if not _ends_well(doc.summary):
        yield "summary"
    if not doc.text:
        return
    yield from (
        _lacks_of_class(thing, doc) if isinstance(thing, type) else _lacks_of_call(thing, doc)
    )
    if not doc.examples:
        if not (isinstance(thing, type) and _needs_no_example(thing)):
            yield "example"
        return
    unknown = unbound(doc.examples)
    if unknown:
        yield f"imports of {', '.join(sorted(unknown))} in the example"
    elif public and _OWN.search(doc.examples):
        yield "imports of ricci, as users write them, in the example"


def _ends_well(summary: str) -> bool:
    return summary.endswith((".", ".)", ":", "``"))


def _needs_no_example(thing: type) -> bool:
    """Whether a class is an error, a protocol, an enumeration, or a type that holds data."""
    data = (BaseException, tuple, dict, enum.Enum)
    return getattr(thing, "_is_protocol", False) or issubclass(thing, data)


def _unnamed(names: set[str], doc: Docstring) -> Iterator[str]:
    unnamed = names - doc.entries("Args", "Attributes")
    if unnamed:
        yield f"Args ({', '.join(sorted(unnamed))})"


def _lacks_of_class(thing: type, doc: Docstring) -> Iterator[str]:
    is_constructible = thing.__init__ is not object.__init__ or thing.__new__ is not object.__new__
    if is_constructible and not issubclass(thing, (BaseException, enum.Enum)):
        # A base class that takes all arguments for its subclasses does not describe theirs.
        yield from _unnamed(_parameters(thing) - {"args", "kwargs"}, doc)


def _lacks_of_call(thing: Any, doc: Docstring) -> Iterator[str]:
    names = _parameters(thing)
    yield from _unnamed(names, doc)
    gives = _signature(thing).return_annotation not in (None, "None", NoReturn)
    if names and gives and not {"Returns", "Yields"} & set(doc.sections):
        yield "Returns"
    inner = inspect.unwrap(thing)
    if isinstance(inner, FunctionType):
        unsaid = raised(inner) - doc.entries("Raises")
        if unsaid:
            yield f"Raises ({', '.join(sorted(unsaid))})"


def _signature(thing: Any) -> inspect.Signature:
    try:
        return inspect.signature(thing)
    except (ValueError, TypeError):  # some of C++ have none
        return inspect.Signature()


def _parameters(thing: Any) -> set[str]:
    return {name for name in _signature(thing).parameters if not name.startswith("_")}


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """Give the public methods and properties that a class defines itself."""
    for name in list(vars(thing)):
        getattr(thing, name, None)  # a `LateMember` becomes the member when it is looked up
        value = vars(thing)[name]
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if not name.startswith("_") and isinstance(value, (FunctionType, property)):
            yield name, value


def modules(root: str) -> Iterator[ModuleType]:
    """Yield a package, the public modules in it that declare names, and these names."""
    package = importlib.import_module(root)
    yield package
    for info in pkgutil.walk_packages(package.__path__, root + "."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            module = importlib.import_module(info.name)
            if hasattr(module, "__all__"):
                yield module
                # Modules without a file: a distribution's functions.
                named = (getattr(module, name) for name in module.__all__)
                yield from (n for n in named if isinstance(n, ModuleType) and hasattr(n, "__all__"))


class Entry(NamedTuple):
    """A public name, the package that defines it, and what its docstring lacks."""

    package: str
    name: str
    lacks: tuple[str, ...]


def census() -> Iterator[Entry]:
    """Give every public name that a package of Ricci defines, under the first path it has."""
    seen: set[int] = set()
    for root in ("ricci", *ALONE):
        for module in modules(root):
            for name in module.__all__:
                thing = getattr(module, name)
                inner = inspect.unwrap(thing)
                package = ir.defining_module(inner).partition(".")[0]
                is_own = package.startswith("ricci") and _is_documented(thing)
                if not is_own or id(inner) in seen:
                    continue
                seen.add(id(inner))
                path = f"{module.__name__}.{name}"
                yield Entry(package, path, tuple(lacks(thing, root == "ricci")))
                for member, value in members(thing) if isinstance(thing, type) else ():
                    summary = Docstring(value.__doc__ or "").summary
                    lacking = () if _ends_well(summary) else ("summary",)
                    yield Entry(package, f"{path}.{member}", lacking)


def _is_documented(thing: Any) -> bool:
    """Whether an object can have a docstring: primitives, constants and settings cannot."""
    if isinstance(thing, (type, FunctionType)):
        return True
    return callable(thing) and isinstance(getattr(thing, "__dict__", {}).get("__doc__"), str)


class Found(NamedTuple):
    """The numbers of a package's public names, of bare and of complete docstrings."""

    names: int
    bare: int
    complete: int

    @property
    def percent(self) -> float:
        """The percentage of complete docstrings, rounded down to a tenth.

        >>> Found(names=3, bare=0, complete=2).percent
        66.6
        """
        return 1000 * self.complete // max(self.names, 1) / 10


def counted(entries: list[Entry]) -> Found:
    """Return the counts of a package's names."""
    bare = sum("summary" in entry.lacks for entry in entries)
    return Found(len(entries), bare, sum(not entry.lacks for entry in entries))


def problems(package: str, counts: Found, floor: Floor) -> list[str]:
    """Return in what a package falls short of its floor.

    >>> problems("ricci_x", Found(names=10, bare=1, complete=8), Floor(bare=0, complete=90))
    ['ricci_x: 1 names have no summary, 0 may', 'ricci_x: 80.0% are complete, 90% must']
    """
    lines = []
    if counts.bare > floor.bare:
        lines.append(f"{package}: {counts.bare} names have no summary, {floor.bare} may")
    if counts.percent < floor.complete:
        lines.append(f"{package}: {counts.percent}% are complete, {floor.complete:g}% must")
    return lines


def kinds(entries: list[Entry]) -> Counter[str]:
    """Count the lacks by their kind, the first word."""
    return Counter(lack.partition(" ")[0] for entry in entries for lack in entry.lacks)


def main(arguments: list[str]) -> int:
    """Check all packages, or list the lacks of some; return the exit status."""
    packages: dict[str, list[Entry]] = {}
    for entry in census():
        packages.setdefault(entry.package, []).append(entry)
    if arguments:
        for package in arguments:
            for entry in packages.get(package, ()):
                if entry.lacks:
                    print(f"{entry.name}: {', '.join(entry.lacks)}")
        return 0
    failures: list[str] = []
    for package, entries in sorted(packages.items()):
        counts = counted(entries)
        lacking = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds(entries).items()))
        print(
            f"{package}: {counts.names} names, {counts.percent}% complete; lack: {lacking or '-'}"
        )
        failures += problems(package, counts, FLOORS[package])
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
