"""Writes what JAX gives into the texts: run it by the interpreter of the oracle."""

import sys
import warnings
from pathlib import Path

import jax

sys.path[:0] = [str(Path(__file__).parent.parent)]

from place_cases import FILES, evaluate, names, read  # noqa: E402


def written(text: str, known: dict) -> str:
    """Return a text of cases with what JAX gives."""
    lines = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            line = line if " => " in line else f"{line.removesuffix(' =>')} => "
            ((source, _, _),) = read(line)
            _, bar, ours = line.partition(" => ")[2].partition(" | ")
            line = f"{source} => {evaluate(source, known)}{bar}{ours}"
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    known = names(jax)
    for file in map(Path, sys.argv[1:]) if len(sys.argv) > 1 else FILES:
        file.write_text(written(file.read_text(), known))
