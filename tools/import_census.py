"""Import libraries that are written for JAX on the drop-in, each in a separate process.

    python tools/import_census.py PYTHON            every library of data/census.tsv
    python tools/import_census.py PYTHON flax optax

PYTHON is an interpreter with the drop-in and the libraries; with a comma and a second one behind
it, that one has those that need an environment of their own. What is printed for each is its
version and `ok`, or the error that ended the import. The exit status is the number of failures.
"""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data" / "census.tsv"
TIME_LIMIT = 300  # seconds
PROGRAM = """
import importlib, importlib.metadata, sys
try:
    print(importlib.metadata.version(sys.argv[1]), end=" ", flush=True)
except importlib.metadata.PackageNotFoundError:
    sys.exit("it is not installed")
importlib.import_module(sys.argv[2])
print("ok")
"""


@dataclass(frozen=True, slots=True)
class Library:
    """A library.

    Attributes:
        distribution: what holds it.
        module: what to import.
        environment: which environment it goes into; one of its own for those that need the same
            distribution under another name as others do. Empty for the common one.
        reason: why it cannot be imported with JAX 0.11.2 either; empty if it can.
    """

    distribution: str
    module: str
    environment: str
    reason: str


def libraries(asked: list[str] | None = None) -> list[Library]:
    """Return the libraries of the census, or those of them that are asked for."""
    lines = DATA.read_text(encoding="utf-8").splitlines()[1:]
    listed = [Library(*line.split("\t")) for line in lines]
    return [library for library in listed if not asked or library.distribution in asked]


def import_in(python: str, library: Library) -> tuple[str, str | None]:
    """Import a library.

    Args:
        python: the interpreter.
        library: what to import.

    Returns:
        Its version, and the last line of the error, or `None` if there was none.
    """
    command = [python, "-c", PROGRAM, library.distribution, library.module]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return "", f"the import took longer than {TIME_LIMIT} s"
    version = done.stdout.partition(" ")[0]
    if done.returncode == 0:
        return version, None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return version, lines[-1] if lines else f"exit status {done.returncode}"


def main(arguments: list[str]) -> int:
    """Print the table and return the number of failures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("python")
    parser.add_argument("library", nargs="*")
    options = parser.parse_args(arguments)
    pythons = options.python.split(",")
    chosen = libraries(options.library)
    failures = 0
    for library in chosen:
        version, error = import_in(pythons[-1] if library.environment else pythons[0], library)
        failures += error is not None
        reason = f" ({library.reason})" if error and library.reason else ""
        print(f"{library.distribution:18} {version:24} {error or 'ok'}{reason}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} libraries import")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
