"""Programs that once differed from JAX's, and the differences that are accepted.

A block of `programs.txt` begins with ``## `` and the program's title; what the program shows is
compared. A row of `accepted.txt` is ``title | ours | theirs | reason``, where ``*`` is any text.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from patterns import matches

FOLDER = Path(__file__).parent
DROP_IN = FOLDER.parents[1] / "packages" / "jax" / "src"


@dataclass(frozen=True, slots=True)
class Row:
    """An accepted difference.

    Attributes:
        title: the program's title.
        ours, theirs: patterns of what both sides show, lines joined by `` / ``.
        reason: why it is accepted.
    """

    title: str
    ours: str
    theirs: str
    reason: str

    def covers(self, ours: str, theirs: str) -> bool:
        """Whether both texts are those of the row."""
        return matches(ours, self.ours) and matches(theirs, self.theirs)


def read_programs(text: str) -> dict[str, str]:
    """Return the programs by their titles.

    >>> read_programs("## one\\nshow(1)\\n\\n## two\\nshow(2)\\n")
    {'one': 'show(1)', 'two': 'show(2)'}
    """
    blocks = ("\n" + text).split("\n## ")[1:]
    return {title: body.strip() for title, body in (block.split("\n", 1) for block in blocks)}


def read_rows(text: str) -> dict[str, Row]:
    """Return the accepted differences by the programs' titles."""
    rows = (Row(*line.split(" | ")) for line in text.splitlines() if line)
    return {row.title: row for row in rows}


PROGRAMS = read_programs((FOLDER / "programs.txt").read_text())
ACCEPTED = read_rows((FOLDER / "accepted.txt").read_text())


def _start(python: str, path: list[str]) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        [python, "-W", "ignore", str(FOLDER / "side.py")],
        env=environment | ({"PYTHONPATH": os.pathsep.join(path)} if path else {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def outputs(titles: list[str], oracle: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return what the programs show in Ricci, as the drop-in, and in JAX."""
    programs = json.dumps({title: PROGRAMS[title] for title in titles})
    sides = (_start(sys.executable, [str(DROP_IN), *filter(None, sys.path)]), _start(oracle, []))
    ours, theirs = (json.loads(side.communicate(programs)[0]) for side in sides)
    return ours, theirs
