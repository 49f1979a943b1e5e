"""Measure with pyright how much of each package's public interface is typed, against floors.

    python tools/type_completeness.py              check every package against `FLOORS`
    python tools/type_completeness.py ricci_lax    say what is missing in one, name by name

A name is unknown if a part of its type is left out, and ambiguous if it has no annotation, so that
checkers may infer different types.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Floor(NamedTuple):
    """The floor of a package.

    Attributes:
      unknown: how many public names may have an unknown type.
      typed: how many percent of them must be typed in full.
    """

    unknown: int
    typed: float


FLOORS = {
    "jax": Floor(unknown=0, typed=99.0),
    "ricci": Floor(unknown=0, typed=98.0),
    "ricci_autodiff": Floor(unknown=0, typed=100.0),
    "ricci_batching": Floor(unknown=0, typed=100.0),
    "ricci_buckets": Floor(unknown=0, typed=100.0),
    "ricci_check": Floor(unknown=0, typed=100.0),
    "ricci_compat": Floor(unknown=0, typed=100.0),
    "ricci_examples": Floor(unknown=0, typed=100.0),
    "ricci_export": Floor(unknown=0, typed=100.0),
    "ricci_ir": Floor(unknown=0, typed=99.5),
    "ricci_kernels": Floor(unknown=0, typed=100.0),
    "ricci_lax": Floor(unknown=0, typed=98.0),
    "ricci_native": Floor(unknown=0, typed=100.0),
    "ricci_nn": Floor(unknown=0, typed=100.0),
    "ricci_numpy": Floor(unknown=0, typed=98.5),
    "ricci_parallel": Floor(unknown=0, typed=100.0),
    "ricci_pytree": Floor(unknown=0, typed=100.0),
    "ricci_random": Floor(unknown=0, typed=100.0),
    "ricci_reference": Floor(unknown=0, typed=100.0),
    "ricci_scipy": Floor(unknown=0, typed=99.3),
    "ricci_sparse": Floor(unknown=0, typed=100.0),
    "ricci_stablehlo": Floor(unknown=0, typed=100.0),
    "ricci_storage": Floor(unknown=0, typed=100.0),
    "ricci_testing": Floor(unknown=0, typed=97.5),
    "ricci_xla": Floor(unknown=0, typed=100.0),
}


class Found(NamedTuple):
    """Pyright's counts of the public names of a package."""

    known: int
    ambiguous: int
    unknown: int

    @property
    def typed(self) -> float:
        """The percentage of names that are typed in full, rounded down to a tenth.

        >>> Found(known=2, ambiguous=1, unknown=0).typed
        66.6
        """
        return 1000 * self.known // max(sum(self), 1) / 10


def counted(report: dict[str, Any]) -> Found:
    """Return the counts in the JSON that pyright prints."""
    counts = report["typeCompleteness"]["exportedSymbolCounts"]
    names = ("withKnownType", "withAmbiguousType", "withUnknownType")
    return Found(*(counts[name] for name in names))


def incomplete(report: dict[str, Any]) -> list[str]:
    """Return pyright's lines on names that are not typed in full.

    Members of classes and what public types refer to are names of their own.
    """
    return [
        f"{symbol['name']}: {' '.join(diagnostic['message'].split())}"
        for symbol in report["typeCompleteness"]["symbols"]
        for diagnostic in symbol["diagnostics"]
    ]


def problems(package: str, counts: Found, floor: Floor) -> list[str]:
    """Return in what a package falls short of its floor, and where the floor can be raised.

    >>> problems("ricci_x", Found(80, 15, 5), Floor(4, 90))
    ['ricci_x: 5 names have an unknown type, 4 may', 'ricci_x: 80.0% are typed in full, 90% must']
    """
    lines = []
    if counts.unknown > floor.unknown:
        lines.append(f"{package}: {counts.unknown} names have an unknown type, {floor.unknown} may")
    if counts.typed < floor.typed:
        lines.append(f"{package}: {counts.typed}% are typed in full, {floor.typed:g}% must")
    return lines


def report(package: str) -> dict[str, Any]:
    """Return pyright's report on an installed package's public interface."""
    options = ["--ignoreexternal", "--outputjson"]
    command = [sys.executable, "-m", "pyright", "--verifytypes", package, *options]
    # In this mode pyright asks the first python on the PATH where packages lie, and passes over
    # --pythonpath.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # Told so, pyright finds editable installs: here it does not follow their .pth files.
    sources = os.pathsep.join(map(str, sorted(ROOT.glob("packages/*/src"))))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": sources}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def main(arguments: list[str]) -> int:
    """Check all packages, or list the missing types of some; return the exit status."""
    if arguments:
        for package in arguments:
            print("\n".join(incomplete(report(package))))
        return 0
    failures: list[str] = []
    for package, floor in FLOORS.items():
        counts = counted(report(package))
        print(f"{package}: {counts.typed}% typed in full, {counts.unknown} unknown", flush=True)
        failures += problems(package, counts, floor)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
