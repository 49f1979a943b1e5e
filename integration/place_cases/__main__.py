"""Writes what JAX gives into `cases.txt`: run it by the interpreter of the oracle."""

import sys
from pathlib import Path

import jax

sys.path[:0] = [str(Path(__file__).parent.parent)]

from place_cases import FILE, evaluate, names, read  # noqa: E402

if __name__ == "__main__":
    known, lines = names(jax), []
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            line = line if " => " in line else f"{line} => "
            ((source, _, _),) = read(line)
            _, bar, ours = line.partition(" => ")[2].partition(" | ")
            line = f"{source} => {evaluate(source, known)}{bar}{ours}"
        lines.append(line)
    FILE.write_text("\n".join(lines) + "\n")
