"""The text of the reference's pages: one for each namespace, and for each function and class."""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from borrowed import DOCSTRINGS
from docstrings import documentation, literal, restructured, summary
from namespaces import BELOW, GROUPS, Entry, Namespace, option
from signatures import annotation, function_of, signature
from sphinx.config import Config

from ricci import Array

TABLES = {
    "class": "Classes",
    "function": "Functions",
    "setting": "Settings",
    "value": "Values",
    "primitive": "Primitives",
}
_SHORT = 60


class Pages:
    """Writes the pages.

    Attributes:
        missing: the dotted names of functions, classes and methods without a docstring.
        sources: the source files that pages link to.
    """

    def __init__(self, namespaces: dict[str, Namespace], config: Config, root: Path) -> None:
        self.namespaces = namespaces
        self.config = config
        self.root = root
        self.missing: list[str] = []
        self.sources: set[Path] = set()

    @cached_property
    def homes(self) -> dict[str, str]:
        """From every dotted public name to the one under which it is described."""
        return {e.dotted: e.home for n in self.namespaces.values() for e in n.entries}

    @cached_property
    def also(self) -> dict[str, list[str]]:
        """From a name that is described to the further names of the same object."""
        found: dict[str, list[str]] = {}
        for dotted, home in self.homes.items():
            if dotted != home:
                found.setdefault(home, []).append(dotted)
        return found

    @cached_property
    def types(self) -> dict[str, str]:
        """From the short name of a class or alias to the dotted name that describes it."""
        found: dict[str, str] = {}
        for namespace in self.namespaces.values():
            for e in namespace.entries:
                if e.kind in ("class", "value"):
                    found.setdefault(e.name, e.home)
        return found

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield every page: its name and its text."""
        for namespace in self.namespaces.values():
            yield namespace.name, self.namespace(namespace)
            for entry in namespace.entries:
                if entry.kind in ("class", "function") and entry.home == entry.dotted:
                    yield entry.dotted, self.object(entry)

    def index(self) -> str:
        """Return the tables of namespaces, in Markdown, for the reference's first page."""
        lines = []
        groups = GROUPS if self.namespaces else {}
        for group, tops in groups.items():
            lines += [f"## {group}", "", "| namespace | holds |", "|---|---|"]
            lines += [f"| [`{top}`](api/{top}.rst) | {line} |" for top, line in tops.items()]
            pages = [f"api/{top}" for top in tops]
            lines += ["", "```{toctree}", ":hidden:", f":caption: {group}", *pages, "```", ""]
        return "\n".join(lines)

    def namespace(self, namespace: Namespace) -> str:
        """Return the page of a namespace: its tables of names."""
        name = namespace.name
        words = self._words(namespace)
        lines = [name, "=" * len(name), "", f".. py:module:: {name}", "", words, ""]
        if namespace.below:
            rows = [
                (f":doc:`{inner} <{inner}>`", self._words(self.namespaces[inner]))
                for inner in namespace.below
                if name != "ricci"
            ]
            if rows:
                lines += [".. rubric:: Namespaces", "", *_table("namespace", rows), ""]
        for kind, title in TABLES.items():
            entries = [e for e in namespace.entries if e.kind == kind]
            if entries:
                lines += [title, "-" * len(title), "", *getattr(self, f"_{kind}_rows")(entries), ""]
        pages = [
            f"{e.name} <{e.dotted}>"
            for e in namespace.entries
            if e.kind in ("class", "function") and e.home == e.dotted
        ]
        below = [inner for inner in namespace.below if name != "ricci"]
        if pages or below:
            lines += [".. toctree::", "   :hidden:", "", *literal([*below, *pages]), ""]
        return "\n".join(lines)

    def _words(self, namespace: Namespace) -> str:
        """A line on a namespace: ours where there is one, else what its module says."""
        for tops in GROUPS.values():
            if namespace.name in tops:
                return tops[namespace.name].replace("`", "``")
        if namespace.name in BELOW:
            return BELOW[namespace.name]
        return summary(namespace.module.__doc__ or "").split(" See ``")[0]

    def _class_rows(self, entries: list[Entry]) -> list[str]:
        rows = [(_link(e), summary(documentation(e.value, e.home))) for e in entries]
        return _table("name", rows)

    _function_rows = _class_rows

    def _setting_rows(self, entries: list[Entry]) -> list[str]:
        """Settings, with what the table of options says of them."""
        lines = [
            "Each sets an option for a part of a program, ``with enable_x64(True):``. What values",
            "an option takes is told in :doc:`/guides/options`.",
            "",
        ]
        for e in entries:
            note = option(e).note.replace("*", r"\*")
            lines += [
                f".. py:data:: {e.name}",
                "",
                f"   The option ``{e.value.name}``: {note}.",
                "",
            ]
        return lines

    def _value_rows(self, entries: list[Entry]) -> list[str]:
        lines = []
        for e in entries:
            lines += [f".. py:data:: {e.name}", *literal(_value_options(e.value)), ""]
            text = documentation(e.value, e.dotted)
            if text:
                lines += literal([summary(text), ""])
        return lines

    def _primitive_rows(self, entries: list[Entry]) -> list[str]:
        names = [f"``{e.name}``" for e in entries]
        return ["Operations as interpreters see them: " + ", ".join(names) + "."]

    def object(self, entry: Entry) -> str:
        """Return the page of a function or class."""
        lines = [entry.dotted, "=" * len(entry.dotted), ""]
        lines += [f".. py:currentmodule:: {entry.namespace}", ""]
        directive = "class" if entry.kind == "class" else "function"
        if entry.kind == "class" and issubclass(entry.value, BaseException):
            directive = "exception"
        lines += [f".. py:{directive}:: {entry.name}{signature(entry.value)}", ""]
        lines += literal(self._body(entry.value, entry.kind, entry.dotted, entry))
        if entry.kind == "class":
            for member in self._members(entry):
                lines += literal(member)
        return "\n".join(lines) + "\n"

    def _body(self, value: Any, kind: str, dotted: str, entry: Entry) -> list[str]:
        """What a page says: the docstring, further names, the place in the source."""
        text = documentation(value, dotted)
        if not text:
            self.missing.append(dotted)
        lines = restructured(text, kind, dotted, self.config, lambda n: self._find(n, entry))
        others = self.also.get(dotted, [])
        if others:
            lines += ["", "Also found as " + ", ".join(f"``{o}``" for o in others) + "."]
        place = self._place(value)
        if place:
            lines += ["", ".. container:: source-link", "", f"   {place}"]
        return [*lines, ""]

    def _find(self, name: str, entry: Entry) -> str | None:
        """The page that a name in a docstring stands for: beside the entry first, then anywhere."""
        if name in _parameter_names(entry.value):
            return None
        spaces = [entry.namespace, "ricci", "ricci.numpy", "ricci.lax"]
        for dotted in (*(f"{space}.{name}" for space in spaces), name):
            home = self.homes.get(dotted)
            if home and self._has_page(home) and home != entry.home:
                return home
        return None

    @cached_property
    def _classes(self) -> list[Entry]:
        entries = [e for n in self.namespaces.values() for e in n.entries]
        return [e for e in entries if e.kind == "class" and e.home == e.dotted]

    @cached_property
    def _pages(self) -> set[str]:
        entries = [e for n in self.namespaces.values() for e in n.entries]
        return {e.home for e in entries if e.kind in ("class", "function")}

    def _has_page(self, dotted: str) -> bool:
        return dotted in self._pages

    def _place(self, value: Any) -> str:
        """A link to the lines that define a function or class, where they are ours."""
        try:
            source = value if inspect.isclass(value) else function_of(value)
            file = Path(inspect.getsourcefile(source) or "")
            line = source.__code__.co_firstlineno if source and not inspect.isclass(value) else None
        except TypeError:
            return ""
        package = next((p for p in file.parts if re.fullmatch(r"ricci(_\w+)?", p)), None)
        if package is None or source is None:
            return ""
        self.sources.add(file)
        inside = Path(*file.parts[file.parts.index(package) :])
        anchor = f"#line-{line}" if line else ""
        url = f"../../source/{inside.with_suffix('.html').as_posix()}{anchor}"
        return f"`{inside} <{url}>`__"

    def _members(self, entry: Entry) -> Iterator[list[str]]:
        """The public methods and properties that a class of ours defines."""
        bases = [e for e in self._classes if _is_below(entry.value, e.value)]
        if bases:
            links = ", ".join(f":py:obj:`{e.name} <{e.home}>`" for e in bases)
            yield [f"What it inherits: {links}.", ""]
        for name, value in _public_members(entry.value, [e.value for e in bases]):
            function = getattr(value, "__func__", value)
            dotted = f"{entry.dotted}.{name}"
            if isinstance(value, property) or not callable(function):
                head = [f".. py:property:: {name}"]
                returns = annotation(_returns(value)) if _returns(value) else ""
                head += [f"   :type: {returns}"] if returns else []
            else:
                bound = not isinstance(value, staticmethod)
                head = [f".. py:method:: {name}{signature(function, bound=bound)}"]
                kinds = {classmethod: "   :classmethod:", staticmethod: "   :staticmethod:"}
                head += [kinds[type(value)]] if type(value) in kinds else []
            text = DOCSTRINGS.get(dotted) or inspect.getdoc(value) or ""
            if not text:
                self.missing.append(dotted)
            body = restructured(text, "method", dotted, self.config, lambda n: self._find(n, entry))
            yield [*head, "", *literal(body), ""]


def _public_members(cls: type, described: list[type]) -> list[tuple[str, Any]]:
    """Methods and properties by name, of the class and of what is ours among its bases.

    Those bases are left out that have pages of their own, and what means the same as in these.
    """
    found: dict[str, Any] = {}
    above = {base for shown in described for base in shown.__mro__}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("ricci") and base not in above:
            found.update(vars(base))
    for name in [n for n in found if any(hasattr(shown, n) for shown in described)]:
        if not inspect.getdoc(found[name]):
            del found[name]
    of_tuple = cls._fields if issubclass(cls, tuple) and hasattr(cls, "_fields") else ()
    fields = {*getattr(cls, "__dataclass_fields__", ()), *of_tuple}
    kept = (property, classmethod, staticmethod)
    return sorted(
        (name, value)
        for name, value in found.items()
        if not name.startswith("_")
        and name not in fields
        and (isinstance(value, kept) or inspect.isfunction(value))
    )


def _is_below(cls: type, other: type) -> bool:
    """Whether a class is a kind of another, by inheritance or as tracers are arrays."""
    return cls is not other and (
        other in cls.__mro__ or (other is Array and issubclass(cls, Array))
    )


def _returns(value: Any) -> Any:
    getter = getattr(value, "fget", None)
    return getattr(getter, "__annotations__", {}).get("return")


def _parameter_names(value: Any) -> set[str]:
    try:
        return set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return set()


def _value_options(value: Any) -> list[str]:
    """What is told of a value by itself: its type, and what it is where that is short."""
    if isinstance(value, bool | int | float | str | None) and len(repr(value)) < _SHORT:
        return [f":value: {value!r}"]
    written = annotation(value)
    if "|" in written or "[" in written:
        return [f":value: {written}"] if len(written) < 5 * _SHORT else []
    return []


def _link(entry: Entry) -> str:
    return f":py:obj:`{entry.name} <{entry.home}>`"


def _table(names: str, rows: list[tuple[str, str]]) -> list[str]:
    """A table of names, of which the heads say what kind they are."""
    lines = [".. list-table::", "   :class: names", "   :widths: auto", "   :header-rows: 1", ""]
    for name, words in [(names, "summary"), *rows]:
        lines += [f"   * - {name}", f"     - {words}"]
    return lines
