"""Programs over eight devices, compared with the oracle; `integration/README.md` has the language.

A file of the folder is a list of programs. A heading, `## what it shows [mesh, option, …]`, stands
above each one; with the option `each`, every line below is a program of its own. What follows
`  # says: ` at the end of such a line are words, with semicolons between, that its error must name.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ricci_testing import Request, Result, evaluate_with

FOLDER = Path(__file__).parent
TEXT = (FOLDER / "observing.py").read_text()
HEADING = re.compile(r"## (?P<title>[^\[]*?)\s*(?:\[(?P<words>[^\]]*)\])?")
PROBES = ("eager", "types", "compiled")
OPTIONS = {*PROBES, "each", "unset"}


@dataclass(frozen=True, slots=True)
class Case:
    """A program, and how it is run.

    Attributes:
        topic: the name of its file.
        title: what it shows.
        source: statements that end in an expression.
        mesh: the name of the mesh that its arrays lie on.
        is_set: whether that mesh is the current one.
        probes: what is observed of it.
        says: what its error must name.
    """

    topic: str
    title: str
    source: str
    mesh: str
    is_set: bool
    probes: tuple[str, ...]
    says: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.topic}: {self.title}"

    def request(self) -> Request:
        """Return what the oracle is asked."""
        return Request(f"{TEXT}\n{self._call()}", {})

    def observed(self, namespace: Mapping[str, Any]) -> Result:
        """Return the same of this process."""
        return evaluate_with(namespace, f"{TEXT}\n{self._call()}", {})

    def _call(self) -> str:
        return f"observe(jax, {self.source!r}, {self.mesh!r}, {self.is_set}, {self.probes})"


def cases() -> list[Case]:
    """Return the programs of all files."""
    return [
        case for file in sorted(FOLDER.glob("*.txt")) for case in read(file.stem, file.read_text())
    ]


def read(topic: str, text: str) -> Iterator[Case]:
    """Yield the programs of a file."""
    for block in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        heading, _, body = block.partition("\n")
        match = HEADING.fullmatch(heading.strip())
        if match is None:
            raise ValueError(f"{topic}.txt has a heading that is none: {heading}")
        options = [word.strip() for word in (match["words"] or "").split(",")]
        mesh = next((word for word in options if word not in OPTIONS), "")
        probes = tuple(p for p in PROBES if p in options) or PROBES
        is_set = bool(mesh) and "unset" not in options
        if "each" in options:
            for line in filter(None, map(str.strip, body.splitlines())):
                line, _, words = line.partition("  # says: ")
                says = tuple(filter(None, words.split("; ")))
                title = f"{match['title']}: {line}"
                yield Case(topic, title, line.replace(" ;; ", "\n"), mesh, is_set, probes, says)
        else:
            yield Case(topic, match["title"], body.strip(), mesh, is_set, probes)


def plain(result: Result) -> dict[str, Any]:
    """Return what `observe` returned on the other side: its leaves by path, or its error."""
    if result.error is not None:
        return {"error": result.error.name, "message": result.error.message}
    return {leaf.path: leaf.value for leaf in result.leaves}
