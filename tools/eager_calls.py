"""Compares the time of each public function called eagerly on small arrays with the oracle's.

`python tools/eager_calls.py [TEXT] [OPTIONS]` calls each public function of numpy, lax, nn, random,
image and scipy outside of jit, on operands of a few elements, on both sides in turn: the least
times count, up to seven rounds while Ricci's is above JAX's by more than the limit. The rows beyond
that are printed, the worst first, each with its reason where `REASONS` has one.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from growth import Side
from growth_cases import all_calls
from numpy_cases.case import Call

from ricci_testing import find_interpreter

SIDE = Path(__file__).with_name("eager_side.py")
LIMIT = 1 / 0.95
ROUNDS = 7  # of timing a call on both sides, while the ratio is beyond the limit
# By the beginning of a call, why it may take longer than JAX's.
_PRODUCT = "each call looks whether a library has replaced lax.dot_general"
_NOTHING_RUNS = "no operation runs: one or two microseconds of Python"
_INTEGERS = "an integer that decides what is computed: each call runs the function"
_STEPS = "several steps in Python, each an operation or a check of the arguments"
_FRAME = "a Python function around the dispatcher, which has the name for errors (0.3 to 0.6 µs)"
_NUMBERS = "numbers, also the defaults of loc and scale, are copied to the device (3.6 µs each)"
_METHOD = "two Python functions around the dispatcher"
# Rows up to this ratio, without another reason, differ by the function around the dispatcher.
_FRAME_LIMIT = 1.15
REASONS: dict[str, str] = {
    **dict.fromkeys(("jnp.inner(", "jnp.dot(", "jnp.vdot(", "jnp.matmul("), _PRODUCT),
    **dict.fromkeys(("jnp.shape(", "jnp.ndim(", "jnp.can_cast(", "jnp.isdtype("), _NOTHING_RUNS),
    **dict.fromkeys(("jnp.broadcast_shapes(", "str(jnp.promote_types("), _NOTHING_RUNS),
    **dict.fromkeys(("jnp.get_printoptions(", "jnp.set_printoptions("), _NOTHING_RUNS),
    **dict.fromkeys(("jnp.power(", "jnp.pow("), _INTEGERS),
    "jsp.stats.gaussian_kde(": _STEPS,
    **dict.fromkeys(("jsp.linalg.cho_factor(", "jsp.linalg.cho_solve("), _METHOD),
    **dict.fromkeys(("jsp.special.lpmn_values(", "jnp.einsum_path("), _STEPS),
    **dict.fromkeys(("jsp.linalg.hilbert(", "jsp.linalg.hadamard(", "jsp.linalg.dft("), _STEPS),
    **dict.fromkeys(("jsp.linalg.helmert(", "jsp.linalg.convolution_matrix("), _STEPS),
    "jax.nn.identity(": _STEPS,
    **dict.fromkeys(("jsp.stats.truncnorm.", "jsp.stats.betabinom."), _NUMBERS),
}


@dataclass(slots=True)
class Row:
    """A call, and its least seconds on both sides."""

    source: str
    theirs: float = float("inf")
    ours: float = float("inf")
    error: str = ""

    @property
    def ratio(self) -> float:
        """Ricci's time by JAX's."""
        return self.ours / self.theirs

    @property
    def reason(self) -> str:
        """The reason for a ratio above the limit, or an empty text."""
        default = _FRAME if self.ratio <= _FRAME_LIMIT else ""
        starts = (why for start, why in REASONS.items() if self.source.startswith(start))
        return next(starts, default)

    def __str__(self) -> str:
        times = f"{self.theirs * 1e6:8.2f} → {self.ours * 1e6:8.2f} µs"
        return " | ".join(filter(None, [f"{self.ratio:5.2f}", times, self.source, self.reason]))


def measure(call: Call, sides: list[Side]) -> Row | None:
    """Time a call on both sides; None where JAX refuses it."""
    row = Row(call.source)
    theirs, ours = (side.ask((call.source, call.inputs)) for side in sides)
    if "error" in theirs:
        return None
    row.error = ours.get("error", "")
    for count in range(0 if row.error else ROUNDS):
        theirs, ours = (side.ask(None) for side in sides)
        row.error = theirs.get("error") or ours.get("error") or ""
        if row.error:
            break
        row.theirs = min(row.theirs, theirs["seconds"])
        row.ours = min(row.ours, ours["seconds"])
        if count and row.ratio <= LIMIT:
            break
    return row


def page(timed: list[Row], slow: list[Row], selection: str) -> str:
    """Return the page of the documentation with the rows beyond the limit.

    Args:
      timed: the calls that were timed.
      slow: those beyond the limit.
      selection: which calls were timed.
    """
    lines = [
        "# Eager calls",
        "",
        "Written by `nox -s eager -- --write docs/eager-calls.md`: public functions called outside "
        "of `jit` on arrays of a few elements, beside JAX, one core. Processor time in "
        "microseconds, the least of several alternating rounds. "
        f"Of {len(timed)} calls ({selection}) these {len(slow)} take more than {LIMIT:.2f} of "
        "JAX's time.",
        "",
        "| call | JAX | Ricci | ratio | reason |",
        "|---|---|---|---|---|",
    ]
    for row in slow:
        call = row.source.replace("|", "\\|")
        times = f"{row.theirs * 1e6:.1f} | {row.ours * 1e6:.1f} | {row.ratio:.2f}"
        lines.append(f"| `{call}` | {times} | {row.reason or 'not known'} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="", help="only calls that hold this text")
    parser.add_argument("--sample", type=int, default=1, help="only every N-th call")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first N calls")
    parser.add_argument("--part", default="1/1", help="only a part of the calls, as 2/4")
    parser.add_argument("--minutes", type=float, default=30.0, help="stop after this time")
    parser.add_argument("--again", type=Path, help="only calls of an earlier report's rows")
    parser.add_argument("--write", type=Path, help="write the rows beyond the limit to a page")
    parser.add_argument("--all", action="store_true", help="print every row")
    options = parser.parse_args()
    oracle = find_interpreter()
    if oracle is None:
        parser.error("oracle environment missing: run nox -s oracle")
    sides = [Side("jax", str(oracle), SIDE), Side("ricci", sys.executable, SIDE)]
    part, parts = map(int, options.part.split("/"))
    chosen = [call for call in all_calls() if options.text in call.source]
    if options.again is not None:
        chosen = [call for call in chosen if f"| {call.source}" in options.again.read_text()]
    chosen = chosen[options.skip :: options.sample]
    chosen = chosen[part - 1 :: parts]
    rows: list[Row] = []
    end = time.monotonic() + 60 * options.minutes
    tried = 0
    for tried, call in enumerate(chosen, 1):
        row = measure(call, sides)
        rows += [] if row is None else [row]
        if row is not None and not row.error and row.ratio > LIMIT:
            print(row, file=sys.stderr, flush=True)
        if not tried % 50:
            print(f"{tried} of {len(chosen)} calls", file=sys.stderr, flush=True)
        if time.monotonic() > end:
            break
    for side in sides:
        side.close()
    timed = sorted((row for row in rows if not row.error), key=lambda row: -row.ratio)
    slow = [row for row in timed if row.ratio > LIMIT]
    middle = statistics.median(row.ratio for row in timed) if timed else float("nan")
    print(
        f"{len(timed)} calls timed, {tried} of {len(chosen)} tried; median ratio {middle:.2f}; "
        f"above {LIMIT:.3g}: {len(slow)}, of these without a reason: "
        f"{sum(not row.reason for row in slow)}"
    )
    if options.write is not None:
        again = options.again is not None
        selection = "slow ones of an earlier run" if again else f"of {len(all_calls())}"
        options.write.write_text(page(timed, slow, selection))
    print("ratio | JAX → Ricci | call | reason")
    print("\n".join(map(str, timed if options.all else slow)))
    failed = [row for row in rows if row.error]
    print(f"\nfailed in Ricci alone: {len(failed)}")
    print("\n".join(f"{row.source}: {row.error}" for row in failed))
    return 1 if failed or any(not row.reason for row in slow) else 0


if __name__ == "__main__":
    sys.exit(main())
