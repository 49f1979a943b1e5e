"""Times Ricci beside JAX, PyTorch and NumPy with SciPy, and writes the table of ratios.

`python tools/bench_peers.py [TEXT] [--cores N] [--rounds N] [--write docs/peers.md]` runs the rows
of `bench_peer_workloads.py` whose names hold the text. Each library has a process of its own; they
take turns row by row, and the least time of several rounds counts. The ratio is that of the best
of the other three to Ricci: below 1 Ricci is slower.
"""

import argparse
import dataclasses
import datetime
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import bench_peer_models as _models  # noqa: F401  (enters its rows)
import bench_peer_networks as _networks  # noqa: F401  (enters its rows)
from bench import machine, table
from bench_peer_workloads import ROWS

from ricci_testing import find_interpreter

SIDE = Path(__file__).with_name("bench_peer_side.py")
SIDES = ("ricci", "jax", "torch", "numpy")
TITLES = ("Ricci", "JAX", "PyTorch", "NumPy")
GOAL, LEAST = 0.95, 0.5


@dataclasses.dataclass(slots=True)
class Side:
    """A library's process, and the least times that it has answered."""

    name: str
    process: subprocess.Popen[str]
    version: str
    least: dict[str, float] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def start(cls, name: str, interpreter: str, cores: int) -> "Side":
        """Start the process on the given number of cores."""
        one = {"OMP_NUM_THREADS": str(cores), "OPENBLAS_NUM_THREADS": str(cores)}
        environment = {**os.environ, **one, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
        if name != "ricci":
            # A path to the workspace's packages would lead JAX's side to the drop-in.
            environment.pop("PYTHONPATH", None)
        process = subprocess.Popen(
            [interpreter, "-W", "ignore", str(SIDE), name, str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, range(cores)),
        )
        assert process.stdout is not None
        return cls(name, process, json.loads(process.stdout.readline())["version"])

    def measure(self, row: str) -> None:
        """Run a row once more, and keep its least time."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{row}\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if "seconds" in reply:
            self.least[row] = min(reply["seconds"], self.least.get(row, math.inf))
        elif "error" in reply:
            self.errors[row] = reply["error"]


def shown(seconds: float | None) -> str:
    """A time in milliseconds, or a dash."""
    return "–" if seconds is None else f"{seconds * 1e3:.3g}"


def ratio(row: str, sides: list[Side]) -> float:
    """The best time of the other libraries over Ricci's; NaN where nothing compares."""
    ours, *peers = (side.least.get(row, math.nan) for side in sides)
    return min((time for time in peers if not math.isnan(time)), default=math.nan) / ours


def report(rows: list[str], sides: list[Side], cores: int) -> str:
    """The page in Markdown."""
    ratios = {row: ratio(row, sides) for row in rows}
    compared = [value for value in ratios.values() if not math.isnan(value)]
    level = sum(value >= GOAL for value in compared)
    cells = [
        [row, *(shown(side.least.get(row)) for side in sides), f"{ratios[row]:.2f}"]
        for row in sorted(rows, key=lambda row: ratios[row])
    ]
    versions = ", ".join(f"{t} {s.version}" for t, s in zip(TITLES, sides, strict=True))
    lines = [
        "# Ricci beside its peers on a CPU",
        "",
        "Written by `nox -s bench-peers -- --write docs/peers.md`. Times in milliseconds, the "
        "least of several alternating runs; JAX and Ricci compile each row, the others run it "
        "eagerly. The ratio is the best time of the other three over Ricci's: below 1 Ricci is "
        "slower. The rows in which it is furthest behind come first.",
        "",
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine()}, "
        f"{cores} of them used, load {os.getloadavg()[2]:.0f} over the last 15 minutes, "
        f"{versions}.",
        "",
        f"{level} of {len(compared)} rows are at {GOAL} of the best peer or above; "
        f"{sum(value < LEAST for value in compared)} are under {LEAST}.",
        "",
        table(["work", *TITLES, "ratio"], cells),
    ]
    errors = [
        f"- {side.name}, {row}: {text}" for side in sides for row, text in side.errors.items()
    ]
    return "\n".join([*lines, *(["", "Not run:", "", *errors] if errors else []), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable, help="an interpreter with PyTorch")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    jax = str(find_interpreter())
    interpreters = dict(
        zip(SIDES, (sys.executable, jax, arguments.peers, arguments.peers), strict=True)
    )
    sides = [Side.start(name, interpreters[name], arguments.cores) for name in SIDES]
    rows = [row for row in ROWS if arguments.text in row]
    for row in rows:
        for _ in range(arguments.rounds):
            for side in sides:
                side.measure(row)
        print(f"{ratio(row, sides):5.2f}  {row}", file=sys.stderr, flush=True)
    page = report(rows, sides, arguments.cores)
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
