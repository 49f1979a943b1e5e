"""Programs over arrays of several processes: what JAX gives, and where Ricci gives something else.

A text has a program on each line. ``jax.json`` has what JAX did with each, in each of two processes
with two devices; it is written by ``PYTHON integration/host_arrays record``, which runs the
oracle's interpreter. ``accepted.txt`` names the programs where Ricci gives something else, and why;
``ricci.json`` holds its results there, by rank.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAM = FOLDER / "__main__.py"
FILES = ("arrays.txt", "multihost.txt")


def expected() -> dict[str, list]:
    """JAX's results for each program, by rank."""
    return json.loads((FOLDER / "jax.json").read_text())


def accepted() -> dict[str, list]:
    """Ricci's results, by rank, for each program where they may be others."""
    results = json.loads((FOLDER / "ricci.json").read_text())
    lines = (FOLDER / "accepted.txt").read_text().splitlines()
    return {line: results[line] for line in lines if line and not line.startswith("#")}


def results(out: str) -> dict[str, object]:
    """The output of a process, by program."""
    return dict(map(json.loads, out.splitlines()))


def agrees(ours: object, theirs: object) -> bool:
    """Whether two results are the same; of errors the classes are compared."""
    if (
        isinstance(ours, dict)
        and isinstance(theirs, dict)
        and "error" in ours
        and "error" in theirs
    ):
        return bool(set(ours["error"]) & set(theirs["error"]))
    return ours == theirs


def without_messages(result: object) -> object:
    """A result without the text of an error, which is each library's own."""
    if isinstance(result, dict) and "error" in result:
        return {"error": result["error"]}
    return result
