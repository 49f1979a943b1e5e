"""Measures Ricci beside JAX: each workload on both sides in turn, in one run, on one machine.

`python tools/bench.py [--only jax] [--workloads TEXT] [--full] [--write docs/benchmarks.md]`. The
two cannot share a process, so every measurement has a process of its own; of several alternations
the least time counts. What is held to a budget is the ratio of the two.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench_device_workloads import DISPATCH as DEVICE_DISPATCH
from bench_device_workloads import FLAGS
from bench_export_workloads import EXPORT, EXPORT_MLP, READ, WRITE
from bench_hosts import PROCESSES, START, STEP
from bench_hosts import measure as measure_processes
from bench_jet_workloads import FIRST_JET, FIRST_NESTED, JETS, NESTED
from bench_kernel_workloads import KERNELS, LARGE_STEPS
from bench_lax_workloads import EAGER
from bench_numpy_workloads import EAGER_NUMPY, LARGE
from bench_shard_map_workloads import COUNTS
from bench_shard_map_workloads import EAGER as EAGER_SHARD_MAP
from bench_shard_map_workloads import TRACE as TRACE_SHARD_MAP
from bench_sparse_workloads import SPARSE
from bench_starts import COLD, MODELS, WARM
from bench_starts import measure as measure_start

from ricci_testing import find_interpreter

SIDE_FILE = Path(__file__).with_name("bench_side.py")
TRACES = {count: f"trace {count:,} equations" for count in (1_000, 3_000, 10_000, 30_000, 100_000)}
IMPORT = "import"
SLOW_ON_JAX = TRACES[100_000]
# Time per equation in the longest program over that in the shortest: more is not linear.
LINEARITY_LIMIT = 1.5

HEADER = ["workload", "JAX", "Ricci", "ratio", "budget", "kept"]

IMPORT_PROGRAM = """
import json, sys, time
start = time.perf_counter_ns()
api = __import__(sys.argv[1])
api.numpy
seconds = (time.perf_counter_ns() - start) / 1e9
print(json.dumps({"version": api.__version__, "measured": {"import": {"value": seconds}}}))
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a workload: a share of JAX's cost, and the design's figure behind it."""

    ratio: float
    stated: str
    seconds: float = 0.0


SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


def scaled(ours: float, theirs: float, unit: str) -> Budget:
    """A budget the design states in absolute terms, as a share of what JAX took there."""
    stated = f"{ours:g} {unit} where JAX takes {theirs:g}"
    return Budget(ours / theirs, stated, ours * SECONDS[unit])


NO_SLOWER = Budget(1.0, "no more than JAX")
TRACE = scaled(25, 160, "ms")
DISPATCH = Budget(1.1, "1.1 × JAX")
LOWERING = Budget(1 / 3, "a third of JAX")
EXPORTING = Budget(0.3, "0.3 × JAX")
SHARD_MAP = Budget(1 / 5, "a fifth of JAX")
GRU = "gradient of a GRU over 100 steps"
SCALARS = "gradient of a scan with 60 scalar carries"
BUDGETS = {
    IMPORT: scaled(0.28, 0.5, "s"),
    **dict.fromkeys(TRACES.values(), TRACE),
    "trace the gradient of 3,000 equations": scaled(75, 750, "ms"),
    "trace the gradient of 1,000 equations": scaled(75, 750, "ms"),
    "trace a checkpointed gradient of 1,000 equations": scaled(75 * 1.3, 750, "ms"),
    "trace the gradient of 10 checkpointed layers": LOWERING,
    "trace and lower the Hessian of 20 parameters": LOWERING,
    "lower 3,000 equations to StableHLO": scaled(25, 86, "ms"),
    **dict.fromkeys([EXPORT, EXPORT_MLP, WRITE, READ], EXPORTING),
    "x + x": NO_SLOWER,
    "jnp.sin(x)": NO_SLOWER,
    "x[i], index varying": scaled(15, 80, "µs"),
    "x[1:], start varying": scaled(15, 80, "µs"),
    "x[i], an array varying": scaled(15, 80, "µs"),
    "x.at[i].set(v), index varying": scaled(30, 160, "µs"),
    "eager grad of three operations": scaled(200, 1900, "µs"),
    "eager vmap of two operations": scaled(60, 330, "µs"),
    "eager value and gradient of a 3-layer MLP": scaled(1.5, 21, "ms"),
    "jitted call, 1 leaf": NO_SLOWER,
    "jitted call, 51 leaves": NO_SLOWER,
    **dict.fromkeys(DEVICE_DISPATCH, NO_SLOWER),
    EAGER_SHARD_MAP: SHARD_MAP,
    TRACE_SHARD_MAP: SHARD_MAP,
    **dict.fromkeys(COUNTS, NO_SLOWER),
    **dict.fromkeys(SPARSE, NO_SLOWER),
    **dict.fromkeys(KERNELS, Budget(0.1, "a tenth of JAX")),
    LARGE_STEPS: NO_SLOWER,
    STEP: NO_SLOWER,
    START: Budget(0.7, "0.7 × JAX"),
    **dict.fromkeys([*MODELS, *WARM], Budget(0.5, "half of JAX")),
    **dict.fromkeys(COLD, Budget(0.6, "0.6 × JAX")),
    "run a compiled MLP step": NO_SLOWER,
    **dict.fromkeys([*JETS.values(), *NESTED.values(), FIRST_JET, FIRST_NESTED], NO_SLOWER),
    f"trace and lower the {GRU}": LOWERING,
    f"run the {GRU}": NO_SLOWER,
    "eager gradient of a scan": NO_SLOWER,
    "run the gradient of a scan with 4 scalar carries": NO_SLOWER,
    f"run the {SCALARS}": NO_SLOWER,
    **dict.fromkeys([f"eager lax.{name}" for name in EAGER], DISPATCH),
    **dict.fromkeys([f"eager jnp.{name}" for name in EAGER_NUMPY], NO_SLOWER),
    **dict.fromkeys([f"run jnp.{name} on 1,000,000 elements" for name in LARGE], NO_SLOWER),
    "instructions, MLP step": NO_SLOWER,
    f"instructions, {GRU}": NO_SLOWER,
    f"instructions, {SCALARS}": NO_SLOWER,
    "bytes per equation, 3,000 equations": NO_SLOWER,
    "bytes per equation, 10,000 equations": NO_SLOWER,
}


ON_EIGHT_DEVICES = {*DEVICE_DISPATCH, EAGER_SHARD_MAP, TRACE_SHARD_MAP, *COUNTS}

# Bytecode is kept, as in an install.
SETTINGS = {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "", "XLA_FLAGS": ""}


@dataclasses.dataclass(slots=True)
class Side:
    """One of the two, and the least that each workload took on it."""

    name: str
    interpreter: Path
    version: str = "?"
    least: dict[str, float] = dataclasses.field(default_factory=dict)
    loading: dict[str, float] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    def measure(self, name: str) -> None:
        """Runs a workload once more in a fresh process, or in several."""
        measure = measure_processes if name in PROCESSES else measure_start
        if name in PROCESSES or name in {**MODELS, **WARM, **COLD}:
            try:
                self.note(name, measure(self.interpreter, self.name, name))
            except RuntimeError as error:
                self.errors[name] = str(error)
            return
        command = [str(self.interpreter)]
        command += ["-c", IMPORT_PROGRAM] if name == IMPORT else [str(SIDE_FILE)]
        done = subprocess.run(
            [*command, self.name],
            input=json.dumps([name]),
            capture_output=True,
            text=True,
            env={
                **os.environ,
                **SETTINGS,
                **(FLAGS if name in ON_EIGHT_DEVICES else {}),
                # A path to the workspace's packages would lead JAX's side to the drop-in.
                **({"PYTHONPATH": ""} if self.name == "jax" else {}),
            },
            check=False,
        )
        if done.returncode:
            self.errors[name] = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return
        self.note(name, json.loads(done.stdout.splitlines()[-1]))

    def note(self, name: str, reply: dict[str, Any]) -> None:
        """Keep what a workload's process answered, if it took less than before."""
        self.version = reply["version"]
        outcome = reply["measured"][name]
        if "error" in outcome:
            self.errors[name] = outcome["error"]
            return
        self.least[name] = min(outcome["value"], self.least.get(name, float("inf")))
        if "loading" in outcome:
            self.loading[name] = min(outcome["loading"], self.loading.get(name, float("inf")))


def shown(name: str, value: float | None) -> str:
    """A measured value with its unit."""
    if value is None:
        return "–"
    if name.startswith(("instructions", "collectives")):
        return f"{value:,.0f}"
    if name.startswith("bytes"):
        return f"{value:,.0f} B"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def row(name: str, theirs: Side | None, ours: Side | None) -> tuple[list[str], bool]:
    """The cells of a workload, and whether it keeps its budget (true where nothing compares)."""
    their = theirs.least.get(name) if theirs else None
    our = ours.least.get(name) if ours else None
    budget = BUDGETS[name]
    ratio, verdict, is_met = "–", "–", True
    if our is not None and their:
        within = our / their <= budget.ratio
        is_met = within or our <= budget.seconds
        verdict = "yes" if within else "in absolute terms" if is_met else "NO"
        ratio = f"{our / their:.3g}"
    elif ours is not None and our is None:
        is_met, verdict = False, "failed"
    limit = f"≤ {budget.ratio:.3g} ({budget.stated})"
    return [name, shown(name, their), shown(name, our), ratio, limit, verdict], is_met


def linearity(sides: list[Side]) -> tuple[list[list[str]], bool]:
    """Time per traced equation at each length, and whether Ricci's stays level."""
    rows, all_met = [], True
    for side in sides:
        each = {
            count: side.least[name] / count for count, name in TRACES.items() if name in side.least
        }
        if len(each) < 2:
            continue
        growth = each[max(each)] / each[min(each)]
        verdict = "–"
        if side.name == "ricci":
            all_met = growth <= LINEARITY_LIMIT
            verdict = "yes" if all_met else "NO"
        cells = [shown("", each[count]) if count in each else "–" for count in TRACES]
        rows.append([side.name, *cells, f"{growth:.2f}", verdict])
    return rows, all_met


def starts(theirs: Side, ours: Side) -> list[list[str]]:
    """XLA's part of each start that JAX has, too, and the ratio of the remaining parts."""
    rows = []
    for name in (*MODELS, *COLD):
        if name not in theirs.loading or name not in ours.loading:
            continue
        loads = [side.loading[name] for side in (theirs, ours)]
        differences = [side.least[name] - side.loading[name] for side in (theirs, ours)]
        cells = [shown("", seconds) for seconds in (*loads, *differences)]
        rows.append([name, *cells, f"{differences[1] / differences[0]:.3g}"])
    return rows


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table with its columns aligned."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def machine() -> str:
    """The processor and the number of cores that this process may use."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def report(theirs: Side | None, ours: Side | None, names: list[str]) -> tuple[str, bool]:
    """Return the report in Markdown, and whether every budget is met."""
    sides = [side for side in (theirs, ours) if side is not None]
    rows = [row(name, theirs, ours) for name in names]
    level, linear = linearity(sides)
    versions = [f"{side.name} {side.version}" for side in sides]
    about = [f"{datetime.date.today()}", machine(), f"Python {platform.python_version()}"]
    about += [*versions, f"jaxlib {version('jaxlib')}"]
    # Times that were measured beside other programs say less.
    about.append(f"load {os.getloadavg()[2]:.0f} over the last 15 minutes")
    parts = [
        "# Benchmarks",
        "Written by `nox -s bench -- --write docs/benchmarks.md`. The least of several "
        "alternating runs. The ratio counts; where JAX is faster here than in the design, so that "
        "the ratio asks for less than the design's figure, that figure is kept \"in absolute "
        'terms".',
        ", ".join(about) + ".",
        table(
            ["workload", "JAX", "Ricci", "ratio", "budget", "kept"], [cells for cells, _ in rows]
        ),
    ]
    if level:
        header = ["per equation traced", *(f"{count:,}" for count in TRACES), "growth", "level"]
        parts.append(table(header, level))
    if theirs and ours and (loads := starts(theirs, ours)):
        header = ["of which XLA compiles or loads", "JAX", "Ricci", "else, JAX", "else, Ricci"]
        parts.append(table([*header, "ratio"], loads))
    failures = [
        f"- {side.name}, {name}: {why}" for side in sides for name, why in side.errors.items()
    ]
    if failures:
        parts.append("Failed:\n\n" + "\n".join(failures))
    return "\n\n".join(parts) + "\n", linear and all(is_met for _, is_met in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["jax", "ricci"], help="measure one side alone")
    parser.add_argument("--workloads", default="", help="only those whose name holds this text")
    parser.add_argument("--alternations", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="the longest trace on JAX, too")
    parser.add_argument("--write", type=Path, help="write the report to this file")
    options = parser.parse_args()

    oracle = find_interpreter()
    if oracle is None and options.only != "ricci":
        parser.error("oracle environment missing: run nox -s oracle")
    theirs = Side("jax", oracle) if oracle and options.only != "ricci" else None
    ours = Side("ricci", Path(sys.executable)) if options.only != "jax" else None

    names = [name for name in BUDGETS if options.workloads in name]
    for name in names:
        print(name, file=sys.stderr, flush=True)
        for _ in range(options.alternations):
            if theirs and (options.full or name != SLOW_ON_JAX):
                theirs.measure(name)
            if ours:
                ours.measure(name)
    text, all_met = report(theirs, ours, names)
    print(text)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(text, encoding="utf-8")
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
