"""Compares how the time of public functions grows with their arrays, with the oracle.

`python tools/growth.py [TEXT] [OPTIONS]` compiles a call of each public function of numpy, lax, nn,
random, image and scipy for 10³ elements along each axis. Where both executables have the same
instructions, they take the same time. The others are timed at 10³, 10⁵ and 10⁶ elements, on both
sides in turn, up to seven times where Ricci's least time is more than 1.2 times JAX's. The rows
beyond that are printed. With `--gradient`, the sum of squares of each call's results and its
gradient are compared; with `--programs`, the programs of several operations of `growth_programs.py`
instead of the calls.

`--memory` times nothing, and prints the executables whose temporaries take more than 1.25 times the
bytes of JAX's, and a megabyte more. What XLA's library YNNPACK allocates is not among them.
"""

import argparse
import json
import os
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from growth_cases import axes, calls, scaled
from growth_programs import PROGRAMS
from numpy_cases.case import Call

from ricci_testing import find_interpreter

SIDE = Path(__file__).with_name("growth_side.py")
LIMIT = 1.2
# The ratio of temporaries, and the least difference in bytes.
MEMORY_LIMIT, LEAST_BYTES = 1.25, 1_000_000
# Differences below this are those of dispatching a call, which `bench.py` measures.
LEAST_DIFFERENCE = 50e-6
ROW_SECONDS = 20.0
# Ricci refuses to compile what does not fit into memory; JAX compiles it.
TOO_LARGE = ("MemoryError", "JaxRuntimeError: RESOURCE_EXHAUSTED")
ROUNDS = 7  # of timing a call on both sides, while the ratio is beyond the limit


@dataclass(slots=True)
class Side:
    """A process that times calls; it is started again where a call takes too long."""

    name: str
    interpreter: str
    script: Path = SIDE
    flags: str = ""  # of XLA
    process: subprocess.Popen[bytes] | None = None

    def ask(self, message: object) -> dict[str, Any]:
        """Return the answer to a message, or an error after ``ROW_SECONDS``."""
        if self.process is None:
            environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": self.flags}
            if self.name == "jax":
                # A path to the workspace's packages would lead JAX's side to the drop-in.
                environment.pop("PYTHONPATH", None)
            self.process = subprocess.Popen(
                [self.interpreter, "-W", "ignore", str(self.script), self.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            assert self.process.stdout is not None
            self.process.stdout.readline()  # written when everything is imported
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump(message, self.process.stdin)
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], ROW_SECONDS)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.close()
            return {"error": "too slow" if not ready else "the process ended"}
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass(slots=True)
class Row:
    """A call along an axis: the least seconds and the bytes by size, of JAX and Ricci."""

    source: str
    axis: str
    seconds: dict[int, list[float]] = field(default_factory=dict)
    sizes: dict[int, list[int | None]] = field(default_factory=dict)
    error: str = ""
    is_gradient: bool = False
    same: int = 0  # sizes at which both executables have the same instructions

    def ratio(self, size: int) -> float:
        """Ricci's time by JAX's; differences that are a call's dispatch do not count."""
        theirs, ours = self.seconds[size]
        return ours / theirs if ours - theirs > LEAST_DIFFERENCE else min(ours / theirs, 1.0)

    @property
    def worst(self) -> float:
        """The largest ratio over all sizes."""
        return max(map(self.ratio, self.seconds), default=0.0)

    @property
    def growth(self) -> float:
        """The ratio of Ricci's growth in time, from the least size to the largest, to JAX's."""
        low, high = min(self.seconds), max(self.seconds)
        (their_low, our_low), (their_high, our_high) = self.seconds[low], self.seconds[high]
        return (our_high / our_low) / (their_high / their_low)

    @property
    def memory(self) -> float:
        """The largest ratio of temporaries; 1 where Ricci's take at most a megabyte more."""
        pairs = [(a, b) for a, b in self.sizes.values() if a is not None and b is not None]
        ratios = [b / max(a, 1) for a, b in pairs if b > a + LEAST_BYTES]
        return max(ratios, default=1.0)

    @property
    def name(self) -> str:
        """The call and its axis."""
        return f"{'gradient of ' * self.is_gradient}{self.source} ({self.axis})"

    def memory_text(self) -> str:
        """The temporaries at each size."""
        cells = [f"{a / 1e6:.3g} → {b / 1e6:.3g} MB" for a, b in self.sizes.values() if b and a]
        cells += [f"0 → {b / 1e6:.3g} MB" for a, b in self.sizes.values() if b and not a]
        return " | ".join([f"{self.memory:5.3g}", self.name, *cells])

    def __str__(self) -> str:
        cells = [
            f"{theirs * 1e3:.3g} → {ours * 1e3:.3g} ms" for theirs, ours in self.seconds.values()
        ]
        sizes = [f"{a} → {b} B" for a, b in self.sizes.values() if a and b and b > LIMIT * a]
        return " | ".join([f"{self.worst:5.2f}", self.name, *cells, *sizes[-1:]])


def measure(row: Row, size: int, operands: dict[str, Any], sides: list[Side], timed: bool) -> bool:
    """Compare a call on both sides; return whether larger operands may be tried."""
    message = row.source, operands, row.is_gradient
    answers = [side.ask(message) for side in sides]
    theirs, ours = answers
    if "error" in ours and "error" not in theirs:
        # A process that had to start, or another program beside it, may have taken the time.
        ours = answers[1] = sides[1].ask(message)
    if "error" in theirs or ours.get("error", "").startswith(TOO_LARGE):
        return False
    if "error" in ours:
        row.error = ours["error"]
        return False
    if ours["digest"] is not None and ours["digest"] == theirs["digest"]:
        row.same += 1
        return True
    row.sizes[size] = [reply["bytes"] for reply in answers]
    if not timed:
        return True
    least = [float("inf")] * 2
    for count in range(ROUNDS):
        replies = [side.ask(None) for side in sides]
        if "error" in replies[0]:
            return False
        if "error" in replies[1]:
            row.error = replies[1]["error"]
            return False
        least = [min(old, new["seconds"]) for old, new in zip(least, replies, strict=True)]
        row.seconds[size] = least
        if count and row.ratio(size) <= LIMIT:
            break
    return True


def rows_to_measure(call: Call | str, sizes: list[int]) -> Iterator[tuple[Row, list[Call]]]:
    """Yield a row for each axis of a call, or for a program's name, with the calls by size."""
    if isinstance(call, str):
        program = PROGRAMS[call]
        larger = [Call(call, program.source, program.operands(size)) for size in sizes]
        yield Row(program.source, "size"), larger
        return
    for axis in axes(call):
        scaled_calls = [scaled(call, size, axis) for size in sizes]
        larger = [each for each in scaled_calls if each is not None]
        if larger:
            yield Row(larger[0].source, axis), larger


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="", help="only calls that hold this text")
    parser.add_argument("--sample", type=int, default=1, help="only every N-th call")
    parser.add_argument("--part", default="1/1", help="only a part of the calls, as 2/4")
    parser.add_argument("--sizes", default="1000,100000,1000000", help="numbers of elements")
    parser.add_argument("--all-sizes", action="store_true", help="compile the same rows at each")
    parser.add_argument("--gradient", action="store_true", help="with the gradient of each call")
    parser.add_argument("--programs", action="store_true", help="programs instead of calls")
    parser.add_argument("--memory", action="store_true", help="compare bytes, and time nothing")
    parser.add_argument("--minutes", type=float, default=18.0, help="stop after this time")
    options = parser.parse_args()
    oracle = find_interpreter()
    if oracle is None:
        parser.error("oracle environment missing: run nox -s oracle")
    sides = [Side("jax", str(oracle)), Side("ricci", sys.executable)]
    sizes = [int(size) for size in options.sizes.split(",")]
    part, parts = map(int, options.part.split("/"))
    everything = list(PROGRAMS) if options.programs else calls()
    texts = [each if isinstance(each, str) else each.source for each in everything]
    chosen = [each for each, text in zip(everything, texts, strict=True) if options.text in text]
    chosen = chosen[:: options.sample][part - 1 :: parts]
    rows: list[Row] = []
    end = time.monotonic() + 60 * options.minutes
    done = 0
    compared: set[str] = set()  # functions that both sides computed
    for done, each in enumerate(chosen, 1):
        if time.monotonic() > end:
            done -= 1
            break
        for row, larger in rows_to_measure(each, sizes):
            row.is_gradient = options.gradient
            for size, call in zip(sizes, larger, strict=False):
                row.source = call.source
                if not measure(row, size, call.inputs, sides, not options.memory):
                    break
                if row.same and not options.all_sizes:
                    break
            if row.same or row.sizes or row.error:
                rows.append(row)
                compared.add(each if isinstance(each, str) else each.function)
            if row.worst > LIMIT or row.memory > MEMORY_LIMIT:
                text = row.memory_text() if options.memory else row
                print(text, file=sys.stderr, flush=True)
        if not done % 50:
            print(f"{done} of {len(chosen)} calls", file=sys.stderr, flush=True)
    for side in sides:
        side.close()
    same = sum(not row.sizes and not row.error for row in rows)
    head = (
        f"{len(rows)} rows of {len(compared)} functions, {done} of {len(chosen)} calls tried; "
        f"the same instructions on both sides: {same}; "
    )
    if options.memory:
        slow = sorted((r for r in rows if r.memory > MEMORY_LIMIT), key=lambda r: -r.memory)
        print(f"{head}temporaries of more than {MEMORY_LIMIT} times JAX's: {len(slow)}")
        print("ratio | call (axis) | JAX → Ricci at each size")
        print("\n".join(row.memory_text() for row in slow))
    else:
        slow = sorted((r for r in rows if r.seconds and r.worst > LIMIT), key=lambda r: -r.worst)
        print(f"{head}slower than {LIMIT} times: {len(slow)}")
        print("ratio | call (axis) | JAX → Ricci at each size | temporaries where larger")
        print("\n".join(map(str, slow)))
        grown = [r for r in rows if len(r.seconds) > 1 and r.growth > 2 and r.worst > LIMIT]
        print(f"\ngrowth more than twice JAX's: {len(grown)}")
        print("\n".join(f"{row.growth:5.2f} | {row.name}" for row in grown))
    failed = [row for row in rows if row.error]
    print(f"\nfailed or too slow in Ricci alone: {len(failed)}")
    print("\n".join(f"{row.name}: {row.error}" for row in failed))
    return 1 if slow or failed else 0


if __name__ == "__main__":
    sys.exit(main())
