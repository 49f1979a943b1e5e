"""Compares the time of each public function called eagerly on small arrays with the oracle's.

`python tools/eager_calls.py [TEXT] [OPTIONS]` calls each public function of numpy, lax, nn, random,
image and scipy outside of jit, on operands of a few elements, on both sides in turn: the least
times count, up to seven rounds while Ricci's is above JAX's by more than the limit. The rows beyond
that are printed, the worst first, each with its reason where `REASONS` has one. With `--devices`,
calls over 8 devices and of many leaves are made instead.
"""

import argparse
import datetime
import statistics
import sys
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

from growth import Side
from growth_cases import all_calls
from numpy_cases.case import Call
from workspace import version

from ricci_testing import find_interpreter

SIDE = Path(__file__).with_name("eager_side.py")
LIMIT = 1 / 0.95
ROUNDS = 7  # of timing a call on both sides, while the ratio is beyond the limit
# By the beginning of a call, why it may take longer than JAX's.
_PRODUCT = "each call looks whether a library has replaced lax.dot_general"
_NOTHING_RUNS = "no operation runs: one or two microseconds of Python"
_INTEGERS = "an integer that decides what is computed: each call runs the function"
_STEPS = "several steps in Python, each an operation or a check of the arguments"
_FRAME = "a Python function around the dispatcher, which has the name for errors (0.2 to 0.4 µs)"
_SETTINGS = "a setting by name: the elements of tuples are compared by type, too (0.6 to 0.9 µs)"
# With `JAX_CPU_ENABLE_ASYNC_DISPATCH=0` they take as long as JAX's.
_THREAD = "XLA counts more operations than in JAX's loop, and so runs them on another thread"
_NUMBERS = "numbers are checked in Python and copied to the device (3.6 µs each)"
_PROGRAM = "a single dispatch: the time of the computation itself"
_METHOD = "two Python functions around the dispatcher"
# Rows up to this ratio, without another reason, differ by the function around the dispatcher.
_FRAME_LIMIT = 1.15
REASONS: dict[str, str] = {
    **dict.fromkeys(("jnp.inner(", "jnp.dot(", "jnp.vdot(", "jnp.matmul("), _PRODUCT),
    **dict.fromkeys(("jnp.can_cast(", "str(jnp.promote_types("), _NOTHING_RUNS),
    **dict.fromkeys(("jnp.median(", "jnp.nanmedian(", "jnp.argpartition("), _SETTINGS),
    **dict.fromkeys(("jnp.cumsum(", "jnp.cumprod(", "jnp.put_along_axis("), _SETTINGS),
    **dict.fromkeys(("jnp.get_printoptions(", "jnp.set_printoptions("), _NOTHING_RUNS),
    **dict.fromkeys(("jnp.power(", "jnp.pow("), _INTEGERS),
    "jsp.stats.gaussian_kde(": _STEPS,
    **dict.fromkeys(("jsp.linalg.cho_factor(", "jsp.linalg.cho_solve("), _METHOD),
    "jax.scipy.linalg.cho_solve(": _METHOD,
    **dict.fromkeys(("jsp.special.lpmn_values(", "jnp.einsum_path("), _STEPS),
    **dict.fromkeys(("jsp.linalg.hilbert(", "jsp.linalg.hadamard(", "jsp.linalg.dft("), _STEPS),
    **dict.fromkeys(("jsp.linalg.helmert(", "jsp.linalg.convolution_matrix("), _STEPS),
    "jax.nn.identity(": _STEPS,
    "jsp.linalg.polar(": _PROGRAM,
    **dict.fromkeys(("jsp.stats.truncnorm.", "jsp.stats.betabinom."), _NUMBERS),
    **dict.fromkeys(("random.truncated_normal(", "random.multivariate_normal("), _THREAD),
}
# Calls on arrays over 8 devices, of mapped functions and of many leaves: see `eager_side.fixtures`.
_EIGHT = "--xla_force_host_platform_device_count=8"
DEVICE_CALLS = [
    *("SUM(ROWS)", "PAIR(ROWS, ROWS)", "SUM(COPIES)", "jnp.sin(ROWS)", "ROWS + ROWS", "ROWS + 1"),
    *("ROWS.sum()", "ROWS.reshape(4, 8)", "ROWS @ ROWS.T", "ROWS[0]", "jnp.triu(ROWS)"),
    *("jnp.concatenate([ROWS, ROWS])", "jnp.where(ROWS > 0, ROWS, ROWS)", "MAPPED(SHARDS)"),
    *("MAPPED_PAIR(SHARDS, SHARDS)", "TREE(LEAVES)"),
]


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


def page(timed: list[Row], slow: list[Row], selection: str, devices: list[Row]) -> str:
    """Return the page of the documentation with the rows beyond the limit.

    Args:
      timed: the calls that were timed.
      slow: those beyond the limit.
      selection: which calls were timed.
      devices: the calls over several devices, of which all are shown.
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
        f"{datetime.date.today()}, Ricci {version()}, jaxlib {metadata.version('jaxlib')}.",
        "",
        *_table(slow),
        "",
        "## Over several devices",
        "",
        "Time of the calling thread, on 8 virtual devices: `ROWS` has a row on each, `COPIES` is "
        "replicated, `SUM` and `PAIR` are jitted functions, `MAPPED` and `MAPPED_PAIR` are mapped "
        "by `pmap` over `SHARDS`, and `TREE` is a jitted function of 51 arrays.",
        "",
        *_table(devices),
    ]
    return "\n".join(lines) + "\n"


def _table(rows: list[Row]) -> list[str]:
    lines = ["| call | JAX | Ricci | ratio | reason |", "|---|---|---|---|---|"]
    for row in rows:
        call = row.source.replace("|", "\\|")
        times = f"{row.theirs * 1e6:.1f} | {row.ours * 1e6:.1f} | {row.ratio:.2f}"
        reason = (row.reason or "not known") if row.ratio > LIMIT else ""
        lines.append(f"| `{call}` | {times} | {reason} |")
    return lines


def time_calls(chosen: list[Call], flags: str, minutes: float) -> list[Row]:
    """Time calls on both sides, until a time is over; print the slow ones as they are found.

    Args:
      chosen: the calls.
      flags: of XLA.
      minutes: how long.
    """
    interpreters = {"jax": str(find_interpreter()), "ricci": sys.executable}
    sides = [Side(name, path, SIDE, flags) for name, path in interpreters.items()]
    rows: list[Row] = []
    end = time.monotonic() + 60 * minutes
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
    print(f"{tried} of {len(chosen)} calls tried")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="", help="only calls that hold this text")
    parser.add_argument("--sample", type=int, default=1, help="only every N-th call")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first N calls")
    parser.add_argument("--part", default="1/1", help="only a part of the calls, as 2/4")
    parser.add_argument("--minutes", type=float, default=30.0, help="stop after this time")
    parser.add_argument("--again", type=Path, help="only calls of an earlier report's rows")
    parser.add_argument("--devices", action="store_true", help="calls over 8 devices instead")
    parser.add_argument("--write", type=Path, help="write the rows beyond the limit to a page")
    parser.add_argument("--all", action="store_true", help="print every row")
    options = parser.parse_args()
    if find_interpreter() is None:
        parser.error("oracle environment missing: run nox -s oracle")
    part, parts = map(int, options.part.split("/"))
    over_devices = [Call("", source, {}) for source in DEVICE_CALLS]
    calls = over_devices if options.devices else all_calls()
    chosen = [call for call in calls if options.text in call.source]
    if options.again is not None:
        chosen = [call for call in chosen if f"| {call.source}" in options.again.read_text()]
    chosen = chosen[options.skip :: options.sample]
    chosen = chosen[part - 1 :: parts]
    rows = time_calls(chosen, _EIGHT if options.devices else "", options.minutes)
    timed = sorted((row for row in rows if not row.error), key=lambda row: -row.ratio)
    slow = [row for row in timed if row.ratio > LIMIT]
    middle = statistics.median(row.ratio for row in timed) if timed else float("nan")
    print(
        f"{len(timed)} calls timed; median ratio {middle:.2f}; "
        f"above {LIMIT:.3g}: {len(slow)}, of these without a reason: "
        f"{sum(not row.reason for row in slow)}"
    )
    if options.write is not None:
        again = options.again is not None
        selection = "slow ones of an earlier run" if again else f"of {len(all_calls())}"
        devices = [row for row in time_calls(over_devices, _EIGHT, 10) if not row.error]
        devices.sort(key=lambda row: -row.ratio)
        options.write.write_text(page(timed, slow, selection, devices))
    print("ratio | JAX → Ricci | call | reason")
    print("\n".join(map(str, timed if options.all else slow)))
    failed = [row for row in rows if row.error]
    print(f"\nfailed in Ricci alone: {len(failed)}")
    print("\n".join(f"{row.source}: {row.error}" for row in failed))
    return 1 if failed or any(not row.reason for row in slow) else 0


if __name__ == "__main__":
    sys.exit(main())
