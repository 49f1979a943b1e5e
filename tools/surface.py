"""Compare the public names and signatures of Ricci with those of JAX 0.12.0.1, by namespace.

    python tools/surface.py              every namespace
    python tools/surface.py lax numpy    jax.lax, jax.numpy and what is inside them
    python tools/surface.py ricci        what the package itself names, and its namespaces for
                                         custom derivatives, checkpoints, stages, errors, debugging

JAX's names stand in `data/surface.tsv`. A name that is missing, and a signature that differs, needs
a row in `data/surface_reasons.tsv` that says why; the exit status is 1 where one has none, and
where a row has nothing to explain any more.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

DATA = Path(__file__).parent / "data"
# The parts of `ricci`, as the command calls it: the transformations, and what belongs to them.
TRANSFORMATIONS = {
    "jax",
    *(
        f"jax.{name}"
        for name in (
            "ad_checkpoint api_util checkpoint_policies custom_batching custom_derivatives debug "
            "errors experimental.checkify stages"
        ).split()
    ),
}
MARKS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@dataclass(frozen=True, slots=True)
class Name:
    """A public name of JAX: its kind (function, class, constant, property, ufunc), its signature.

    A long signature is cut, and then ends in three dots; where none is known it is empty.
    """

    namespace: str
    name: str
    kind: str
    signature: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why names that match a pattern are missing, or have another signature.

    With `what="namespace"` the reason holds for a namespace of which nothing is there.
    """

    namespace: str
    names: tuple[str, ...]
    what: Literal["namespace", "missing", "signature"]
    text: str

    def covers(self, name: Name, what: str) -> bool:
        """Tell whether this is the reason for a finding."""
        matches = any(fnmatchcase(name.name, pattern) for pattern in self.names)
        return what == self.what and matches and fnmatchcase(name.namespace, self.namespace)


@dataclass(slots=True)
class Report:
    """The findings in one namespace: counts, and the findings with their reasons."""

    namespace: str
    present: int = 0
    missing: list[tuple[Name, str | None]] = field(default_factory=list)
    differing: list[tuple[Name, str, str | None]] = field(default_factory=list)

    @property
    def unexplained(self) -> int:
        """The number of findings without a reason."""
        reasons = [row[-1] for row in (*self.missing, *self.differing)]
        return reasons.count(None)


def read_names(file: Path = DATA / "surface.tsv") -> list[Name]:
    """Return the names of JAX in the order of the file."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return [Name(namespace, name, kind, text) for namespace, name, kind, _, text in rows]


def read_reasons(file: Path = DATA / "surface_reasons.tsv") -> list[Reason]:
    """Return the reasons; a row gives patterns of a namespace and of names, the kind, the text."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return [Reason(space, tuple(names.split()), what, text) for space, names, what, text in rows]  # type: ignore[arg-type]


def parameters(signature: str) -> tuple[list[str], bool]:
    """Return the parameters of a printed signature, and whether these are all.

    Each is a name; `*` and `**` stand before those that collect, and the bare `*` and `/` are kept.

    >>> parameters("(x: 'tuple[int, str]' = (1, 2), /, *, axis=<object object>, **more) -> 'int'")
    (['x', '/', '*', 'axis', '**more'], True)
    >>> parameters("(x, *, mode: 'str | GatherSca...")
    (['x', '*', 'mode'], False)
    >>> parameters("(x, shardi...")
    (['x'], False)
    """
    parts, depth, quote, complete = [""], 0, "", False
    for character in signature[1:]:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{<":
            depth += 1
        elif character in ")]}>" and depth == 0:
            complete = True
            break
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += character
    if not complete and not any(sign in parts[-1] for sign in ":="):
        parts.pop()
    names = [part.partition(":")[0].partition("=")[0].strip() for part in parts]
    return [name for name in names if name], complete


def own_parameters(fun: Any) -> list[str]:
    """Return the parameters of a function in the form of `parameters`.

    >>> own_parameters(lambda x, /, y=1, *, axis: None)
    ['x', '/', 'y', '*', 'axis']
    """
    missing: list[str] = []
    previous = None
    for parameter in inspect.signature(fun).parameters.values():
        kind = parameter.kind
        if previous == inspect.Parameter.POSITIONAL_ONLY != kind:
            missing.append("/")
        collected = inspect.Parameter.VAR_POSITIONAL
        if kind == inspect.Parameter.KEYWORD_ONLY and previous not in (kind, collected):
            missing.append("*")
        missing.append(MARKS.get(kind, "") + parameter.name)
        previous = kind
    return [*missing, "/"] if previous == inspect.Parameter.POSITIONAL_ONLY else missing


def difference(theirs: str, ours: Any, bound: int = 0) -> str | None:
    """Say how the parameters of a function differ from a printed signature; None where not.

    Of a cut signature what can be read is compared; the first `bound` parameters are not.

    >>> difference("(x, y=None)", lambda x, z=None: None)
    '(x, z), not (x, y)'
    """
    expected, complete = parameters(theirs)
    expected = expected[bound:]
    names = [name for name in own_parameters(ours)[bound:] if not (bound and name == "/")]
    if (names if complete else names[: len(expected)]) == expected:
        return None
    dots = [] if complete else ["..."]
    return f"({', '.join(names)}), not ({', '.join([*expected, *dots])})"


def find_namespace(name: str) -> Any:
    """Return Ricci's module, class or object for a namespace of JAX; None where there is none."""
    if name.startswith("jax.Array"):
        array = importlib.import_module("ricci.numpy").zeros(1)
        return array.at[0] if name == "jax.Array.at" else type(array)
    path = "ricci"
    space = importlib.import_module(path)
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        if not hasattr(space, part) and hasattr(space, "__path__") and find_spec(path) is not None:
            importlib.import_module(path)
        if not hasattr(space, part):
            return None
        space = getattr(space, part)
    return space


def chosen(namespace: str, asked: Iterable[str]) -> bool:
    """Tell whether a namespace was asked for.

    >>> [chosen(name, ["lax"]) for name in ("jax.lax", "jax.lax.linalg", "jax.numpy")]
    [True, True, False]
    >>> [chosen(name, ["ricci"]) for name in ("jax", "jax.errors", "jax.numpy")]
    [True, True, False]
    """
    if "ricci" in asked and namespace in TRANSFORMATIONS:
        return True
    names = [part if part.split(".")[0] == "jax" else f"jax.{part}" for part in asked]
    return (
        any(
            namespace == name or namespace.startswith((f"{name}.", f"{name}("))
            for name in names
            if name != "jax"
        )
        or "jax" in names
        and namespace == "jax"
    )


def examine(names: Iterable[Name], reasons: list[Reason], used: set[Reason]) -> Iterator[Report]:
    """Yield a report for each namespace of the names, and note the reasons that were used."""
    spaces: dict[str, list[Name]] = {}
    for name in names:
        spaces.setdefault(name.namespace, []).append(name)
    for namespace, members in spaces.items():
        report = Report(namespace)
        module = find_namespace(namespace)
        for name in members:
            if module is None or not hasattr(module, name.name):
                what = "namespace" if module is None else "missing"
                report.missing.append((name, _reason(name, what, reasons, used)))
                continue
            report.present += 1
            if name.kind == "function" and name.signature:
                differences = difference(
                    name.signature, getattr(module, name.name), isinstance(module, type)
                )
                if differences is not None:
                    reason = _reason(name, "signature", reasons, used)
                    report.differing.append((name, differences, reason))
        yield report


def _reason(name: Name, what: str, reasons: list[Reason], used: set[Reason]) -> str | None:
    match = next((reason for reason in reasons if reason.covers(name, what)), None)
    if match is None:
        return None
    used.add(match)
    return match.text


def lines(report: Report) -> Iterator[str]:
    """Yield the lines of a report; missing names are grouped by reason, those without one first."""
    counts = f"{report.present} present, {len(report.missing)} missing"
    yield f"{report.namespace}: {counts}, {len(report.differing)} with another signature"
    groups: dict[str, list[str]] = {}
    for name, reason in sorted(report.missing, key=lambda row: row[1] or ""):
        groups.setdefault(reason or "MISSING WITHOUT A REASON", []).append(name.name)
    for reason, members in groups.items():
        yield f"  {reason}: {' '.join(members)}"
    for name, difference, reason in report.differing:
        yield f"  {name.name}: {difference}: {reason or 'DIFFERENT WITHOUT A REASON'}"


def main(arguments: list[str]) -> int:
    """Print the reports and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("namespace", nargs="*", help="lax, numpy, scipy.special, ...")
    asked = parser.parse_args(arguments).namespace
    names = [name for name in read_names() if not asked or chosen(name.namespace, asked)]
    if not names:
        print(f"no namespace of JAX is named {' or '.join(asked)}")
        return 2
    spaces = {name.namespace for name in names}
    reasons, used = read_reasons(), set[Reason]()
    total = SimpleNamespace(present=0, missing=0, unexplained=0)
    for report in examine(names, reasons, used):
        print("\n".join(lines(report)))
        total.present += report.present
        total.missing += len(report.missing)
        total.unexplained += report.unexplained
    idle = [
        reason
        for reason in reasons
        if reason not in used and any(fnmatchcase(s, reason.namespace) for s in spaces)
    ]
    for reason in idle:
        print(f"nothing to explain: {reason.namespace} {' '.join(reason.names)} ({reason.what})")
    print(f"{total.present} present, {total.missing} missing, {total.unexplained} unexplained")
    return 1 if total.unexplained or idle else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
